"""The eviction policy: a hot key replaces the coldest of a few randomly drawn cached keys.

Fetching the counters of all cached keys would take too long, so a few are drawn at random and the
coldest of them is compared with the new key (Jin et al., SOSP 2017, slide "Cache Update").
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar


class Contender(Protocol):
    """A key that may replace a cached one; `count`: its requests, None if unknown."""

    @property
    def key(self) -> bytes: ...
    @property
    def count(self) -> int | None: ...


C = TypeVar("C", bound=Contender)


@dataclass(slots=True)
class Contest(Generic[C]):
    """A candidate, and the counters of the sampled entries as they arrive."""

    candidate: C
    waiting: set[int]
    """Generations of the entries whose counters are not known yet."""
    counts: dict[int, int] = field(default_factory=dict)
    """Generation of an entry → its requests in the epoch."""

    def loser(self, cached: Callable[[int], bool]) -> int | None:
        """The generation of the coldest entry that is colder than the candidate, or None.

        `cached` returns whether the entry of a generation is still cached.
        """
        colder = (
            (count, generation)
            for generation, count in self.counts.items()
            if count < (self.candidate.count or 0) and cached(generation)
        )
        return min(colder, default=(0, None))[1]


class Contests(Generic[C]):
    """The contests under way: a limited number, each with a limited number of messages."""

    def __init__(self, limit: int) -> None:
        """`limit`: contests at once."""
        self._limit = limit
        self._keys: set[bytes] = set()

    def __contains__(self, key: bytes) -> bool:
        return key in self._keys

    @property
    def full(self) -> bool:
        """Whether the limit is reached."""
        return len(self._keys) >= self._limit

    def clear(self) -> None:
        """Drop all contests."""
        self._keys.clear()

    def open(self, candidate: C, generations: Iterable[int]) -> Contest[C]:
        """Begin a contest with the entries of these generations."""
        self._keys.add(candidate.key)
        return Contest(candidate, set(generations))

    def counted(self, contest: Contest[C], generation: int, count: int | None) -> bool:
        """Add a counter, None if it was given up; returns whether it was the last one."""
        contest.waiting.discard(generation)
        if count is not None:
            contest.counts[generation] = count
        if not contest.waiting:
            self._keys.discard(contest.candidate.key)
        return not contest.waiting
