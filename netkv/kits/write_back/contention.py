"""Which entry a hot key evicts when the cache is full (the paper's III-C, first paragraph)."""

from collections.abc import Iterator
from functools import partial
from random import Random

from netkv.control.base import Action, Nanoseconds
from netkv.control.eviction_policy import Contest, Contests
from netkv.kits.write_back.context import Context
from netkv.kits.write_back.entries import Candidate
from netkv.kits.write_back.eviction import Eviction
from netkv.model.messages import Message, Op, Slot, Stamp, Status

COUNT_TRIES = 3  # transmissions of COUNT; an entry without an answer is not evicted
DRAWS = 4  # random draws for each entry to be found, if some entries are excluded


class Contention:
    """Contests for an entry.

    Rules
    -----
    1. The coldest of a few randomly drawn entries is evicted if its count in this epoch is below
       the threshold at which a key is hot. (The paper has no such condition. Without it a key at
       the threshold could replace a key far above the threshold.)
    2. Entries whose server is silent are not drawn, since their eviction could not end.
    """

    def __init__(self, context: Context, eviction: Eviction) -> None:
        self._context = context
        self._eviction = eviction
        self._random = Random(context.parameters.seed)
        self._contests: Contests[Candidate] = Contests(context.parameters.max_contests)

    def __contains__(self, key: bytes) -> bool:
        return key in self._contests

    @property
    def full(self) -> bool:
        """Whether no further contest may begin now."""
        return self._contests.full

    def clear(self) -> None:
        """Drop all contests."""
        self._contests.clear()

    def contend(self, candidate: Candidate) -> bool:
        """Draw entries and request their counts from the switch; False if impossible now."""
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
            context.pending.send(
                Op.COUNT,
                entry.key,
                partial(self._counted, contest, entry.generation),
                to=context.last.to,
                stamp=Stamp(generation=entry.generation),
                slot=Slot(entry.entry),
                tries=COUNT_TRIES,
            )
        return True

    def _counted(
        self, contest: Contest[Candidate], generation: int, _now: Nanoseconds, reply: Message | None
    ) -> Iterator[Action]:
        """A count has arrived; after the last one, evict the coldest entry or drop the key."""
        count = None
        if reply is not None and reply.status is Status.OK and reply.slot is not None:
            count = reply.slot.number
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
