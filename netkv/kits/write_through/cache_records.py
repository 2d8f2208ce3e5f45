"""The records of a write-through cache: a `CacheIndex`, and the cells of the value arrays."""

from random import Random

from netkv.control.cache_index import CacheIndex
from netkv.control.slots import Slots
from netkv.kits.write_through.entries import Candidate, Record, State

DRAWS = 8  # random draws for each record to be found, if records must meet a condition


class Records(CacheIndex[Record]):
    """The records of a cache.

    Invariant: until `remove`, no other record has the key, entry number or cells of a record.
    """

    def __init__(self, capacity: int, rows: int) -> None:
        """`capacity`: number of entries; `rows`: rows of the value arrays."""
        super().__init__(capacity)
        self.slots: Slots[int] = Slots(rows)

    def add(self, candidate: Candidate, generation: int, entry: int | None = None) -> Record:
        """Add a record for a key that has none, with a free entry number or the given one.

        If its generation has a slot already (`allocate` for a move), the record gets that slot.
        """
        if entry is None:
            entry = self.take_entry()
        record = Record(candidate.key, generation, entry, candidate)
        record.slot = self.slots.slot(generation)
        self.enter(record)
        return record

    def set_state(self, record: Record, state: State) -> None:
        """Set the state of a record."""
        cached = state is State.CACHED
        if cached or record.state is State.CACHED:
            self.mark_cached(record.generation, cached)
        record.state = state

    def remove(self, record: Record, *, entry: bool, cells: bool) -> None:
        """Remove a record; `entry`, `cells`: whether to free its entry number and its cells."""
        self.leave(record, entry=entry)
        if cells:
            self.slots.release(record.generation)

    def clear(self) -> None:
        """Remove all records."""
        super().clear()
        self.slots.clear()

    def draw(self, random: Random, count: int, chunks: int) -> list[Record]:
        """Up to `count` random CACHED records, each of which would leave room for `chunks` in its
        row if it were evicted.

        It returns fewer if there are fewer, or if a limited number of draws does not find them.
        """
        slots = self.slots
        return self.sample(
            random,
            count,
            count * DRAWS if chunks else count,
            lambda record: not chunks or slots.room_without(record.generation) >= chunks,
        )
