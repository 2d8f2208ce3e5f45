"""Which cached key a hot key replaces: eviction by sampled comparison.

Fetching the counters of all cached keys would take too long, so a few are drawn at random and the
coldest of them is compared with the new key (Jin et al., SOSP 2017, slide "Cache Update").
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar


class Contender(Protocol):
    """A key that may replace a cached one; `count`: its requests, as far as is known."""

    @property
    def key(self) -> bytes: ...
    @property
    def count(self) -> int | None: ...


C = TypeVar("C", bound=Contender)


@dataclass(slots=True)
class Contest(Generic[C]):
    """A candidate, and the counters of the sampled entries as they arrive."""

    candidate: C
    waiting: dict[int, int]
    """Request for a counter that is not answered → generation of the entry."""
    counts: dict[int, int] = field(default_factory=dict)
    """Generation of an entry → how often it was asked for in the epoch."""

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
        self._by_request: dict[int, Contest[C]] = {}
        self._keys: set[bytes] = set()

    def __contains__(self, key: bytes) -> bool:
        return key in self._keys

    @property
    def full(self) -> bool:
        """Whether the limit is reached."""
        return len(self._keys) >= self._limit

    def clear(self) -> None:
        """Drop all contests."""
        self._by_request.clear()
        self._keys.clear()

    def open(self, candidate: C, asked: dict[int, int]) -> None:
        """A contest begins. `asked`: request for each counter → generation of the entry."""
        contest = Contest(candidate, asked)
        self._keys.add(candidate.key)
        for request in asked:
            self._by_request[request] = contest

    def answer(self, request: int, count: int | None) -> Contest[C] | None:
        """A counter has arrived, or is given up (None); returns the contest after its last one."""
        contest = self._by_request.pop(request, None)
        if contest is None:
            return None
        generation = contest.waiting.pop(request)
        if count is not None:
            contest.counts[generation] = count
        if contest.waiting:
            return None
        self._keys.discard(contest.candidate.key)
        return contest

    def asked(self, request: int) -> int | None:
        """The generation of the entry whose counter was asked for."""
        contest = self._by_request.get(request)
        return None if contest is None else contest.waiting[request]
