"""What FarReach's control plane knows of an entry, and what a user may choose about the cache."""

from dataclasses import dataclass, field
from enum import Enum, auto

from netkv.control.base import MILLISECOND, SECOND, Nanoseconds
from netkv.control.roundtrip import Timeouts
from netkv.control.write_back.record import Record

MAX_ENTRIES = 32_768
PIPELINES = (1, 2, 4)


@dataclass(frozen=True, slots=True)
class FarReachOptions:
    """What a user may choose; the defaults are the paper's (VI-A), where it says.

    `capacity`: entries, 1 to 32,768. `sample_rate`: share of requests that is counted, 0 to 1.
    `hot_threshold`: counted requests in an epoch that make a key hot. `epoch`: length of a
    statistics epoch in ns. `drawn`: entries that a hot key is compared with. `snapshot_period`: ns
    from one snapshot point to the next, 0 for no snapshots. `pipelines`: of the switch, 1, 2 or 4.
    `original_patience`: ns to wait for originals when everything is loaded. `collect_patience`: ns
    without an answer after which a client is given up in a recovery. `era`: ns for which the switch
    keeps its life. `tries`: of a message, before it is said that nobody answers. The `max_…` bound
    what goes on at once; `max_bulk` is for snapshots and recoveries. `numbers_per_second`: messages
    and generations (netkv/control/numbers.py). `timeouts`: bounds of the wait for a reply.
    """

    capacity: int = 10_000
    sample_rate: float = 0.5
    hot_threshold: int = 20
    epoch: Nanoseconds = SECOND
    drawn: int = 8
    snapshot_period: Nanoseconds = 10 * SECOND
    pipelines: int = 1
    original_patience: Nanoseconds = 500 * MILLISECOND
    collect_patience: Nanoseconds = 5 * SECOND
    era: Nanoseconds = 600 * SECOND
    tries: int = 12
    max_in_flight: int = 64
    max_contests: int = 16
    max_waiting: int = 1024
    max_bulk: int = 256
    seed: int = 0
    numbers_per_second: int = 32_768
    timeouts: Timeouts = field(default_factory=Timeouts)

    def __post_init__(self) -> None:
        if not 1 <= self.capacity <= MAX_ENTRIES:
            raise ValueError(f"capacity {self.capacity}: the cache has 1 to {MAX_ENTRIES} entries.")
        if not 0.0 <= self.sample_rate <= 1.0:
            raise ValueError(f"sample_rate {self.sample_rate}: a share lies within 0 and 1.")
        if not 1 <= self.hot_threshold <= 0xFFFF:
            raise ValueError(f"hot_threshold {self.hot_threshold}: counts are 1 to 65535.")
        if self.snapshot_period < 0:
            raise ValueError(
                f"snapshot_period {self.snapshot_period}: a time in ns, or 0 for no snapshots."
            )
        if self.pipelines not in PIPELINES:
            raise ValueError(f"pipelines {self.pipelines}: a switch has 1, 2 or 4.")
        for name in ("epoch", "original_patience", "collect_patience", "era"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)}: it lasts at least 1 ns.")
        for name in ("drawn", "tries", "max_in_flight", "max_contests", "max_waiting", "max_bulk"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)}: at least 1 is needed.")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A key that wants to be cached.

    `record`: what is known of it, None if that must be fetched. `count`: how often it was counted
    in an epoch, at least; None for a key that somebody asked to have cached (preload, recovery),
    which evicts nobody.
    """

    key: bytes
    record: Record | None = None
    count: int | None = None


class State(Enum):
    """Where an entry stands; each waits for one answer, CACHED for none."""

    FETCHING = auto()  # FETCH: the server tells the record
    FILLING = auto()  # FILL
    INSERTING = auto()  # table write
    VALIDATING = auto()  # VALIDATE, or its turn
    CACHED = auto()
    EVICTING = auto()  # EVICT, or its turn: still valid until it is answered
    RESTORING = auto()  # RESTORE: the server takes what EVICT said
    RETIRING = auto()  # RETIRE, or its turn
    DELETING = auto()  # table write


@dataclass(slots=True)
class Entry:
    """One filling of an entry with a key, known by its generation."""

    key: bytes
    generation: int
    entry: int
    candidate: Candidate
    state: State = State.FETCHING
    frozen: Record | None = None
    """What EVICT said: nothing changes it any more."""
    successor: Candidate | None = None
    """Comes in when this is out."""

    @property
    def is_restoring(self) -> bool:
        """Whether a server may not have its record yet."""
        return self.state is State.RESTORING
