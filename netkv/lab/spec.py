"""What a rack and its load look like, as data: models shared by scenarios, CLI and lab.

Rates are operations per second, times seconds, sizes bytes. Unknown fields are errors: a misspelt
option must never be silently ignored.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_STORED_KEYS = 100_000_000
"""Keys of a store that has to be loaded."""

MOST_KEYS_IN_MULTIGET = 128
DEFAULT_KEY_SIZE = 16
"""Bytes of a key: the only size that schemes for single keys have."""

Backend = Literal["memory", "rocksdb", "redis"]
Target = Literal["engine", "bmv2"]
Executor = Literal["compiled", "interpreter"]
Pipelines = Literal[1, 2, 4]
Mix = Literal["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-f", "insert"]


class Spec(BaseModel):
    """Base of all specifications: immutable and strict about field names."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TopologySpec(Spec):
    """Switches and how they are joined. Live there is one rack; the simulator has them all."""

    kind: Literal["rack", "racks", "spine-leaf"] = "rack"
    racks: Annotated[int, Field(ge=1, le=64)] = 2
    """`racks`: how many, the clients' own included, joined by a core switch."""
    layers: Annotated[int, Field(ge=1, le=8)] = 2
    """`spine-leaf`: layers of switches between clients and servers."""
    switches: Annotated[int, Field(ge=1, le=16)] = 2
    """`spine-leaf`: switches in each layer."""


class RedisSpec(Spec):
    """Redis as a back end (docs/backends.md)."""

    fsync: Literal["always", "everysec", "never"] = "always"
    """Redis servers that netkv starts: when what was written is flushed to the disk."""
    timeout: Annotated[float, Field(gt=0, le=60)] = 2.0
    """Seconds without an answer after which a Redis server counts as away."""
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
            raise ValueError("'cluster' needs the 'addresses' of a server of it, or of several")
        return self


class LabSpec(Spec):
    """The hardware of one rack: servers, clients, the switch and its cache."""

    servers: Annotated[int, Field(ge=1, le=128)] = 8
    """Storage servers, each owning an equal range of the key hash."""
    server_processes: Annotated[int, Field(ge=1, le=128)] = 1
    """Shim processes that the servers are spread over."""
    backend: Backend = "memory"
    redis: RedisSpec = RedisSpec()
    service_rate: Annotated[float, Field(gt=0)] | None = None
    """Operations per second that each server can do (server emulation); None is unlimited."""
    queue_limit: Annotated[int, Field(ge=1)] = 256
    """Requests that wait at a rate-limited server before further ones are dropped."""
    host_queue: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Simulated only: frames that wait for a server's processor; None is what the profile says."""
    clients: Annotated[int, Field(ge=1, le=64)] = 1
    """Client identities; one load-generator process has all and checks consistency over them."""
    guests: Annotated[int, Field(ge=0, le=16)] = 4
    """Live only: places for programs that use the rack while it is up (`netkv.client`), each a
    client identity and a switch port beside those of the load; as many as the scheme has room for.
    """
    cache_entries: Annotated[int, Field(ge=0, le=65536)] = 1000
    """Records that a caching scheme may hold in the switch."""
    cache_rows: Annotated[int, Field(ge=1, le=65536)] | None = None
    """Rows of the switch's eight value arrays that the cache may fill; None is all there are."""
    hot_threshold: Annotated[int, Field(ge=1, le=65535)] = 16
    """Counted requests for an uncached key within an epoch that make it hot, so that it may be
    cached: reads, and with a write-back cache writes, too."""
    sample_rate: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share of requests that is counted; None is the scheme's own: NetCache 1, FarReach 0.5."""
    epoch: Annotated[float, Field(gt=0, le=3600)] = 1.0
    """Seconds after which the statistics of a caching scheme begin anew."""
    snapshot_period: Annotated[float, Field(ge=0, le=3600)] = 10.0
    """Seconds from one snapshot of a write-back cache to the next; 0 for none."""
    preload: bool = True
    """Start with the hottest `cache_entries` keys cached."""
    target: Target = "engine"
    topology: TopologySpec = TopologySpec()
    profile: str = "this-machine"
    """Simulated only: what hosts, links and switches are like (`netkv.sim.profiles`)."""
    scale: Annotated[float, Field(ge=1, le=1e6)] = 1.0
    """Simulated only: everything but the controller takes this many times as long, so that a rack
    of billions of requests a second fits a machine. Rates in results are those of the slower rack.
    """
    executor: Executor = "compiled"
    """How the engine runs P4 programs: machine code, or step by step (the reference)."""
    coordinator_workers: Annotated[int, Field(ge=1, le=64)] = 4
    """Threads of the coordinator, if the scheme has one; simulated: cores of its host."""
    coordinator_queue: Annotated[int, Field(ge=1, le=1_000_000)] = 4096
    """Requests that the coordinator has under way before it refuses further ones."""
    pipelines: Pipelines = 1
    """Ingress and egress pipelines of each switch, with tables and registers of their own; a scheme
    says how many it supports."""


class ClosedLoop(Spec):
    """Keep a fixed number of requests outstanding."""

    outstanding: Annotated[int, Field(ge=1, le=65536)]


class Poisson(Spec):
    """Open loop: exponential gaps between intended send times."""

    rate: Annotated[float, Field(gt=0)]


class Saturate(Spec):
    """Open loop whose rate follows the loss, to find what the rack can take (NetCache, 6.1).

    The share of operations that are lost is kept between half of `loss` and `loss`. An operation is
    lost at its deadline; with a `retry` as long as the deadline every dropped frame counts.
    """

    loss: Annotated[float, Field(gt=0, le=0.5)]
    rate: Annotated[float, Field(gt=0)]
    """To begin with."""
    every: Annotated[float, Field(gt=0)]
    """Seconds between two looks; longer than the deadline."""


class UniformSize(Spec):
    """Value sizes drawn uniformly, both ends included."""

    min: Annotated[int, Field(ge=16, le=1024)]
    max: Annotated[int, Field(ge=16, le=1024)]

    @model_validator(mode="after")
    def _ordered(self) -> UniformSize:
        if self.min > self.max:
            raise ValueError(f"min ({self.min}) is larger than max ({self.max})")
        return self


class HeavyTail(Spec):
    """Sizes of multigets: most are small, a few are large (a power law, cut at 128 keys)."""

    mean: Annotated[float, Field(ge=1, le=64)]
    """Keys in a multiget on average; 8.6 in production (Rein, EuroSys 2017)."""


class MultigetSize(Spec):
    """Sizes of multigets drawn uniformly, both ends included."""

    min: Annotated[int, Field(ge=1, le=MOST_KEYS_IN_MULTIGET)]
    max: Annotated[int, Field(ge=1, le=MOST_KEYS_IN_MULTIGET)]

    @model_validator(mode="after")
    def _ordered(self) -> MultigetSize:
        if self.min > self.max:
            raise ValueError(f"min ({self.min}) is larger than max ({self.max})")
        return self


class Shift(Spec):
    """A popularity shift, repeated every `every` seconds."""

    kind: Literal["hot-in", "hot-out", "random"]
    keys: Annotated[int, Field(ge=1)] = 200
    """How many keys change rank at once."""
    top: Annotated[int, Field(ge=1)] = 10_000
    """`random` replaces keys among these most popular ones."""
    every: Annotated[float, Field(gt=0)] = 10.0


class WorkloadSpec(Spec):
    """What the clients ask for."""

    keys: Annotated[int, Field(ge=1, le=1_000_000_000_000)] = 100_000
    """A store in memory holds only what was written, so their number costs nothing there."""
    zipf: Annotated[float, Field(ge=0, le=1.2)] = 0.99
    """Skew; 0 is uniform."""
    mix: Mix | None = None
    """A YCSB mix; sets the write share itself, so it excludes `writes` and `deletes`."""
    writes: Annotated[float, Field(ge=0, le=1)] = 0.0
    deletes: Annotated[float, Field(ge=0, le=1)] = 0.0
    value_size: Annotated[int, Field(ge=16, le=1024)] | UniformSize = 128
    multiget: (
        Annotated[int, Field(ge=1, le=MOST_KEYS_IN_MULTIGET)] | HeavyTail | MultigetSize | None
    ) = None
    """Keys of each read. Only schemes for multigets take it; None is one key."""
    key_size: Annotated[int, Field(ge=4, le=64)] = DEFAULT_KEY_SIZE
    """Bytes of a key. Only schemes for multigets take another size than 16."""
    arrivals: ClosedLoop | Saturate | Poisson = ClosedLoop(outstanding=64)
    shift: Shift | None = None

    @model_validator(mode="after")
    def _shares(self) -> WorkloadSpec:
        if self.mix is not None and (self.writes or self.deletes):
            raise ValueError("'mix' sets the share of writes; leave out 'writes' and 'deletes'")
        if self.writes + self.deletes > 1:
            raise ValueError("'writes' and 'deletes' together are more than 1")
        return self


class RackSpec(Spec):
    """All that is needed to bring a rack up."""

    scheme: str
    lab: LabSpec = LabSpec()
    workload: WorkloadSpec = WorkloadSpec()
    seed: int = 1
    deadline: Annotated[float, Field(gt=0, le=300)] = 2.0
    """A request that got no reply within this many seconds, retries included, is lost."""
    retry: Annotated[float, Field(gt=0)] = 0.05
    """First retry time-out, in seconds; doubles up to eight times that. It grows to about twice the
    time that answers take."""

    @model_validator(mode="after")
    def _sees_loss(self) -> RackSpec:
        arrivals = self.workload.arrivals
        if isinstance(arrivals, Saturate) and arrivals.every <= self.deadline:
            raise ValueError(
                f"'arrivals.every' is {arrivals.every:g} s; it must be longer than the deadline of "
                f"{self.deadline:g} s, or no loss would be seen in time"
            )
        return self

    @model_validator(mode="after")
    def _loadable(self) -> RackSpec:
        if self.lab.backend != "memory" and self.workload.keys > MOST_STORED_KEYS:
            raise ValueError(
                f"{self.workload.keys:,} keys would all be written into {self.lab.backend} first; "
                f"it takes up to {MOST_STORED_KEYS:,}"
            )
        return self
