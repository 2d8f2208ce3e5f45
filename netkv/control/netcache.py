"""NetCache: which keys the switch caches, and how an entry comes in and goes out.

The data plane keeps values fresh by itself (p4/netcache.p4, the server shim, docs/wire-format.md);
this is the slow path beside it: admission of hot keys, eviction, slots, statistics epochs.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from heapq import heappop, heappush
from random import Random
from typing import ClassVar

from netkv.control.base import (
    Action,
    DeleteEntry,
    HotKey,
    InsertEntry,
    Nanoseconds,
    Note,
    PacketIn,
    SendFrame,
    SetDefault,
    TableWrite,
    TableWritten,
)
from netkv.control.contest import Candidate, Contests
from netkv.control.entries import NetCacheOptions, Record, State
from netkv.control.messages import (
    CHUNK_BYTES,
    CONTROLLER_SENDER,
    MAX_CACHED_BYTES,
    MalformedFrameError,
    Mark,
    Message,
    Op,
    Status,
    decode,
    encode,
)
from netkv.control.nocache import NoCache
from netkv.control.outstanding import Outstanding
from netkv.control.slots import Slots
from netkv.control.topology import KEY_BYTES, Topology

LOOKUP = "NetkvIngress.lookup.cache"
SAMPLING = "NetkvIngress.sampling.settings"
TRIES = 8  # of a message to a server: some 3 seconds
LAST_EPOCH = 0xFFFF


class NetCache(NoCache):
    """Cache management (NetCache, slides "Cache Update" and "Query Statistics").

    Rules
    -----
    1. In: ADMIT → lookup entry → INSTALL. The entry is in the table before the server fills it, so
       a write either finds the server blocking or passes the switch and is seen.
    2. Out: the lookup entry is deleted first; entry number and slot are free when the switch has
       confirmed that. Then the server is told (EVICTED), which may fail: it finds out by itself.
    3. Every insertion has a generation never given before; messages of another one change nothing.
    4. A hot key evicts the coldest of a few drawn entries, if that was read less in the same epoch.
       Counts of different epochs are not compared: the key will be reported again.
    5. What is in flight or waits is bounded. A key that is dropped for that is reported again too.
    6. After a restart of the switch every entry is installed again under a new generation.
    """

    name: ClassVar[str] = "netcache"
    digests: ClassVar[tuple[str, ...]] = ("hot_key_t",)

    def __init__(self, topology: Topology, options: NetCacheOptions | None = None) -> None:
        """`topology`: the hosts at the switch; `options`: see there."""
        super().__init__(topology)
        self.options = options or NetCacheOptions()
        self._generation = self.options.first_generation - 1
        self._epoch = 0
        self._epoch_ends: Nanoseconds | None = None
        self._epoch_request = 0
        self._outstanding = Outstanding()
        self._slots: Slots[int] = Slots(self.options.rows)
        self._free_entries = list(range(self.options.capacity))
        self._records: dict[int, Record] = {}
        self._by_key: dict[bytes, Record] = {}
        self._busy: set[int] = set()  # generations that are not CACHED
        self._moving: set[int] = set()  # generations under which moved keys come in again
        self._by_write: dict[int, Record] = {}
        self._waiting: OrderedDict[bytes, Candidate] = OrderedDict()
        self._wanted: set[bytes] = set()  # preloaded or to be restored, not settled yet
        self._contests = Contests(
            self._outstanding,
            Random(self.options.seed),
            drawn=self.options.drawn,
            limit=self.options.max_contests,
        )
        self._counts: Counter[str] = Counter()

    # ------------------------------------------------------------------ what users see

    def tables(self) -> Iterator[TableWrite]:
        """Partition, routes and the sampling of reads."""
        yield from super().tables()
        yield SetDefault(
            write=self._next_write(),
            table=SAMPLING,
            action="NetkvIngress.sampling.configure",
            params={
                "sample_below": round(self.options.sample_rate * 65_536),
                "hot_threshold": self.options.hot_threshold,
            },
        )

    def ready(self) -> bool:
        """True once the tables are in and every preloaded key is cached or given up."""
        return self.tables_in() and not self._wanted

    def deadline(self) -> Nanoseconds | None:
        """When a message is to be repeated or the epoch ends."""
        times = (self._outstanding.deadline(), self._epoch_ends)
        return min((time for time in times if time is not None), default=None)

    def statistics(self) -> dict[str, int]:
        """Gauges of the cache, and counters of what has happened to it since the start."""
        return {
            **super().statistics(),
            **self._counts,
            "cached": len(self._records) - len(self._busy),
            "in_flight": len(self._busy),
            "waiting": len(self._waiting),
            "free_entries": len(self._free_entries),
            "free_cells": self._slots.free_cells,
            "messages_repeated": self._outstanding.retries,
            "epoch": self._epoch,
        }

    def cached_keys(self) -> list[bytes]:
        """The keys whose entries are installed, the oldest first."""
        return [r.key for r in self._records.values() if r.state is State.CACHED]

    # -------------------------------------------------------------------------- events

    def on_switch_restarted(self, now: Nanoseconds) -> Iterator[Action]:
        """Fill the tables again, then install what was cached and what was on its way (rule 6)."""
        lost = [Candidate(record.key) for record in self._records.values()]
        self._outstanding.clear()
        self._slots.clear()
        self._free_entries = list(range(self.options.capacity))
        for forgotten in (self._records, self._by_key, self._by_write, self._busy, self._moving):
            forgotten.clear()
        self._contests.clear()
        asked_for = [candidate for candidate in self._waiting.values() if candidate.count is None]
        self._waiting.clear()
        for candidate in (*lost, *asked_for):
            self._waiting[candidate.key] = candidate
        self._wanted.update(candidate.key for candidate in lost)
        self._epoch_ends = None
        yield from super().on_switch_restarted(now)

    def on_table_written(self, now: Nanoseconds, written: TableWritten) -> Iterator[Action]:
        """An initial entry or one of the lookup table has been written."""
        was_ready = self.tables_in()
        yield from super().on_table_written(now, written)
        record = self._by_write.pop(written.write, None)
        if record is not None:
            if not written.ok:
                self._counts["lookup_writes_refused"] += 1
                yield Note("table write refused", {"table": LOOKUP, "error": written.error})
            if record.state is State.INSERTING:
                yield from self._inserted(now, record, written.ok)
            else:
                yield from self._deleted(now, record, written.ok)
        elif self.tables_in() and not was_ready:
            yield from self._begin_epoch(now)
        yield from self._pump(now)

    def on_preload(self, now: Nanoseconds, keys: tuple[bytes, ...]) -> Iterator[Action]:
        """Cache `keys` in this order, as far as there is room."""
        for key in keys:
            if len(key) != KEY_BYTES:
                raise ValueError(f"Cannot preload {key.hex()}: a key has {KEY_BYTES} bytes.")
            if key not in self._by_key and key not in self._wanted:
                self._wanted.add(key)
                self._waiting[key] = Candidate(key)
        yield from self._pump(now)

    def on_hot_key(self, now: Nanoseconds, report: HotKey) -> Iterator[Action]:
        """Admit a hot key, or let it contend for a place when the cache is full."""
        self._counts["hot_keys_reported"] += 1
        key = report.key
        if key in self._by_key or key in self._waiting or key in self._contests:
            return
        if len(self._waiting) >= self.options.max_waiting:
            self._counts["hot_keys_dropped"] += 1
            return
        self._waiting[key] = Candidate(key, report.count, report.epoch)
        yield from self._pump(now)

    def on_packet_in(self, now: Nanoseconds, packet: PacketIn) -> Iterator[Action]:
        """A reply to one of our messages, or a server that says a value no longer fits."""
        try:
            datagram = decode(packet.frame)
        except MalformedFrameError:
            self._counts["malformed_frames"] += 1
            return
        message = datagram.message
        if message.op is Op.OUTGROWN:
            yield SendFrame(encode(message.reply(mark=message.mark), destination=datagram.source))
            yield from self._on_outgrown(message)
            return
        request = None
        if message.sender == CONTROLLER_SENDER:
            request = self._outstanding.answered(message)
        if request is None:
            self._counts["stray_replies"] += 1
            return
        yield from self._on_answer(now, request, message)
        yield from self._pump(now)

    def on_timer(self, now: Nanoseconds) -> Iterator[Action]:
        """Repeat or give up messages; begin the next epoch."""
        for message, again in self._outstanding.expired(now):
            if again:
                yield SendFrame(encode(message))
            else:
                self._counts["messages_given_up"] += 1
                yield from self._on_answer(now, message, None)
        if self._epoch_ends is not None and now >= self._epoch_ends:
            yield from self._begin_epoch(now)
        yield from self._pump(now)

    def _on_answer(
        self, now: Nanoseconds, request: Message, reply: Message | None
    ) -> Iterator[Action]:
        """`request` has been answered, or given up (None)."""
        if request.op is Op.STATS:
            yield from self._on_stats(request.request, reply)
            return
        if request.mark is None or request.op not in (Op.ADMIT, Op.INSTALL):
            return  # nothing waits for EPOCH and EVICTED
        record = self._records.get(request.mark.generation)
        if record is None or record.request != request.request:
            return
        if request.op is Op.ADMIT:
            yield from self._admitted(now, record, reply)
        else:
            yield from self._installed(record, reply)

    # ------------------------------------------------------------------------------ in

    def _pump(self, now: Nanoseconds) -> Iterator[Action]:
        """Start on waiting keys, as many as may be in flight; none while others are moved."""
        while (
            self._waiting
            and self.tables_in()
            and not self._moving
            and len(self._busy) < self.options.max_in_flight
        ):
            _, candidate = self._waiting.popitem(last=False)
            if candidate.key in self._by_key:
                continue
            if candidate.chunks == 0 and self._free_entries:
                yield from self._admit(now, candidate, heappop(self._free_entries))
            elif candidate.count is not None:
                yield from self._contend(now, candidate)
            else:
                self._give_up(candidate, "without_room")

    def _admit(
        self, now: Nanoseconds, candidate: Candidate, entry: int, generation: int = 0
    ) -> Iterator[Action]:
        """Ask the owner to block writes to the key and to tell its length."""
        record = Record(candidate.key, generation or self._next_generation(), entry, candidate)
        record.slot = self._slots.slot(record.generation)
        self._records[record.generation] = record
        self._by_key[record.key] = record
        self._busy.add(record.generation)
        yield from self._ask(now, record, Op.ADMIT)

    def _admitted(
        self, now: Nanoseconds, record: Record, reply: Message | None
    ) -> Iterator[Action]:
        """The owner blocks writes: find a slot and write the lookup entry."""
        if reply is None or reply.status is not Status.OK or reply.length > MAX_CACHED_BYTES:
            yield from self._forget(now, record)
            later = reply.mark if reply and reply.status is Status.REJECTED else None
            if later is not None and later.generation > record.generation:
                # The server knows a generation of a controller before us: go on above it.
                self._generation = max(self._generation, later.generation)
                self._put_first(record.candidate)
            else:
                self._give_up(record.candidate, "not_admitted")
            return
        chunks = max(1, -(-reply.length // CHUNK_BYTES))
        if record.slot is not None and record.slot.chunks < chunks:
            self._slots.release(record.generation)
            record.slot = None
        if record.slot is None:
            record.slot = self._slots.allocate(record.generation, chunks)
        if record.slot is None:
            yield from self._forget(now, record)
            yield from self._make_room(now, replace(record.candidate, chunks=chunks))
            return
        record.state = State.INSERTING
        write = InsertEntry(
            write=self._next_write(),
            table=LOOKUP,
            match={"key": int.from_bytes(record.key)},
            action="NetkvIngress.lookup.cached",
            params={
                "entry": record.entry,
                "index": record.slot.row,
                "bitmap": record.slot.bitmap,
                "generation": record.generation,
            },
        )
        self._by_write[write.write] = record
        yield write

    def _inserted(self, now: Nanoseconds, record: Record, ok: bool) -> Iterator[Action]:
        """The lookup entry is in: the server may fill it."""
        if not ok:
            self._give_up(record.candidate, "not_inserted")
            yield from self._forget(now, record)
            return
        record.state = State.INSTALLING
        yield from self._ask(now, record, Op.INSTALL)

    def _installed(self, record: Record, reply: Message | None) -> Iterator[Action]:
        """The entry is valid, or the server cannot fill it."""
        if reply is None or reply.status is not Status.OK:
            self._give_up(record.candidate, "not_installed")
            yield from self._evict(record)
            return
        record.state = State.CACHED
        self._busy.discard(record.generation)
        self._moving.discard(record.generation)
        self._wanted.discard(record.key)
        self._counts["insertions"] += 1

    def _make_room(self, now: Nanoseconds, candidate: Candidate) -> Iterator[Action]:
        """No row has room for the candidate: move entries, or else evict one."""
        movers = () if candidate.moved else self._slots.plan_move(candidate.chunks)
        records = [self._records.get(generation) for generation in movers]
        if records and all(record and record.state is State.CACHED for record in records):
            for record in records:
                if record is not None:
                    yield from self._move(record)
            self._put_first(replace(candidate, chunks=0, moved=True))
        elif candidate.count is not None:
            yield from self._contend(now, candidate)
        else:
            self._give_up(candidate, "without_room")

    # ----------------------------------------------------------------------------- out

    def _evict(self, record: Record, successor: Candidate | None = None) -> Iterator[Action]:
        """Delete the lookup entry; the rest follows when that is confirmed."""
        self._outstanding.cancel(record.request)
        record.state = State.DELETING
        record.successor = successor
        self._busy.add(record.generation)
        write = DeleteEntry(
            write=self._next_write(), table=LOOKUP, match={"key": int.from_bytes(record.key)}
        )
        self._by_write[write.write] = record
        yield write

    def _move(self, record: Record) -> Iterator[Action]:
        """Take the key out of its row and bring it in again in another, under a new generation."""
        assert record.slot is not None, "a cached record has a slot"
        generation = self._next_generation()
        if self._slots.allocate(generation, record.slot.chunks, not_in=record.slot.row) is None:
            return
        record.moves_to = generation
        self._moving.add(generation)
        self._counts["moves"] += 1
        yield from self._evict(record)

    def _deleted(self, now: Nanoseconds, record: Record, ok: bool) -> Iterator[Action]:
        """No packet finds the entry any more: its number and slot are free (rule 2)."""
        if record.moves_to and ok:
            self._remove(record)
            self._slots.release(record.generation)
            yield from self._admit(now, Candidate(record.key), record.entry, record.moves_to)
            return
        self._counts["evictions"] += 1
        successor = record.successor
        if ok:
            yield from self._forget(now, record)
        else:
            # The entry may still be there, so nobody else gets its number and cells.
            self._remove(record)
            self._slots.release(record.moves_to)
            self._moving.discard(record.moves_to)
        if successor and successor.key not in self._by_key and self._free_entries:
            yield from self._admit(now, successor, heappop(self._free_entries))

    def _forget(self, now: Nanoseconds, record: Record) -> Iterator[Action]:
        """The record is out of the switch: free what it had, tell the server."""
        self._remove(record)
        self._slots.release(record.generation)
        heappush(self._free_entries, record.entry)
        message = Message(Op.EVICTED, record.key, mark=Mark(record.generation))
        yield SendFrame(encode(self._outstanding.add(now, message, TRIES)))

    def _remove(self, record: Record) -> None:
        del self._records[record.generation]
        del self._by_key[record.key]
        self._busy.discard(record.generation)
        self._moving.discard(record.generation)

    def _on_outgrown(self, message: Message) -> Iterator[Action]:
        """A value no longer fits its entry, or the key was deleted."""
        record = self._by_key.get(message.key)
        if record is None or (message.mark and message.mark.generation != record.generation):
            return
        if record.state in (State.CACHED, State.INSTALLING):
            self._give_up(record.candidate, "outgrown")
            yield from self._evict(record)

    # ---------------------------------------------------------------------- statistics

    def _contend(self, now: Nanoseconds, candidate: Candidate) -> Iterator[Action]:
        """Draw entries and ask the switch how often they were read (rule 4)."""
        places = [
            (record.generation, record.key)
            for record in self._records.values()
            if record.state is State.CACHED
            and self._slots.room_without(record.generation) >= candidate.chunks
        ]
        drawn = self._contests.open(now, candidate, places) if self._is_current(candidate) else []
        if not drawn:
            self._give_up(candidate, "hot_keys_dropped")
        for message in drawn:
            yield SendFrame(encode(message))

    def _on_stats(self, request: int, reply: Message | None) -> Iterator[Action]:
        """A counter of a contest; with the last one the coldest entry goes, or the candidate."""
        contest = self._contests.answer(request, reply)
        if contest is None:
            return
        loser = contest.loser(self._is_cached)
        if loser is None or not self._is_current(contest.candidate):
            self._counts["contests_lost"] += 1
            return
        self._counts["contests_won"] += 1
        yield from self._evict(self._records[loser], replace(contest.candidate, chunks=0))

    def _is_current(self, candidate: Candidate) -> bool:
        return candidate.epoch == self._epoch

    def _is_cached(self, generation: int) -> bool:
        record = self._records.get(generation)
        return record is not None and record.state is State.CACHED

    def _begin_epoch(self, now: Nanoseconds) -> Iterator[Action]:
        """A new epoch: all counts of the switch are 0 again."""
        self._outstanding.cancel(self._epoch_request)
        self._epoch = self._epoch % LAST_EPOCH + 1
        self._epoch_ends = now + self.options.epoch
        message = Message(Op.EPOCH, bytes(KEY_BYTES), mark=Mark(0, self._epoch))
        message = self._outstanding.add(now, message, TRIES)
        self._epoch_request = message.request
        yield SendFrame(encode(message))

    # -------------------------------------------------------------------------- inside

    def _ask(self, now: Nanoseconds, record: Record, op: Op) -> Iterator[Action]:
        mark = Mark(record.generation, 0, record.slot.bitmap if record.slot else 0)
        message = self._outstanding.add(now, Message(op, record.key, mark=mark), TRIES)
        record.request = message.request
        yield SendFrame(encode(message))

    def _give_up(self, candidate: Candidate, reason: str) -> None:
        self._counts[reason] += 1
        self._wanted.discard(candidate.key)

    def _put_first(self, candidate: Candidate) -> None:
        self._waiting[candidate.key] = candidate
        self._waiting.move_to_end(candidate.key, last=False)

    def _next_generation(self) -> int:
        self._generation += 1
        if self._generation > 0xFFFF_FFFF:
            raise OverflowError("All 2^32 generations are given: start a new rack.")
        return self._generation
