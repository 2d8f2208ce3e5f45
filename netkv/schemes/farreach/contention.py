"""Who gives way to a hot key when the cache is full (the paper's III-C, first paragraph)."""

from collections.abc import Iterator
from functools import partial
from random import Random

from netkv.control.base import Action, Nanoseconds
from netkv.control.eviction_policy import Contest, Contests
from netkv.control.messages import Message, Op, Place, Stamp, Status
from netkv.schemes.farreach.context import Context
from netkv.schemes.farreach.entries import Candidate
from netkv.schemes.farreach.eviction import Eviction

COUNT_TRIES = 3  # of a counter; an entry whose counter stays unknown is not evicted
DRAWS = 4  # for each entry that is wanted, when some must not be evicted


class Contention:
    """Contests for a place.

    Rules
    -----
    1. The coldest of a few drawn entries goes, if it was counted less often in this epoch than made
       the key hot. (The paper says nothing of such a condition. Without it a key at the threshold
       could take the place of one that is far above.)
    2. Entries whose server is silent are not drawn: they could not get out.
    """

    def __init__(self, context: Context, eviction: Eviction) -> None:
        self._context = context
        self._eviction = eviction
        self._random = Random(context.parameters.seed)
        self._contests: Contests[Candidate] = Contests(context.parameters.max_contests)

    def __contains__(self, key: bytes) -> bool:
        return key in self._contests

    def clear(self) -> None:
        """Nobody contends any more."""
        self._contests.clear()

    def contend(self, candidate: Candidate) -> bool:
        """Ask how often drawn entries were counted; False if that cannot be done now."""
        context = self._context
        if self._contests.full:
            return False
        silent = context.pending.silent
        count = context.parameters.drawn
        drawn = context.index.sample(
            self._random,
            count,
            count * DRAWS if silent else count,
            lambda entry: not silent or context.owner(entry.key).name not in silent,
        )
        if not drawn:
            return False
        contest = self._contests.open(candidate, (entry.generation for entry in drawn))
        for entry in drawn:
            context.pending.ask(
                Op.COUNT,
                entry.key,
                partial(self._counted, contest, entry.generation),
                stamp=Stamp(generation=entry.generation),
                place=Place(entry.entry),
                tries=COUNT_TRIES,
            )
        return True

    def _counted(
        self, contest: Contest[Candidate], generation: int, _now: Nanoseconds, reply: Message | None
    ) -> Iterator[Action]:
        """A counter; with the last one the coldest entry goes, or the candidate."""
        count = None
        if reply is not None and reply.status is Status.OK and reply.place is not None:
            count = reply.place.number
        if not self._contests.counted(contest, generation, count):
            return iter(())
        index = self._context.index
        loser = contest.loser(index.is_cached)
        entry = None if loser is None else index.get(loser)
        candidate = contest.candidate
        if entry is None or candidate.key in index:
            self._context.counts["contests_lost"] += 1
        else:
            self._context.counts["contests_won"] += 1
            self._eviction.begin(entry, candidate)
        return iter(())
