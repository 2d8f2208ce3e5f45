"""Who has which entry of the cache: records by generation and key, free numbers, cells.

Nothing here costs a scan over the records, whatever happens to one of them.
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from random import Random

from netkv.control.contest import Candidate
from netkv.control.entries import Record, State
from netkv.control.slots import Slots

DRAWS = 8  # for each record that is wanted, when not every record will do


class Records:
    """The records of a cache.

    Holds for every record: nobody else has its key, entry number or cells, until `remove`.
    """

    def __init__(self, capacity: int, rows: int) -> None:
        """`capacity`: entry numbers; `rows`: of the value arrays."""
        self._capacity = capacity
        self.slots: Slots[int] = Slots(rows)
        self._free = list(range(capacity))
        self._by_generation: dict[int, Record] = {}
        self._by_key: dict[bytes, Record] = {}
        # Generations that are CACHED, in a list to draw from, and where each is in it.
        self._cached: list[int] = []
        self._places: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._by_generation)

    def __iter__(self) -> Iterator[Record]:
        """All records, the oldest first."""
        return iter(self._by_generation.values())

    def __contains__(self, key: bytes) -> bool:
        return key in self._by_key

    @property
    def cached(self) -> int:
        """How many records are CACHED."""
        return len(self._cached)

    @property
    def in_flight(self) -> int:
        """How many records wait for something."""
        return len(self._by_generation) - len(self._cached)

    @property
    def free_entries(self) -> int:
        """How many entry numbers nobody has."""
        return len(self._free)

    def get(self, generation: int) -> Record | None:
        """The record of this generation."""
        return self._by_generation.get(generation)

    def of_key(self, key: bytes) -> Record | None:
        """The record of this key."""
        return self._by_key.get(key)

    def is_cached(self, generation: int) -> bool:
        """Whether there is a record of this generation, and it is CACHED."""
        return generation in self._places

    def add(self, candidate: Candidate, generation: int, entry: int | None = None) -> Record:
        """A record for a key that has none, with a free entry number or the given one.

        It gets the slot that its generation may have already.
        """
        if entry is None:
            entry = heappop(self._free)
        record = Record(candidate.key, generation, entry, candidate)
        record.slot = self.slots.slot(generation)
        self._by_generation[generation] = record
        self._by_key[record.key] = record
        return record

    def set_state(self, record: Record, state: State) -> None:
        """The record has come into another state."""
        if state is State.CACHED:
            self._places[record.generation] = len(self._cached)
            self._cached.append(record.generation)
        elif record.state is State.CACHED:
            self._leave_cached(record.generation)
        record.state = state

    def remove(self, record: Record, *, entry: bool, cells: bool) -> None:
        """The record is no more; tells whether its entry number and its cells are free."""
        if record.state is State.CACHED:
            self._leave_cached(record.generation)
        del self._by_generation[record.generation]
        del self._by_key[record.key]
        if entry:
            heappush(self._free, record.entry)
        if cells:
            self.slots.release(record.generation)

    def clear(self) -> None:
        """No records: everything is free."""
        self.slots.clear()
        self._free = list(range(self._capacity))
        for part in (self._by_generation, self._by_key, self._cached, self._places):
            part.clear()

    def draw(self, random: Random, count: int, chunks: int) -> list[Record]:
        """`count` different CACHED records whose row would have room for `chunks` without them.

        Fewer if there are not as many, or if they are too rare to be found by a few draws.
        """
        total = len(self._cached)
        tries = min(total, count * DRAWS if chunks else count)
        found: list[Record] = []
        for place in random.sample(range(total), tries):
            generation = self._cached[place]
            if not chunks or self.slots.room_without(generation) >= chunks:
                found.append(self._by_generation[generation])
                if len(found) == count:
                    break
        return found

    def _leave_cached(self, generation: int) -> None:
        place = self._places.pop(generation)
        last = self._cached.pop()
        if last != generation:
            self._cached[place] = last
            self._places[last] = place
