"""What NetCache's control plane knows of an entry."""

from dataclasses import dataclass
from enum import Enum, auto

from netkv.control.pending_requests import PendingRequest
from netkv.control.slots import Slot


@dataclass(frozen=True, slots=True)
class Candidate:
    """A key that wants to be cached.

    `count`: its estimated reads in `epoch`; None for a key of a preload
    or restart, which evicts no other key. `chunks`: the room it needs, once that was too much;
    `moved`: whether entries were moved to make room for it already.
    """

    key: bytes
    count: int | None = None
    epoch: int = 0
    chunks: int = 0
    moved: bool = False


class State(Enum):
    """Where an entry stands; each waits for one answer, CACHED for none."""

    ADMITTING = auto()  # ADMIT: the server blocks writes and returns the length
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
    request: PendingRequest | None = None  # that it waits for
    slot: Slot | None = None
    successor: Candidate | None = None  # comes in when this is out
    moves_to: int = 0  # generation under which this key comes in again elsewhere
