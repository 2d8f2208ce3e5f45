"""What NetCache's control plane knows of an entry, and what a user may choose about the cache."""

from dataclasses import dataclass, field
from enum import Enum, auto

from netkv.control.base import SECOND, Nanoseconds
from netkv.control.contest import Candidate
from netkv.control.roundtrip import Timeouts
from netkv.control.slots import MAX_ROWS, Slot

MAX_ENTRIES = 65_536


@dataclass(frozen=True, slots=True)
class NetCacheOptions:
    """What a user may choose.

    `capacity`: entries, 1 to 65,536. `rows`: rows of the value arrays to use. `sample_rate`: share
    of reads that is counted, 0 to 1. `hot_threshold`: counted reads in an epoch that make a key
    hot. `epoch`: length of a statistics epoch in ns. `drawn`: entries that a hot key is compared
    with. The `max_…` bound what goes on at once. `numbers_per_second`: messages and generations
    (netkv/control/numbers.py). `timeouts`: bounds of the wait for a reply.
    """

    capacity: int = 10_000
    rows: int = MAX_ROWS
    sample_rate: float = 1.0
    hot_threshold: int = 64
    epoch: Nanoseconds = SECOND
    drawn: int = 8
    max_in_flight: int = 64
    max_contests: int = 16
    max_waiting: int = 1024
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
        if self.epoch < 1:
            raise ValueError(f"epoch {self.epoch}: it lasts at least 1 ns.")


class State(Enum):
    """Where an entry stands; each waits for one answer, CACHED for none."""

    ADMITTING = auto()  # ADMIT: the server blocks writes and tells the length
    INSERTING = auto()  # table write
    INSTALLING = auto()  # INSTALL: the server fills the entry
    CACHED = auto()
    DELETING = auto()  # table write


@dataclass(slots=True)
class Record:
    """One insertion of a key, known by its generation."""

    key: bytes
    generation: int
    entry: int
    candidate: Candidate
    state: State = State.ADMITTING
    request: int = 0  # of the message that it waits for
    slot: Slot | None = None
    successor: Candidate | None = None  # comes in when this is out
    moves_to: int = 0  # generation under which this key comes in again elsewhere
