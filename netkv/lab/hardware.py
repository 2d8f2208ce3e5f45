"""The hardware of one rack, without options of schemes: servers, clients, switches."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from netkv.errors import FieldError
from netkv.options import RATE, SECONDS, Formerly, Spec

Backend = Literal["memory", "rocksdb", "redis"]
Target = Literal["engine"]
"""What executes P4 programs; the only choice so far is netkv's own engine."""
Executor = Literal["compiled", "interpreter"]
Pipelines = Literal[1, 2, 4]


class TopologySpec(Spec):
    """Switches and their connections. Live labs have one rack; the simulator supports all kinds."""

    kind: Literal["rack", "racks", "spine-leaf"] = "rack"
    """`rack`: one switch for all hosts. `racks`: several racks, each with a switch, joined by a
    core switch. `spine-leaf`: layers of switches, with servers below the last and clients above the
    first. Live only `rack`."""
    racks: Annotated[int, Field(ge=1, le=64)] = 2
    """`racks`: number of racks, including that of the clients."""
    layers: Annotated[int, Field(ge=1, le=8)] = 2
    """`spine-leaf`: layers of switches between clients and servers."""
    switches: Annotated[int, Field(ge=1, le=16)] = 2
    """`spine-leaf`: switches in each layer."""


class RedisSpec(Spec):
    """Redis as a back end (docs/backends.md)."""

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


class GenericLab(Spec):
    """Options of every lab; those of schemes join them in `LabSpec`."""

    servers: Annotated[int, Field(ge=1, le=128)] = 8
    """Storage servers. Each owns an equal range of the keys' hash; with schemes for multigets
    (at most 32 servers) the keys whose hash modulo the number of servers is its own."""
    server_processes: Annotated[int, Field(ge=1, le=128)] = 1
    """Shim processes, over which the servers are spread."""
    backend: Backend = "memory"
    """Storage of the servers' records (docs/backends.md). In the simulator records are in memory,
    and this selects the costs of operations."""
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
    """What executes the P4 programs."""
    topology: TopologySpec = TopologySpec()
    """Switches and their connections."""
    profile: str = "this-machine"
    """Simulated only: the model of hosts, links and switches. The name of a profile
    (`this-machine`, `a-cloud-machine`, or the testbed of a scheme's paper) or of a file that ends
    in `.json` (docs/simulator.md)."""
    profile_changes: dict[str, float] = Field(default_factory=dict)
    """Simulated only: changed figures of the profile, by their path in it: `server.get.mean` in
    microseconds, `control.rate` (`netkv.sim.models`)."""
    scale: Annotated[float, Field(ge=1, le=1e6)] = 1.0
    """Simulated only: all parts but the controller are this many times as slow, so that a rack with
    billions of requests a second fits a machine. Rates in results are those of the slower rack.
    """
    executor: Executor = "compiled"
    """How the engine runs P4 programs: machine code, or step by step (the reference)."""
    pipelines: Pipelines = 1
    """Pipelines of each switch, each with its own tables and registers; a scheme may support fewer.
    """
