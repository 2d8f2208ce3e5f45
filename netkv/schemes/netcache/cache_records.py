"""The cached records of NetCache: a `CacheIndex`, and the cells of the value arrays."""

from random import Random

from netkv.control.cache_index import CacheIndex
from netkv.control.slots import Slots
from netkv.schemes.netcache.entries import Candidate, Record, State

DRAWS = 8  # for each record that is wanted, when not every record will do


class Records(CacheIndex[Record]):
    """The records of a cache.

    Invariant: until `remove`, no other record has the key, entry number or cells of a record.
    """

    def __init__(self, capacity: int, rows: int) -> None:
        """`capacity`: entry numbers; `rows`: of the value arrays."""
        super().__init__(capacity)
        self.slots: Slots[int] = Slots(rows)

    def add(self, candidate: Candidate, generation: int, entry: int | None = None) -> Record:
        """A record for a key that has none, with a free entry number or the given one.

        It gets the slot that its generation may have already.
        """
        if entry is None:
            entry = self.take_entry()
        record = Record(candidate.key, generation, entry, candidate)
        record.slot = self.slots.slot(generation)
        self.enter(record)
        return record

    def set_state(self, record: Record, state: State) -> None:
        """The record has come into another state."""
        record.state = state
        self.mark_cached(record.generation, state is State.CACHED)

    def remove(self, record: Record, *, entry: bool, cells: bool) -> None:
        """Remove a record; `entry`, `cells`: whether its entry number and cells are free now."""
        self.leave(record, entry=entry)
        if cells:
            self.slots.release(record.generation)

    def clear(self) -> None:
        """No records: everything is free."""
        super().clear()
        self.slots.clear()

    def draw(self, random: Random, count: int, chunks: int) -> list[Record]:
        """`count` different CACHED records whose row would have room for `chunks` without them.

        Fewer if there are not as many, or if they are too rare to be found by a few draws.
        """
        slots = self.slots
        return self.sample(
            random,
            count,
            count * DRAWS if chunks else count,
            lambda record: not chunks or slots.room_without(record.generation) >= chunks,
        )
