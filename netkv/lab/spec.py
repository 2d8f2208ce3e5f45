"""What a rack and its load look like, as data: models shared by scenarios, CLI and lab.

Rates are operations per second, times seconds, sizes bytes. Unknown fields are errors: a misspelt
option must never be silently ignored. The docstring of a field is its description, also for users:
docs/scenario-reference.md is made of them (`make docs`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from netkv.errors import FieldError

MOST_STORED_KEYS = 100_000_000
"""Keys of a store that has to be loaded."""

MOST_KEYS_IN_MULTIGET = 128
DEFAULT_KEY_SIZE = 16
"""Bytes of a key: the only size that schemes for single keys have."""

Backend = Literal["memory", "rocksdb", "redis"]
Target = Literal["engine"]
"""What executes P4 programs: netkv's own engine; a lab can use nothing else yet."""
Executor = Literal["compiled", "interpreter"]
Pipelines = Literal[1, 2, 4]
Mix = Literal["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-f", "insert"]


class Unit(str):
    """The unit of a number, beside its `Field`, for the reference of options."""


SECONDS = Unit("s")
BYTES = Unit("bytes")
RATE = Unit("operations/s")


class Spec(BaseModel):
    """Base of all specifications: immutable and strict about field names."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


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


class LabSpec(Spec):
    """The hardware of one rack: servers, clients, the switch and its cache."""

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
    guests: Annotated[int, Field(ge=0, le=16)] = 4
    """Live only: places for programs that use the rack while it is up (`netkv.client`), each a
    client identity and a switch port beside those of the load; as many as the scheme has room for.
    """
    cache_entries: Annotated[int, Field(ge=0, le=65536)] = 1000
    """Records that a caching scheme may hold in the switch."""
    cache_rows: Annotated[int, Field(ge=1, le=65536)] | None = None
    """NetCache only: rows of the switch's eight value arrays that the cache may fill; left out, all
    there are."""
    hot_threshold: Annotated[int, Field(ge=1, le=65535)] = 16
    """Counted requests for an uncached key within an epoch that make it hot, so that it may be
    cached: reads, and with a write-back cache writes, too."""
    sample_rate: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share of requests that is counted; left out, the scheme's own: NetCache 1, FarReach 0.5."""
    epoch: Annotated[float, Field(gt=0, le=3600), SECONDS] = 1.0
    """Time after which the statistics of a caching scheme begin anew."""
    snapshot_period: Annotated[float, Field(ge=0, le=3600), SECONDS] = 10.0
    """FarReach only: time from one snapshot of the write-back cache to the next; 0 for none."""
    preload: bool = True
    """Start with the hottest `cache_entries` keys cached."""
    target: Target = "engine"
    """What executes the P4 programs."""
    topology: TopologySpec = TopologySpec()
    """Switches and how they are joined."""
    profile: str = "this-machine"
    """Simulated only: what hosts, links and switches are like. The name of a profile
    (`this-machine`, `a-cloud-machine`, `netcache-testbed`, `farreach-testbed`, `netmc-testbed`) or
    of a file that ends in `.json` (docs/simulator.md)."""
    profile_changes: dict[str, float] = Field(default_factory=dict)
    """Simulated only: figures of the profile that are different here, by their path in it:
    `server.get.mean` in microseconds, `control.rate` (`netkv.sim.models`)."""
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
    """Requests under way at any time, over all clients together; each reply lets the next one go.
    """


class Poisson(Spec):
    """Open loop: exponential gaps between intended send times."""

    rate: Annotated[float, Field(gt=0), RATE]
    """Operations offered, over all clients together, whether or not replies come."""


class Saturate(Spec):
    """Open loop whose rate follows the loss, to find what the rack can take (NetCache, 6.1).

    The share of operations that are lost is kept between half of `loss` and `loss`. An operation is
    lost at its deadline; with a `retry` as long as the deadline every dropped frame counts.
    """

    loss: Annotated[float, Field(gt=0, le=0.5)]
    """Largest share of operations that may be lost; the rate is changed so that the share stays
    between half of this and this."""
    rate: Annotated[float, Field(gt=0), RATE]
    """Rate to begin with, over all clients together."""
    every: Annotated[float, Field(gt=0), SECONDS]
    """Time between two looks at the loss; longer than `deadline`."""


class UniformSize(Spec):
    """Value sizes drawn uniformly, both ends included."""

    min: Annotated[int, Field(ge=16, le=1024), BYTES]
    """The smallest value."""
    max: Annotated[int, Field(ge=16, le=1024), BYTES]
    """The largest value; at least `min`."""

    @model_validator(mode="after")
    def _ordered(self) -> UniformSize:
        if self.min > self.max:
            raise FieldError(f"min ({self.min}) is larger than max ({self.max})", "min")
        return self


class HeavyTail(Spec):
    """Sizes of multigets: most are small, a few are large (a power law, cut at 128 keys)."""

    mean: Annotated[float, Field(ge=1, le=64)]
    """Keys in a read on average; 8.6 in production (Rein, EuroSys 2017)."""


class MultigetSize(Spec):
    """Sizes of multigets drawn uniformly, both ends included."""

    min: Annotated[int, Field(ge=1, le=MOST_KEYS_IN_MULTIGET)]
    """Fewest keys in a read."""
    max: Annotated[int, Field(ge=1, le=MOST_KEYS_IN_MULTIGET)]
    """Most keys in a read; at least `min`."""

    @model_validator(mode="after")
    def _ordered(self) -> MultigetSize:
        if self.min > self.max:
            raise FieldError(f"min ({self.min}) is larger than max ({self.max})", "min")
        return self


class Shift(Spec):
    """A popularity shift, repeated every `every` seconds."""

    kind: Literal["hot-in", "hot-out", "random"]
    """`hot-in`: the coldest keys become the hottest; `hot-out`: the hottest become the coldest;
    `random`: some of the hottest change places with others."""
    keys: Annotated[int, Field(ge=1)] = 200
    """How many keys change rank at once."""
    top: Annotated[int, Field(ge=1)] = 10_000
    """With `random`: how many of the most popular keys those that are replaced are drawn from."""
    every: Annotated[float, Field(gt=0), SECONDS] = 10.0
    """Time from one shift to the next in the measured part."""

    @model_validator(mode="before")
    @classmethod
    def _as_many_as_move(cls, data: Any) -> Any:
        """Kinds that do not use `top` may move any number of keys without it."""
        if not isinstance(data, dict) or "top" in data or data.get("kind") == "random":
            return data
        keys = data.get("keys")
        usual = cls.model_fields["top"].default
        return {**data, "top": keys} if isinstance(keys, int) and keys > usual else data

    @model_validator(mode="after")
    def _no_more_than_there_are(self) -> Shift:
        if self.keys > self.top:
            raise FieldError(
                f"a shift cannot move {self.keys:,} keys ('keys') of the {self.top:,} most popular "
                f"ones ('top'); 'keys' is at most 'top'",
                "keys" if "keys" in self.model_fields_set else "top",
            )
        return self


def check_shift(shift: Shift, workload: WorkloadSpec) -> None:
    """Raises `FieldError`, seen from the shift, if the load cannot have it."""
    if workload.mix == "ycsb-d":
        raise FieldError(
            "popularity cannot shift with 'mix: ycsb-d', where the newest keys are the most popular"
        )
    if shift.kind == "random" and shift.keys > workload.keys - shift.top:
        raise FieldError(
            f"a random shift replaces {shift.keys:,} of the {shift.top:,} most popular keys by "
            f"others, so 'workload.keys' is at least {shift.keys + shift.top:,}, not "
            f"{workload.keys:,}",
            "top",
        )
    if shift.keys > workload.keys:
        text = f"a shift cannot move {shift.keys:,} keys: 'workload.keys' is {workload.keys:,}"
        raise FieldError(text, "keys")


class WorkloadSpec(Spec):
    """What the clients ask for."""

    keys: Annotated[int, Field(ge=1, le=1_000_000_000_000)] = 100_000
    """Keys that exist at the start. A store in memory holds only what was written, so their number
    costs nothing there; other back ends take up to 100,000,000 and are loaded with all of them."""
    zipf: Annotated[float, Field(ge=0, le=1.2)] = 0.99
    """Skew of the keys' popularity, the exponent of Zipf's law; 0 is uniform."""
    mix: Mix | None = None
    """A mix of YCSB in place of `writes` and `deletes`. `ycsb-a`: half reads, half writes;
    `ycsb-b`: 5% writes; `ycsb-c`: reads only; `ycsb-d`: 5% inserts, and the newest keys are the
    hottest; `ycsb-f`: half reads, half reads followed by a write of the key; `insert`: inserts
    only."""
    writes: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of operations that write."""
    deletes: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of operations that delete; the rest of `writes` and `deletes` reads."""
    value_size: Annotated[int, Field(ge=16, le=1024), BYTES] | UniformSize = 128
    """Bytes of a value: a number, or a range from which each is drawn."""
    multiget: (
        Annotated[int, Field(ge=1, le=MOST_KEYS_IN_MULTIGET)] | HeavyTail | MultigetSize | None
    ) = None
    """Keys of each read: a number, a range, or a mean. Only schemes for multigets take it; left
    out, one key."""
    key_size: Annotated[int, Field(ge=4, le=64), BYTES] = DEFAULT_KEY_SIZE
    """Bytes of a key. Only schemes for multigets take another size than 16."""
    arrivals: ClosedLoop | Saturate | Poisson = ClosedLoop(outstanding=64)
    """When requests are sent: as many as are outstanding, at a rate, or at the rate that the rack
    can take."""
    shift: Shift | None = None
    """A popularity shift, again and again; left out, popularity stays."""

    @model_validator(mode="after")
    def _shares(self) -> WorkloadSpec:
        if self.mix is not None and (self.writes or self.deletes):
            text = "'mix' sets the share of writes; leave out 'writes' and 'deletes'"
            raise FieldError(text, "mix")
        if self.writes + self.deletes > 1:
            raise FieldError("'writes' and 'deletes' together are more than 1", "deletes")
        return self

    @model_validator(mode="after")
    def _can_shift(self) -> WorkloadSpec:
        if self.shift is not None:
            try:
                check_shift(self.shift, self)
            except FieldError as error:
                raise error.below("shift") from None
        return self


class RackSpec(Spec):
    """All that is needed to bring a rack up."""

    scheme: str
    lab: LabSpec = LabSpec()
    workload: WorkloadSpec = WorkloadSpec()
    seed: int = 1
    deadline: Annotated[float, Field(gt=0, le=300), SECONDS] = 2.0
    """A request that got no reply within this many seconds, retries included, is lost."""
    retry: Annotated[float, Field(gt=0), SECONDS] = 0.05
    """First retry time-out; doubles up to eight times that. It grows to about twice the time that
    answers take."""

    @model_validator(mode="after")
    def _fits(self) -> RackSpec:
        check_load(self.lab, self.workload, self.deadline)
        return self


def check_load(lab: LabSpec, workload: WorkloadSpec, deadline: float) -> None:
    """Raises `FieldError`, seen from whoever has `lab` and `workload`, for a load that the lab
    cannot have.

    `deadline`: seconds after which a request without a reply is lost.
    """
    arrivals = workload.arrivals
    if isinstance(arrivals, Saturate) and arrivals.every <= deadline:
        raise FieldError(
            f"'arrivals.every' is {arrivals.every:g} s; it must be longer than the deadline of "
            f"{deadline:g} s, or no loss would be seen in time",
            *("workload", "arrivals", "every"),
        )
    if lab.backend != "memory" and workload.keys > MOST_STORED_KEYS:
        raise FieldError(
            f"{workload.keys:,} keys would all be written into {lab.backend} first; it takes up to "
            f"{MOST_STORED_KEYS:,}",
            *("workload", "keys"),
        )
