"""What FarReach's control plane knows of an entry."""

from dataclasses import dataclass
from enum import Enum, auto

from netkv.schemes.farreach.record import Record


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
