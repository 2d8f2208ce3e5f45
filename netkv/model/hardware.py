"""The hardware of one rack, without options of schemes: servers, clients, switches."""

from __future__ import annotations

import re
from ipaddress import IPv4Address
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from netkv.errors import FieldError
from netkv.options import RATE, SECONDS, Formerly, Spec

Backend = Literal["memory", "rocksdb", "redis"]
ELSEWHERE = "p4runtime://"
"""Begins the target of a switch that runs elsewhere."""
BMV2_ELSEWHERE = "bmv2://"
"""Begins the target of a bmv2 that runs elsewhere."""
STREAM = "grpc://"
"""Begins the location of a port that is reached by the packet stream of a bmv2."""
_ADDRESS = rf"^({ELSEWHERE}\S+:\d+|{BMV2_ELSEWHERE}[^\s/:]+(:\d{{1,5}})?)$"


_LAST_OF_THREE = 65_533
"""Highest port of a bmv2 that runs elsewhere: it has the next two as well."""


def _known(target: Any) -> Any:
    if target in ("engine", "bmv2"):
        return target
    if found := re.match(_ADDRESS, str(target)):
        port = (found[2] or ":1")[1:]
        if 1 <= int(port) <= _LAST_OF_THREE:
            return target
        raise FieldError(
            f"it is '{target}'; the port should be from 1 to {_LAST_OF_THREE:,}, since the next "
            f"two are those for frames and Thrift"
        )
    raise FieldError(
        f"it is '{target}'; it should be 'engine', 'bmv2', '{BMV2_ELSEWHERE}HOST' or "
        f"'{ELSEWHERE}HOST:PORT'"
    )


Target = Annotated[
    Literal["engine", "bmv2"] | Annotated[str, Field(pattern=_ADDRESS)], BeforeValidator(_known)
]
"""The switch that executes P4 programs: netkv's own engine, bmv2, or one that runs elsewhere."""
Fabric = Literal["udp", "veth"]
"""The links of a live rack."""
Executor = Literal["compiled", "interpreter"]
Pinned = Literal["switch", "server", "coordinator", "client", "card", "redis"]
"""A kind of processes of a live rack."""
Pipelines = Literal[1, 2, 4]


class TopologySpec(Spec):
    """Switches and their connections. What is left out is that of the scheme."""

    kind: Literal["rack", "racks", "spine-leaf"] = "rack"
    """`rack`: one switch for all hosts. `racks`: several racks, each with a switch, joined by a
    core switch. `spine-leaf`: layers of switches, with servers below the last and clients above the
    first. Live, several switches need `target: engine` and `fabric: udp`."""
    racks: Annotated[int, Field(ge=1, le=64)] = 2
    """`racks`: number of racks, including that of the clients."""
    layers: Annotated[int, Field(ge=1, le=8)] = 2
    """`spine-leaf`: layers of switches between clients and servers."""
    switches: Annotated[int, Field(ge=1, le=16)] = 2
    """`spine-leaf`: switches in each layer."""

    def describe(self) -> str:
        """In words: `2 layers of 2 switches`."""
        return {
            "rack": "one switch",
            "racks": f"{self.racks} rack{'s' if self.racks > 1 else ''}",
            "spine-leaf": (
                f"{self.layers} layer{'s' if self.layers > 1 else ''} of {self.switches} "
                f"switch{'es' if self.switches > 1 else ''}"
            ),
        }[self.kind]

    @property
    def switches_of_servers(self) -> int:
        """Number of switches with servers."""
        return {"rack": 1, "racks": max(self.racks - 1, 1), "spine-leaf": self.switches}[self.kind]


class RedisSpec(Spec):
    """Redis as a back end (docs/use/backends.md)."""

    fsync: Literal["always", "everysec", "never"] = "always"
    """For Redis servers that netkv starts: when writes are flushed to the disk. `always`: before
    they are acknowledged; `everysec`: within a second or two; `never`: when the kernel decides.
    """
    timeout: Annotated[float, Field(gt=0, le=60), SECONDS] = 2.0
    """Time without an answer after which a Redis server counts as down."""
    addresses: tuple[Annotated[str, Field(pattern=r"^[^\s:]+:\d+$|^\[[^\s]+\]:\d+$")], ...] = ()
    """`host:port` of existing Redis servers; netkv then starts none. Storage servers are assigned
    to them in turn. With `cluster` these are addresses of some servers of the cluster."""
    cluster: bool = False
    """Whether the addresses belong to a Redis Cluster."""
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,40}$")] = "netkv"
    """Prefix of the keys at these addresses. A lab that starts deletes existing keys with it."""

    @model_validator(mode="after")
    def _somewhere(self) -> RedisSpec:
        if self.cluster and not self.addresses:
            text = "a cluster needs the 'addresses' of a server of it, or of several"
            raise FieldError(text, "cluster")
        return self


class SwitchPort(Spec):
    """A port of a switch that runs elsewhere, and how its frames get there."""

    node: str
    """The node that is attached: `client`, `servers-0`, `servers-1`, ..., `coordinator`, and
    `external-1`, ... for programs that use the lab."""
    number: Annotated[int, Field(ge=1, le=509)]
    """The port's number at the switch."""
    via: Annotated[str, Field(pattern=r"^(grpc://\S+:\d+|[^\s/:]{1,15})$")]
    """The network interface that is cabled to the port (root or CAP_NET_RAW), of the host of the
    node if it is on one (`lab.hosts`), or
    `grpc://HOST:PORT`: the `--dp-grpc-server-addr` of a bmv2, which serves all its ports."""


class SwitchSpec(Spec):
    """A switch that runs elsewhere; only with `lab.target: p4runtime://HOST:PORT`."""

    device_id: Annotated[int, Field(ge=1)] = 1
    """Its P4Runtime device id."""
    ports: list[SwitchPort] = Field(default_factory=list)
    """Its ports, one for each node."""
    config: str = "bmv2"
    """The program for the controller to load: `bmv2`, as p4c compiles it; `bundle`, for netkv's own
    switch; or a file that another compiler has made for this switch, with `p4info`."""
    p4info: str | None = None
    """The file with the P4Info of `config`, a serialized message."""

    @model_validator(mode="after")
    def _numbers_differ(self) -> SwitchSpec:
        numbers: dict[int, str] = {}
        for index, port in enumerate(self.ports):
            if port.node in numbers.values():
                raise FieldError(f"'{port.node}' has a port already", "ports", index, "node")
            if (other := numbers.setdefault(port.number, port.node)) != port.node:
                text = f"port {port.number} is that of '{other}' already"
                raise FieldError(text, "ports", index, "number")
        return self

    @model_validator(mode="after")
    def _described(self) -> SwitchSpec:
        given = self.config not in ("bmv2", "bundle")
        if given and self.p4info is None:
            text = f"the program '{self.config}' needs 'p4info', the file with its P4Info"
            raise FieldError(text, "p4info")
        if not given and self.p4info is not None:
            text = f"'config: {self.config}' brings its P4Info itself; leave 'p4info' out"
            raise FieldError(text, "p4info")
        return self


def _ipv4(text: str) -> str:
    try:
        return str(IPv4Address(text))
    except ValueError:
        raise FieldError(
            f"it is '{text}'; it should be an IPv4 address such as 192.0.2.7"
        ) from None


class HostSpec(Spec):
    """A machine that executes nodes of a live rack, reached over SSH."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,39}$")]
    """Its name in events and sentences."""
    ssh: Annotated[str, Field(pattern=r"^([^\s@:]+@)?[^\s@:]+(:\d{1,5})?$")]
    """`[USER@]HOST[:PORT]`; what is left out comes from `~/.ssh/config`."""
    nodes: Annotated[list[str], Field(min_length=1)]
    """The nodes that it executes: `switch`, `servers-0`, `client`; `servers-*` means all that begin
    so."""
    address: Annotated[str, AfterValidator(_ipv4)] | None = None
    """Its IPv4 address for frames; left out: the one that SSH connects to."""
    netkv: str = "netkv"
    """The command netkv there: a name on its PATH, or a path."""
    ring: Literal["packet", "xdp"] = "packet"
    """How its nodes read and write the interfaces that are cabled to a switch elsewhere
    (`AF_PACKET` or `AF_XDP`)."""


class GenericLab(Spec):
    """Options of every lab; those of schemes join them in `netkv.schemes.spec.LabSpec`."""

    servers: Annotated[int, Field(ge=1, le=128)] = 8
    """Storage servers. Each owns an equal range of the keys' hash; with schemes for multigets
    (at most 32 servers) the keys whose hash modulo the number of servers is its own."""
    server_processes: Annotated[int, Field(ge=1, le=128)] = 1
    """Shim processes, over which the servers are spread; at least one for each switch with
    servers."""
    backend: Backend = "memory"
    """Storage of the servers' records (docs/use/backends.md). In the simulator records are in
    memory, and this selects the costs of operations."""
    redis: RedisSpec = RedisSpec()
    """Redis as a back end; only with `lab.backend: redis`."""
    service_rate: Annotated[float, Field(gt=0), RATE] | None = None
    """Operations per second that each server can do (server emulation); left out: no limit."""
    queue_limit: Annotated[int, Field(ge=1)] = 256
    """Requests that wait at a server with a `service_rate` before further ones are dropped."""
    host_queue: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Simulated only: frames that wait for a server's processor; left out: that of the profile."""
    clients: Annotated[int, Field(ge=1, le=64)] = 1
    """Number of clients; one load-generator process runs all and checks their joint consistency."""
    external_clients: Annotated[int, Field(ge=0, le=16), Formerly("guests")] = 4
    """Live only: number of programs that may use the rack while it is up (`netkv.client`), within
    the limit of the scheme. Each has a client number and a switch port in addition to those of the
    load."""
    target: Target = "engine"
    """The switch that executes the P4 programs: `engine`, netkv's own; `bmv2`, with p4c and
    simple_switch_grpc on PATH (docs/use/bmv2.md); `bmv2://HOST[:PORT]`, a bmv2 that runs elsewhere;
    `p4runtime://HOST:PORT`, another switch that runs elsewhere."""
    switch: SwitchSpec = SwitchSpec()
    """A switch that runs elsewhere: its ports and its program."""
    fabric: Fabric = "udp"
    """Live only: the links of the rack. `udp`: UDP sockets of this machine, without privileges;
    `veth`: a network namespace for each host, in which any program can use the network across the
    switch (docs/use/veth.md); needs root and `target: engine`."""
    topology: TopologySpec = TopologySpec()
    """Switches and their connections."""
    profile: str = "this-machine"
    """Simulated only: the model of hosts, links and switches. The name of a profile
    (`this-machine`, `a-cloud-machine`, or the testbed of a scheme's paper) or of a file that ends
    in `.json` (docs/use/simulator.md)."""
    profile_changes: dict[str, float] = Field(default_factory=dict)
    """Simulated only: changed figures of the profile, by their path in it: `server.get.mean` in
    microseconds, `control.rate` (`netkv.model.profile`)."""
    scale: Annotated[float, Field(ge=1, le=1e6)] = 1.0
    """Simulated only: all parts but the controller are this many times as slow, so that a rack with
    billions of requests a second fits a machine. Rates in results are those of the slower rack.
    """
    executor: Executor = "compiled"
    """How the engine runs P4 programs: machine code, or step by step (the reference)."""
    pipelines: Pipelines = 1
    """Pipelines of each switch, each with its own tables and registers; a scheme may support fewer.
    """

    cores: dict[Pinned, Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    """Live only: the processor cores that each kind of processes may use; left out: all. A switch
    has a thread for each of its pipelines (`{switch: [0, 1], client: [2], server: [3]}`)."""
    hosts: list[HostSpec] = Field(default_factory=list)
    """Live only: other machines, with the nodes that they execute (docs/use/racks-over-hosts.md);
    all other nodes, and the controller, are on this one. Needs `fabric: udp`, and `target: engine`
    or a switch elsewhere to whose ports interfaces of the hosts are cabled."""

    @model_validator(mode="after")
    def _hosts_can(self) -> GenericLab:
        names: set[str] = set()
        for number, host in enumerate(self.hosts):
            if host.name in names:
                raise FieldError(f"'{host.name}' is the name of two hosts", "hosts", number, "name")
            names.add(host.name)
        reached = self.target == "engine" or self.target.startswith(ELSEWHERE)
        if self.hosts and not (reached and self.fabric == "udp"):
            raise FieldError(
                f"nodes on other hosts need 'fabric: udp', and 'target: engine' or "
                f"'{ELSEWHERE}HOST:PORT'; this lab has 'fabric: {self.fabric}' and 'target: "
                f"{self.target}'",
                "hosts",
            )
        return self

    @model_validator(mode="after")
    def _target_can(self) -> GenericLab:
        if self.target == "engine":
            return self
        if self.pipelines != 1:
            raise FieldError(
                f"the target '{self.target}' has 1 pipeline; 'pipelines: {self.pipelines}' needs "
                f"'target: engine'",
                "pipelines",
            )
        if self.fabric != "udp":
            raise FieldError(
                f"the fabric '{self.fabric}' needs 'target: engine'; the target '{self.target}' "
                f"has 'fabric: udp' only",
                "fabric",
            )
        if self.target.startswith(BMV2_ELSEWHERE) and self.switch.ports:
            raise FieldError(
                f"the ports of '{self.target}' are all behind its address, with numbers that netkv "
                f"assigns; leave 'ports' out",
                "switch",
                "ports",
            )
        if self.target.startswith(ELSEWHERE) and not self.switch.ports:
            raise FieldError(
                f"the target '{self.target}' needs the ports of that switch: 'switch.ports', each "
                f"with 'node', 'number' and 'via'",
                "switch",
            )
        return self
