"""The hardware of one rack, without options of schemes: servers, clients, switches."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from netkv.errors import FieldError
from netkv.options import RATE, SECONDS, Formerly, Spec

Backend = Literal["memory", "rocksdb", "redis"]
ELSEWHERE = "p4runtime://"
"""Begins the target of a switch that runs elsewhere."""
_ADDRESS = rf"^{ELSEWHERE}\S+:\d+$"


def _known(target: Any) -> Any:
    if target in ("engine", "bmv2") or re.match(_ADDRESS, str(target)):
        return target
    raise FieldError(f"it is '{target}'; it should be 'engine', 'bmv2' or '{ELSEWHERE}HOST:PORT'")


Target = Annotated[
    Literal["engine", "bmv2"] | Annotated[str, Field(pattern=_ADDRESS)], BeforeValidator(_known)
]
"""What executes P4 programs: netkv's own engine, bmv2, or a switch that runs elsewhere."""
Executor = Literal["compiled", "interpreter"]
Pipelines = Literal[1, 2, 4]


class TopologySpec(Spec):
    """Switches and how they are joined. Live there is one rack; the simulator has them all."""

    kind: Literal["rack", "racks", "spine-leaf"] = "rack"
    """One switch for all; several racks, each with a switch, joined by a core switch; or layers of
    switches, servers below the last and clients above the first. Live only `rack`."""
    racks: Annotated[int, Field(ge=1, le=64)] = 2
    """`racks`: how many, the clients' own included, joined by a core switch."""
    layers: Annotated[int, Field(ge=1, le=8)] = 2
    """`spine-leaf`: layers of switches between clients and servers."""
    switches: Annotated[int, Field(ge=1, le=16)] = 2
    """`spine-leaf`: switches in each layer."""


class RedisSpec(Spec):
    """Redis as a back end (docs/backends.md)."""

    fsync: Literal["always", "everysec", "never"] = "always"
    """Redis servers that netkv starts: when what was written is flushed to the disk. `always`:
    before it is acknowledged; `everysec`: within a second or two; `never`: when the kernel likes.
    """
    timeout: Annotated[float, Field(gt=0, le=60), SECONDS] = 2.0
    """Time without an answer after which a Redis server counts as away."""
    addresses: tuple[Annotated[str, Field(pattern=r"^[^\s:]+:\d+$|^\[[^\s]+\]:\d+$")], ...] = ()
    """`host:port` of servers that are used instead of such that netkv starts. Each storage server
    takes one of them, in turn; with `cluster` they are where to ask for the rest."""
    cluster: bool = False
    """Whether the addresses are those of a Redis Cluster."""
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,40}$")] = "netkv"
    """Begins the keys at these addresses. A lab that comes up deletes what it finds of them."""

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
    """The network interface that is cabled to the port (root or CAP_NET_RAW), or
    `grpc://HOST:PORT`: the `--dp-grpc-server-addr` of a bmv2, which serves all its ports."""


class SwitchSpec(Spec):
    """A switch that runs elsewhere; only with `lab.target: p4runtime://HOST:PORT`."""

    device_id: Annotated[int, Field(ge=1)] = 1
    """Its P4Runtime device id."""
    ports: list[SwitchPort] = Field(default_factory=list)
    """Its ports, one for each node."""
    config: str = "bmv2"
    """What the controller loads: `bmv2`, the program as p4c compiles it; `bundle`, for netkv's own
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


class GenericLab(Spec):
    """Options of every lab; those of schemes join them in `LabSpec`."""

    servers: Annotated[int, Field(ge=1, le=128)] = 8
    """Storage servers. Each owns an equal range of the keys' hash; with schemes for multigets
    (at most 32 servers) the keys whose hash modulo the number of servers is its own."""
    server_processes: Annotated[int, Field(ge=1, le=128)] = 1
    """Shim processes that the servers are spread over."""
    backend: Backend = "memory"
    """Where storage servers keep their records (docs/backends.md). Simulated, records are in memory
    and this chooses what operations cost."""
    redis: RedisSpec = RedisSpec()
    """Redis as a back end; only with `lab.backend: redis`."""
    service_rate: Annotated[float, Field(gt=0), RATE] | None = None
    """Operations per second that each server can do (server emulation); left out, as many as it
    can."""
    queue_limit: Annotated[int, Field(ge=1)] = 256
    """Requests that wait at a server with a `service_rate` before further ones are dropped."""
    host_queue: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Simulated only: frames that wait for a server's processor; left out, what the profile says.
    """
    clients: Annotated[int, Field(ge=1, le=64)] = 1
    """Client identities; one load-generator process has all and checks consistency over them."""
    external_clients: Annotated[int, Field(ge=0, le=16), Formerly("guests")] = 4
    """Live only: places for programs that use the rack while it is up (`netkv.client`), each a
    client identity and a switch port beside those of the load; as many as the scheme has room for.
    """
    target: Target = "engine"
    """What executes the P4 programs: `engine`, netkv's own; `bmv2`, with p4c and simple_switch_grpc
    on PATH (docs/bmv2.md); `p4runtime://HOST:PORT`, a switch that runs elsewhere."""
    switch: SwitchSpec = SwitchSpec()
    """A switch that runs elsewhere: its ports, and what is loaded into it."""
    topology: TopologySpec = TopologySpec()
    """Switches and how they are joined."""
    profile: str = "this-machine"
    """Simulated only: what hosts, links and switches are like. The name of a profile
    (`this-machine`, `a-cloud-machine`, or the testbed of a scheme's paper) or of a file that ends
    in `.json` (docs/simulator.md)."""
    profile_changes: dict[str, float] = Field(default_factory=dict)
    """Simulated only: figures of the profile that are different here, by their path in it:
    `server.get.mean` in microseconds, `control.rate` (`netkv.sim.models`)."""
    scale: Annotated[float, Field(ge=1, le=1e6)] = 1.0
    """Simulated only: everything but the controller takes this many times as long, so that a rack
    of billions of requests a second fits a machine. Rates in results are those of the slower rack.
    """
    executor: Executor = "compiled"
    """How the engine runs P4 programs: machine code, or step by step (the reference)."""
    pipelines: Pipelines = 1
    """Ingress and egress pipelines of each switch, with tables and registers of their own; a scheme
    says how many it supports."""

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
        if self.target.startswith(ELSEWHERE) and not self.switch.ports:
            raise FieldError(
                f"the target '{self.target}' needs the ports of that switch: 'switch.ports', each "
                f"with 'node', 'number' and 'via'",
                "switch",
            )
        return self
