"""Events and samples of a rack.

Rates are operations per second, times seconds, latencies nanoseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from netkv.model.recovery import Recovered

EventKind = Literal[
    "starting",
    "ready",
    "stopping",
    "stopped",
    "killed",
    "failed",
    "started",
    "control",
    "fault",
    "healed",
    "load",
    "note",
    "recovering",
    "recovered",
]
"""`failed`: a node has ended unexpectedly; `killed` and `stopped`: on request. `fault`, `healed`,
`load`: a scenario or a user has changed something (`Change`): a fault begins, something is in order
again, the load is another one. `recovering`: the recovery of a switch that has lost its state
begins; `recovered`: it is complete."""
Cause = Literal["scenario", "user", "duration"]
"""Of a change: the scenario (random faults included), a user who injected it, or the end of the
duration for which a user has injected a fault."""

LINK_KINDS = ("client", "server", "coordinator", "switch", "client_card", "server_card")
"""Kinds of links: of clients, servers and the coordinator to the switch, between switches, and
between FPGA cards and their hosts."""
COMPILER = "p4c"
"""The `node` of events about the compilation for a target that is not netkv's own engine."""


@dataclass(frozen=True)
class Change:
    """What a scenario or a user has changed in a rack, beside the text of the event."""

    cause: Cause
    action: str
    """Its name in a scenario, such as `kill` or `link`."""
    what: str
    """A description for labels: `link of servers-0: loss 0.1`."""
    begins: int | None
    """Number of the fault that begins. Those of a rack are numbered from 1."""
    ends: tuple[int, ...]
    """Numbers of the faults that end, or are replaced."""
    target: str = ""
    """What is impaired or in order from now on: `node`, `link`, `slow` (the rate of servers) or
    `channel` (the control channel); empty: nothing that lasts."""


@dataclass(frozen=True)
class RackEvent:
    """An event in a rack."""

    time: float
    """Seconds since the epoch."""
    kind: EventKind
    node: str
    """`switch`, `servers-0`, `client`, `controller`, `rack` for the whole rack, or `COMPILER`."""
    text: str
    """A description for users."""
    recovered: Recovered | None = None
    """The control plane's report, for an event `recovered`."""
    change: Change | None = None
    """For an event `fault`, `healed` or `load`."""


@dataclass(frozen=True)
class ClientSample:
    """Counts of the load generator since the previous sample."""

    interval: float = 0.0
    completed: int = 0
    reads: int = 0
    writes: int = 0
    hits: int = 0
    """Reads that the switch answered."""
    retries: int = 0
    lost: int = 0
    """Requests without a reply by their deadline."""
    not_found: int = 0
    stale_reads: int = 0
    phantom_reads: int = 0
    overloaded: int = 0
    latency: str = ""
    """HDR histogram (V2, deflated, base64) of nanoseconds from the intended send time."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """All counters by name: these, and those of the scheme's client role."""

    @property
    def throughput(self) -> float:
        """Completed operations per second."""
        return self.completed / self.interval if self.interval > 0 else 0.0

    @property
    def hit_ratio(self) -> float | None:
        """Share of reads that the switch answered; None without reads."""
        return self.hits / self.reads if self.reads else None


@dataclass(frozen=True)
class CoordinatorSample:
    """Counts of the coordinator of multigets since the previous sample."""

    interval: float
    busy: float
    """Processor time of all workers in seconds."""
    workers: int
    requests: int
    groups: int
    """Requests to servers for these requests."""
    refused: int
    """Requests that it rejected because too many were under way."""
    dropped: int
    """Frames that its host dropped."""

    @property
    def available(self) -> float:
        """Wall time times the number of workers, in seconds."""
        return self.interval * self.workers

    @property
    def utilization(self) -> float:
        """Share of the time that a worker was busy, 0 to 1."""
        return min(self.busy / self.available, 1.0) if self.available > 0 else 0.0


@dataclass(frozen=True)
class RackSample:
    """The whole rack over one interval."""

    time: float
    """Seconds since the epoch, at the end of the interval."""
    client: ClientSample
    phase: str
    """Phase of the load generator: `idle`, `warmup`, `measure`, `drain`, `verify` or `down`."""
    server_load: tuple[float, ...]
    """Operations per second that each server served in the interval, or since its last answer."""
    server_dropped: tuple[int, ...]
    """Requests that each server's queue refused in the interval."""
    server_served: tuple[int, ...] = ()
    """Operations that each server has served since its last answer."""
    silent_servers: frozenset[int] = frozenset()
    """The servers that run and have not answered: their load is unknown."""
    interval: float = 0.0
    """Seconds since the last sample, of everything that the load generator does not count."""
    late: bool = False
    """Whether it has only figures of the load generator, which came after the sample that they were
    for."""
    switch: dict[str, int] = field(default_factory=dict)
    """Packet statistics of the switch since it started."""
    control_plane_bytes: int = 0
    """Bytes between controllers and switches in the interval, both directions."""
    control_plane_bytes_by_switch: dict[str, int] = field(default_factory=dict)
    record_bytes: int = 0
    """Bytes of the records of admissions, evictions and snapshots that passed through controllers
    in the interval, for schemes that count them."""
    cached: int = 0
    """Number of cached records, as the controllers know. While no controller reaches a switch that
    runs on, it is the last number."""
    server_statistics: tuple[dict[str, Any], ...] = ()
    """All counters of each server since it started."""
    client_statistics: dict[str, Any] = field(default_factory=dict)
    """The load generator's reply, unchanged."""
    control_dropped: int = 0
    """Messages between switches and controllers that were dropped at a full queue in the interval.
    """
    reports_dropped: int = 0
    """Reports of hot records that were dropped at a full queue in the interval."""
    dropped_frames: int = 0
    """Frames that full queues of switches, servers and clients dropped in the interval."""
    recirculated: int | None = 0
    """Further passes of packets through a switch in the interval, because its program recirculates
    or resubmits them; None if the switches do not count them."""
    coordinator: CoordinatorSample | None = None
    """None if there is no coordinator, or if it is down."""
    links: Mapping[str, int] = field(default_factory=dict)
    """Simulated racks: bytes that crossed links in the interval, both directions, by kind
    (`LINK_KINDS`)."""
    cards: Mapping[str, int] = field(default_factory=dict)
    """What the registers of the FPGA cards have counted in the interval, added up over the cards.
    """
