"""The state that the control plane of a write-back cache keeps of a candidate and of an entry."""

from dataclasses import dataclass
from enum import Enum, auto

from netkv.kits.write_back.record import Record

# Not `frozen`, as classes of `messages.py`: one is made for each key.


@dataclass(slots=True, unsafe_hash=True)
class Candidate:
    """A key that is to be cached.

    `record`: its record, None if that must be fetched. `count`: a lower bound of its count in an
    epoch; None for a key of a preload or recovery, which evicts no other key.
    """

    key: bytes
    record: Record | None = None
    count: int | None = None


class State(Enum):
    """State of an entry. In each state but CACHED the control plane waits for one answer.

    VALIDATE, EVICT and RETIRE may also wait until `Validity` sends them. With several switches,
    FILLING to VALIDATING and RETIRING to DELETING are repeated for each of them.
    """

    FETCHING = auto()  # FETCH: the server returns the record
    FILLING = auto()  # FILL
    INSERTING = auto()  # table write
    VALIDATING = auto()  # VALIDATE
    CACHED = auto()
    EVICTING = auto()  # EVICT: the entry is valid until it is answered
    RESTORING = auto()  # RESTORE: the server stores the record of the reply to EVICT
    RETIRING = auto()  # RETIRE
    DELETING = auto()  # table write


@dataclass(slots=True)
class Entry:
    """One filling of an entry with a key, identified by its generation."""

    key: bytes
    generation: int
    entry: int
    candidate: Candidate
    state: State = State.FETCHING
    frozen: Record | None = None
    """The record of the reply to EVICT, which is final."""
    successor: Candidate | None = None
    """The key to admit after this eviction."""
    switch: int = 0
    """Index of the switch (`Context.switches`) that is changed, while the entry is admitted or
    removed."""

    @property
    def is_restoring(self) -> bool:
        """Whether the server may lack its record."""
        return self.state is State.RESTORING
