"""The index of a cache: holders by generation and by key, free entry numbers, random samples.

No operation scans all entries.
"""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from random import Random
from typing import Generic, Protocol, TypeVar


class Holder(Protocol):
    """The holder of an entry: one insertion of a key, identified by its generation."""

    key: bytes
    generation: int
    entry: int


H = TypeVar("H", bound=Holder)


class CacheIndex(Generic[H]):
    """The entries of a cache and their holders.

    Invariant: until `leave`, no other holder has the key or entry number of a holder.
    """

    def __init__(self, capacity: int) -> None:
        """`capacity`: number of entries."""
        self._capacity = capacity
        self._free = list(range(capacity))
        self._by_generation: dict[int, H] = {}
        self._by_key: dict[bytes, H] = {}
        # Generations that are cached, in a list to draw from, and the index of each in the list.
        self._cached: list[int] = []
        self._positions: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._by_generation)

    def __iter__(self) -> Iterator[H]:
        """All holders, the oldest first."""
        return iter(self._by_generation.values())

    def __contains__(self, key: bytes) -> bool:
        return key in self._by_key

    @property
    def cached(self) -> int:
        """Number of holders that are cached."""
        return len(self._cached)

    def cached_keys(self) -> list[bytes]:
        """The keys whose holders are cached, the oldest holder first."""
        positions = self._positions
        holders = self._by_generation.items()
        return [it.key for generation, it in holders if generation in positions]

    @property
    def in_flight(self) -> int:
        """Number of holders that are not cached: an operation on each is under way."""
        return len(self._by_generation) - len(self._cached)

    @property
    def free_entries(self) -> int:
        """Number of free entries."""
        return len(self._free)

    def get(self, generation: int) -> H | None:
        """The holder with this generation."""
        return self._by_generation.get(generation)

    def of_key(self, key: bytes) -> H | None:
        """The holder with this key."""
        return self._by_key.get(key)

    def is_cached(self, generation: int) -> bool:
        """Whether the holder with this generation exists and is cached."""
        return generation in self._positions

    def take_entry(self) -> int:
        """The lowest free entry number; there must be one."""
        return heappop(self._free)

    def enter(self, holder: H) -> None:
        """Add a holder. Its entry number was taken; its key and generation are new."""
        self._by_generation[holder.generation] = holder
        self._by_key[holder.key] = holder

    def mark_cached(self, generation: int, cached: bool) -> None:
        """Set whether the holder of this generation is cached."""
        if cached == (generation in self._positions):
            return
        if cached:
            self._positions[generation] = len(self._cached)
            self._cached.append(generation)
        else:
            position = self._positions.pop(generation)
            last = self._cached.pop()
            if last != generation:
                self._cached[position] = last
                self._positions[last] = position

    def leave(self, holder: H, *, entry: bool) -> None:
        """Remove a holder; `entry`: whether to free its entry number."""
        self.mark_cached(holder.generation, cached=False)
        del self._by_generation[holder.generation]
        del self._by_key[holder.key]
        if entry:
            heappush(self._free, holder.entry)

    def clear(self) -> None:
        """Remove all holders."""
        self._free = list(range(self._capacity))
        for part in (self._by_generation, self._by_key, self._cached, self._positions):
            part.clear()

    def sample(self, random: Random, count: int, tries: int, suits: Callable[[H], bool]) -> list[H]:
        """Up to `count` random cached holders that suit; at most `tries` are drawn."""
        found: list[H] = []
        for position in random.sample(range(len(self._cached)), min(tries, len(self._cached))):
            holder = self._by_generation[self._cached[position]]
            if suits(holder):
                found.append(holder)
                if len(found) == count:
                    break
        return found
