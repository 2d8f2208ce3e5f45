"""Who gives way to a hot key: eviction by sampled comparison.

Fetching the counters of all cached keys would take too long, so a few are drawn at random and the
coldest of them is compared with the new key (NetCache, slide "Cache Update").
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from netkv.control.messages import Message, Status


@dataclass(frozen=True, slots=True)
class Candidate:
    """A key that wants to be cached.

    `count`: its estimated reads in `epoch`; None for a key that somebody asked to have cached
    (preload, restart), which evicts nobody. `chunks`: the room it needs, once that was too much;
    `moved`: whether entries were moved to make room for it already.
    """

    key: bytes
    count: int | None = None
    epoch: int = 0
    chunks: int = 0
    moved: bool = False


@dataclass(slots=True)
class Contest:
    """A candidate, and the counters of the entries that were drawn, as they come in."""

    candidate: Candidate
    waiting: dict[int, int]
    """Request of a STATS message that is not answered → generation of the entry."""
    counts: dict[int, int] = field(default_factory=dict)
    """Generation of an entry → its reads in the epoch."""

    def loser(self, cached: Callable[[int], bool]) -> int | None:
        """The generation of the coldest entry that is colder than the candidate, or None.

        `cached` tells if an entry (by generation) is still there to be evicted.
        """
        colder = (
            (count, generation)
            for generation, count in self.counts.items()
            if count < (self.candidate.count or 0) and cached(generation)
        )
        return min(colder, default=(0, None))[1]


class Contests:
    """The contests that go on, a bounded number, each with a bounded number of messages."""

    def __init__(self, limit: int) -> None:
        """`limit`: contests at once."""
        self._limit = limit
        self._by_request: dict[int, Contest] = {}
        self._keys: set[bytes] = set()

    def __contains__(self, key: bytes) -> bool:
        return key in self._keys

    @property
    def full(self) -> bool:
        """Whether no more may begin."""
        return len(self._keys) >= self._limit

    def clear(self) -> None:
        """Nobody contends any more."""
        self._by_request.clear()
        self._keys.clear()

    def open(self, candidate: Candidate, asked: dict[int, int]) -> None:
        """A contest begins. `asked`: request of each STATS message → generation of the entry."""
        contest = Contest(candidate, asked)
        self._keys.add(candidate.key)
        for request in asked:
            self._by_request[request] = contest

    def answer(self, request: int, reply: Message | None) -> Contest | None:
        """A counter has come in or is given up (None); returns the contest if it was the last."""
        contest = self._by_request.pop(request, None)
        if contest is None:
            return None
        generation = contest.waiting.pop(request)
        counted = reply.mark if reply is not None and reply.status is Status.OK else None
        # The key may have been brought in again since: that entry was not drawn.
        if counted is not None and counted.generation == generation:
            contest.counts[generation] = counted.version
        if contest.waiting:
            return None
        self._keys.discard(contest.candidate.key)
        return contest
