"""How an entry of NetCache comes in, moves and goes out."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

from netkv.control.base import Action, DeleteEntry, InsertEntry, Note, TableWritten
from netkv.control.message_numbers import MessageNumbers, is_newer, wire
from netkv.control.messages import CHUNK_BYTES, MAX_CACHED_BYTES, Mark, Message, Op, Status
from netkv.control.outstanding import Outstanding
from netkv.schemes.netcache.cache_records import Records
from netkv.schemes.netcache.entries import Candidate, Record, State

LOOKUP = "NetkvIngress.lookup.cache"
TRIES = 12  # of a message to a server: some seconds


class Decisions(Protocol):
    """What is not decided here."""

    def settled(self, candidate: Candidate, reason: str) -> None:
        """The candidate is cached, or will not be for now; `reason` is a counter."""

    def put_first(self, candidate: Candidate) -> None:
        """The candidate is to be tried again before all others."""

    def make_room(self, candidate: Candidate) -> Iterator[Action]:
        """No row has room for the candidate."""


class Lifecycle:
    """Insertions and evictions that are under way.

    Rules
    -----
    1. In: ADMIT → lookup entry → INSTALL. The entry is in the table before the server fills it, so
       a write either finds the server blocking or passes the switch and is seen.
    2. Out: the lookup entry is deleted first; entry number and slot are free when the switch has
       confirmed that. Then the server gets EVICTED. It may be lost: the server notices by itself.
    3. Every insertion has a generation never given before; messages of another one change nothing.
    4. A controller that dies between any two steps leaves writes blocked at a server for its lease
       at most, and otherwise only what the next controller's program load wipes out.
    """

    def __init__(
        self,
        records: Records,
        outstanding: Outstanding,
        numbers: MessageNumbers,
        *,
        next_write: Callable[[], int],
        server_of: Callable[[bytes], int],
        decisions: Decisions,
        counts: Counter[str],
    ) -> None:
        """`server_of` returns the number of the server that owns a key."""
        self._records = records
        self._outstanding = outstanding
        self._numbers = numbers
        self._next_write = next_write
        self._server_of = server_of
        self._decisions = decisions
        self._counts = counts
        self._moving: set[int] = set()  # generations under which moved keys come in again
        self._by_write: dict[int, Record] = {}

    @property
    def moving(self) -> bool:
        """Whether values are being moved from row to row."""
        return bool(self._moving)

    def clear(self) -> None:
        """The switch has restarted: nothing is under way."""
        self._moving.clear()
        self._by_write.clear()

    def on_table_written(self, written: TableWritten) -> Iterator[Action]:
        """A table write; nothing happens if it is none of the lookup table."""
        record = self._by_write.pop(written.write, None)
        if record is None:
            return
        if not written.ok:
            self._counts["lookup_writes_refused"] += 1
            yield Note("table write refused", {"table": LOOKUP, "error": written.error})
        if record.state is State.INSERTING:
            self._inserted(record, written.ok)
        else:
            self._deleted(record, written.ok)

    def on_answer(self, request: Message, reply: Message | None) -> Iterator[Action]:
        """A message to a server has been answered, or given up (None)."""
        if request.op is Op.EVICTED or request.mark is None:
            return  # nothing waits for it
        record = self._records.get(request.mark.generation)
        if record is None or record.request != request.request:
            return
        if request.op is Op.ADMIT:
            yield from self._admitted(record, reply)
        else:
            yield from self._installed(record, reply)

    # ------------------------------------------------------------------------------ in

    def admit(self, candidate: Candidate) -> None:
        """Send ADMIT: the owner blocks writes to the key and returns its length."""
        self._ask(self._records.add(candidate, self._next_generation()), Op.ADMIT)

    def _admitted(self, record: Record, reply: Message | None) -> Iterator[Action]:
        """The owner blocks writes: find a slot and write the lookup entry."""
        candidate = record.candidate
        if reply is None or reply.status is not Status.OK or reply.length > MAX_CACHED_BYTES:
            self._forget(record)
            later = reply.mark if reply and reply.status is Status.REJECTED else None
            if later is not None and is_newer(later.generation, record.generation):
                # The server knows a generation that cannot be: go on above it.
                self._numbers.go_above(later.generation)
                self._decisions.put_first(candidate)
            else:
                self._decisions.settled(candidate, "not_admitted")
            return
        slots = self._records.slots
        chunks = max(1, -(-reply.length // CHUNK_BYTES))
        if record.slot is not None and record.slot.chunks < chunks:
            slots.release(record.generation)
            record.slot = None
        if record.slot is None:
            record.slot = slots.allocate(record.generation, chunks)
        if record.slot is None:
            self._forget(record)
            yield from self._decisions.make_room(replace(candidate, chunks=chunks))
            return
        self._records.set_state(record, State.INSERTING)
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

    def _inserted(self, record: Record, ok: bool) -> None:
        """The lookup entry is in: the server may fill it."""
        if not ok:
            self._decisions.settled(record.candidate, "not_inserted")
            self._forget(record)
            return
        self._records.set_state(record, State.INSTALLING)
        self._ask(record, Op.INSTALL)

    def _installed(self, record: Record, reply: Message | None) -> Iterator[Action]:
        """The entry is valid, or the server cannot fill it."""
        if reply is None or reply.status is not Status.OK:
            self._decisions.settled(record.candidate, "not_installed")
            yield from self.evict(record)
            return
        self._records.set_state(record, State.CACHED)
        self._moving.discard(record.generation)
        self._decisions.settled(record.candidate, "insertions")

    # ----------------------------------------------------------------------------- out

    def evict(self, record: Record, successor: Candidate | None = None) -> Iterator[Action]:
        """Delete the lookup entry; the rest follows when that is confirmed."""
        self._outstanding.cancel(record.request)
        self._records.set_state(record, State.DELETING)
        record.successor = successor
        write = DeleteEntry(
            write=self._next_write(), table=LOOKUP, match={"key": int.from_bytes(record.key)}
        )
        self._by_write[write.write] = record
        yield write

    def move(self, record: Record) -> Iterator[Action]:
        """Take the key out of its row and bring it in again in another, under a new generation."""
        assert record.slot is not None, "a cached record has a slot"
        generation = self._next_generation()
        slots = self._records.slots
        if slots.allocate(generation, record.slot.chunks, not_in=record.slot.row) is None:
            return
        record.moves_to = generation
        self._moving.add(generation)
        self._counts["moves"] += 1
        yield from self.evict(record)

    def on_outgrown(self, message: Message) -> Iterator[Action]:
        """A value no longer fits its entry, or the key was deleted."""
        record = self._records.of_key(message.key)
        if record is None or (message.mark and message.mark.generation != record.generation):
            return
        if record.state in (State.CACHED, State.INSTALLING):
            self._decisions.settled(record.candidate, "outgrown")
            yield from self.evict(record)

    def _deleted(self, record: Record, ok: bool) -> None:
        """No packet finds the entry any more: its number and slot are free (rule 2)."""
        if record.moves_to and ok:
            self._records.remove(record, entry=False, cells=True)
            again = self._records.add(Candidate(record.key), record.moves_to, record.entry)
            self._ask(again, Op.ADMIT)
            return
        self._counts["evictions"] += 1
        if ok:
            self._forget(record)
        else:
            # The entry may still be there, so no other key gets its number and cells.
            self._records.remove(record, entry=False, cells=False)
            self._records.slots.release(record.moves_to)
            self._moving.discard(record.moves_to)
        successor = record.successor
        if successor and successor.key not in self._records and self._records.free_entries:
            self.admit(successor)

    def _forget(self, record: Record) -> None:
        """The record is out of the switch: free its entry and cells, and notify the server."""
        self._records.remove(record, entry=True, cells=True)
        self._moving.discard(record.generation)
        self._send(Op.EVICTED, record.key, Mark(record.generation))

    # -------------------------------------------------------------------------- inside

    def _ask(self, record: Record, op: Op) -> None:
        mark = Mark(record.generation, 0, record.slot.bitmap if record.slot else 0)
        record.request = self._send(op, record.key, mark)

    def _send(self, op: Op, key: bytes, mark: Mark) -> int:
        return self._outstanding.add(op, key, mark, TRIES, self._server_of(key))

    def _next_generation(self) -> int:
        # A message number: the ADMIT that carries it has a later one, so the clock has reached the
        # generation before any server gets it.
        return wire(self._numbers.take())
