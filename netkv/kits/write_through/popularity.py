"""Read statistics of a write-through cache: epochs, and contests of hot and cached keys."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from random import Random

from netkv.control.base import Action, Nanoseconds
from netkv.control.cache_parameters import CacheParameters
from netkv.control.epochs import Epochs
from netkv.control.eviction_policy import Contest, Contests
from netkv.control.pending_requests import PendingRequest, PendingRequests, To, no_action
from netkv.kits.write_through.cache_records import Records
from netkv.kits.write_through.entries import Candidate
from netkv.kits.write_through.lifecycle import Lifecycle
from netkv.kits.write_through.options import WriteThroughOptions
from netkv.model.messages import CacheMetadata, Message, Op, Status
from netkv.model.topology import KEY_BYTES

STATS_TRIES = 3  # transmissions of STATS; an entry without an answer is not evicted


class Popularity:
    """Statistics epochs, and contests for an entry.

    Rules
    -----
    1. A hot key evicts the coldest of a few randomly drawn entries, if that was read less often in
       the same epoch.
    2. Counts of different epochs are not compared. The switch will report the key again.
    """

    def __init__(
        self,
        options: WriteThroughOptions,
        parameters: CacheParameters,
        records: Records,
        pending: PendingRequests,
        lifecycle: Lifecycle,
        counts: Counter[str],
        *,
        switch: To,
    ) -> None:
        """`switch`: the one with the entries, as the receiver of messages."""
        self._switch = switch
        self._records = records
        self._pending = pending
        self._lifecycle = lifecycle
        self._counts = counts
        self._random = Random(parameters.seed)
        self._drawn = parameters.drawn
        self._contests: Contests[Candidate] = Contests(parameters.max_contests)
        self._epoch_request: PendingRequest | None = None
        self.epochs = Epochs(options.epoch_ns)

    def __contains__(self, key: bytes) -> bool:
        """Whether the key contends for an entry."""
        return key in self._contests

    @property
    def full(self) -> bool:
        """Whether no further contest may begin now."""
        return self._contests.full

    def clear(self) -> None:
        """The switch has lost its state: drop all contests and end the epoch."""
        self._contests.clear()
        self.epochs.pause()

    def begin_epoch(self, now: Nanoseconds) -> None:
        """Begin a new epoch: the counts of the switch are 0 again."""
        self._pending.cancel(self._epoch_request)
        metadata = CacheMetadata(0, self.epochs.begin(now))
        self._epoch_request = self._pending.send(
            Op.EPOCH, bytes(KEY_BYTES), no_action, to=self._switch, cache_metadata=metadata
        )

    def contend(self, candidate: Candidate) -> bool:
        """Draw entries and request their read counts from the switch (rule 1).

        Returns False without a request if the candidate is of another epoch, if too many contests
        are under way, or if no entry could be drawn.
        """
        if candidate.epoch != self.epochs.current or self._contests.full:
            return False
        drawn = self._records.draw(self._random, self._drawn, candidate.chunks)
        if not drawn:
            return False
        contest = self._contests.open(candidate, (each.generation for each in drawn))
        for each in drawn:
            counted = partial(self._counted, contest, each.generation)
            self._pending.send(Op.STATS, each.key, counted, to=self._switch, tries=STATS_TRIES)
        return True

    def _counted(
        self, contest: Contest[Candidate], generation: int, _now: Nanoseconds, reply: Message | None
    ) -> Iterator[Action]:
        """A count has arrived; after the last one, evict the coldest entry or drop the key."""
        metadata = reply.cache_metadata if reply is not None and reply.status is Status.OK else None
        # The key may have been evicted and inserted again: then the entry was not drawn.
        count = (
            metadata.version if metadata is not None and metadata.generation == generation else None
        )
        if not self._contests.counted(contest, generation, count):
            return
        candidate = contest.candidate
        loser = contest.loser(self._records.is_cached)
        record = None if loser is None else self._records.get(loser)
        if record is None or candidate.epoch != self.epochs.current:
            self._counts["contests_lost"] += 1
            return
        self._counts["contests_won"] += 1
        yield from self._lifecycle.evict(record, replace(candidate, chunks=0))
