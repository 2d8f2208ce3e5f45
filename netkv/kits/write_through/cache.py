"""The cache of one switch: which keys it has, and which it gets next."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from netkv.control.base import Action, Nanoseconds
from netkv.control.cache_parameters import CacheParameters
from netkv.control.message_numbers import MessageNumbers
from netkv.control.pending_requests import PendingRequests, To
from netkv.control.slots import MAX_ROWS
from netkv.control.table_writes import TableWrites
from netkv.kits.write_through.cache_records import Records
from netkv.kits.write_through.digests import HotKey
from netkv.kits.write_through.entries import Candidate, Record, State
from netkv.kits.write_through.lifecycle import Lifecycle
from netkv.kits.write_through.options import WriteThroughOptions
from netkv.kits.write_through.popularity import Popularity
from netkv.model.messages import Message


class Cache:
    """Cache management (Jin et al., SOSP 2017, slides "Cache Update" and "Query
    Statistics").

    Rules, in addition to those of `Lifecycle` and `Popularity`
    -----
    1. The numbers of keys in flight and of waiting keys are limited. A hot key that is dropped
       because of a limit is reported again.
    2. After a restart of the switch every entry is installed again under a new generation.
    3. A key that an oracle reports is reported only once: it waits without limit, also for a
       contest.
    """

    def __init__(
        self,
        options: WriteThroughOptions,
        parameters: CacheParameters,
        pending: PendingRequests,
        writes: TableWrites,
        numbers: MessageNumbers,
        counts: Counter[str],
        *,
        owner: Callable[[bytes], To],
        switch: To,
    ) -> None:
        """`pending`, `numbers`, `counts`: possibly shared with other caches. `writes`: to this
        switch. `owner`: the server of a key, and `switch`: this one, as receivers of messages."""
        self._parameters = parameters
        self._hot_threshold = options.hot_threshold
        self._counts = counts
        self._writes = writes
        self.records = Records(options.cache_entries, options.cache_rows or MAX_ROWS)
        self._waiting: OrderedDict[bytes, Candidate] = OrderedDict()
        self._unsettled: set[bytes] = set()  # keys of preloads and restarts, not yet settled
        self._reported: OrderedDict[bytes, None] = OrderedDict()  # by an oracle
        self._lifecycle = Lifecycle(
            self.records, pending, writes, numbers, owner=owner, decisions=self, counts=counts
        )
        self._popularity = Popularity(
            options, parameters, self.records, pending, self._lifecycle, counts, switch=switch
        )

    # -------------------------------------------------------------------------- queries

    @property
    def settled_all(self) -> bool:
        """Whether every preloaded key, and every key from before a restart, is cached or given
        up."""
        return not self._unsettled

    @property
    def epoch(self) -> int:
        """The statistics epoch."""
        return self._popularity.epochs.current

    @property
    def epoch_ends(self) -> Nanoseconds | None:
        """When the statistics epoch ends; None while the switch has none."""
        return self._popularity.epochs.ends

    def gauges(self) -> dict[str, int]:
        """The state of the cache."""
        return {
            "cached": self.records.cached,
            "in_flight": self.records.in_flight,
            "waiting": len(self._waiting) + len(self._reported),
            "free_entries": self.records.free_entries,
            "free_cells": self.records.slots.free_cells,
        }

    def cached_keys(self) -> list[bytes]:
        """The keys whose entries are installed, the oldest first."""
        return self.records.cached_keys()

    # -------------------------------------------------------------------------- events

    def restarted(self) -> list[Record]:
        """The switch is empty: all keys that had an entry are to be admitted again (rule 2).
        Returns their records."""
        lost = list(self.records)
        for part in (self._writes, self.records, self._lifecycle, self._popularity):
            part.clear()
        preloads = [candidate for candidate in self._waiting.values() if candidate.count is None]
        self._waiting.clear()
        self._reported.clear()
        for candidate in (*(Candidate(record.key) for record in lost), *preloads):
            self._waiting[candidate.key] = candidate
        self._unsettled.update(record.key for record in lost)
        return lost

    def begin_epoch(self, now: Nanoseconds) -> None:
        """Begin a statistics epoch."""
        self._popularity.begin_epoch(now)

    def preload(self, key: bytes) -> None:
        """Cache a key, if there is room."""
        if key not in self.records and key not in self._unsettled:
            self._unsettled.add(key)
            self._waiting[key] = Candidate(key)

    def report(self, report: HotKey) -> None:
        """Queue a hot key for admission."""
        key = report.key
        if self._is_known(key):
            return
        if len(self._waiting) >= self._parameters.max_waiting:
            self._counts["hot_keys_dropped"] += 1
        else:
            self._waiting[key] = Candidate(key, report.count, report.epoch)

    def report_known(self, key: bytes) -> None:
        """Queue a hot key that an oracle knows (rule 3)."""
        if not self._is_known(key):
            self._reported[key] = None

    def _is_known(self, key: bytes) -> bool:
        """Whether the key has an entry, waits for one or contends for one."""
        queued = key in self._waiting or key in self._reported
        return queued or key in self.records or key in self._popularity

    def on_outgrown(self, message: Message) -> Iterator[Action]:
        """A value no longer fits its entry, or the key was deleted."""
        yield from self._lifecycle.on_outgrown(message)

    def install_again(self, record: Record) -> None:
        """Let the server of a cached key fill its entry again."""
        self._lifecycle.install_again(record)

    def abandon(self, records: Iterable[Record]) -> None:
        """These records are gone with their switch: notify their servers."""
        for record in records:
            self._lifecycle.notify_evicted(record, insist=True)

    # ----------------------------------------------------------------------- admission

    def admit_waiting(self) -> None:
        """Begin with waiting keys, as many as may be in flight; with none while entries move."""
        waiting, records, most = self._waiting, self.records, self._parameters.max_in_flight
        while waiting and records.in_flight < most and not self._lifecycle.moving:
            _, candidate = waiting.popitem(last=False)
            self._admit(candidate)
        while self._reported and records.in_flight < most and not self._lifecycle.moving:
            if not records.free_entries and self._popularity.full:
                break
            key, _ = self._reported.popitem(last=False)
            self._admit(Candidate(key, self._hot_threshold, self.epoch))

    def _admit(self, candidate: Candidate) -> None:
        if candidate.key in self.records:
            return
        if candidate.chunks == 0 and self.records.free_entries:
            self._lifecycle.admit(candidate)
        else:
            self._contend(candidate)

    def _contend(self, candidate: Candidate) -> None:
        """The cache is full: let the candidate contend with cached keys, if it may evict one."""
        if candidate.count is None:
            self.settled(candidate, "without_room")
        elif not self._popularity.contend(candidate):
            self.settled(candidate, "hot_keys_dropped")

    def make_room(self, candidate: Candidate) -> Iterator[Action]:
        """No row has room for the candidate: move entries; if that does not help, evict one."""
        movers = () if candidate.moved else self.records.slots.plan_move(candidate.chunks)
        records = [self.records.get(generation) for generation in movers]
        if records and all(record and record.state is State.CACHED for record in records):
            for record in records:
                if record is not None:
                    yield from self._lifecycle.move(record)
            self.put_first(replace(candidate, chunks=0, moved=True))
        else:
            self._contend(candidate)

    def settled(self, candidate: Candidate, reason: str) -> None:
        """The candidate is cached or given up; `reason` is the counter of that outcome."""
        self._counts[reason] += 1
        self._unsettled.discard(candidate.key)

    def put_first(self, candidate: Candidate) -> None:
        """Try the candidate before all others."""
        self._waiting[candidate.key] = candidate
        self._waiting.move_to_end(candidate.key, last=False)
