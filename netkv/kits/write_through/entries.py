"""What the control plane of a write-through cache keeps of a candidate and of an entry."""

from dataclasses import dataclass
from enum import Enum, auto

from netkv.control.pending_requests import PendingRequest
from netkv.control.slots import Slot

# Not `frozen`, as classes of `messages.py`: one is made for each key.


@dataclass(slots=True, unsafe_hash=True)
class Candidate:
    """A key that is to be cached.

    `count`: its estimated reads in `epoch`; None for a key of a preload or restart, which evicts no
    other key. `chunks`: the chunks it needs, if no row had that many free; otherwise 0.
    `moved`: whether entries have been moved already to make room for it.
    """

    key: bytes
    count: int | None = None
    epoch: int = 0
    chunks: int = 0
    moved: bool = False


class State(Enum):
    """State of an entry. In each state but CACHED the control plane waits for one answer."""

    ADMITTING = auto()  # ADMIT: the server blocks writes and returns the length
    INSERTING = auto()  # table write
    INSTALLING = auto()  # INSTALL: the server fills the entry
    CACHED = auto()
    DELETING = auto()  # table write


@dataclass(slots=True)
class Record:
    """One insertion of a key, identified by its generation."""

    key: bytes
    generation: int
    entry: int
    candidate: Candidate
    state: State = State.ADMITTING
    request: PendingRequest | None = None  # its last request
    slot: Slot | None = None
    successor: Candidate | None = None  # the key to admit after this eviction
    moves_to: int = 0  # the generation under which the key is inserted again in another row
