"""Insertion, move and eviction of an entry of a write-through cache."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Protocol

from netkv.control.base import Action, Continued, DeleteEntry, InsertEntry, Nanoseconds
from netkv.control.message_numbers import MessageNumbers, is_newer, wire
from netkv.control.pending_requests import PendingRequests, Then, To, no_action
from netkv.control.table_writes import TableWrites
from netkv.kits.write_through.cache_records import Records
from netkv.kits.write_through.entries import Candidate, Record, State
from netkv.model.messages import CHUNK_BYTES, MAX_CACHED_BYTES, CacheMetadata, Message, Op, Status

LOOKUP = "NetkvIngress.lookup.cache"
TRIES = 12  # transmissions of a request to a server, over some seconds


class Decisions(Protocol):
    """Decisions about candidates that `Lifecycle` leaves to the control plane."""

    def settled(self, candidate: Candidate, reason: str) -> None:
        """The candidate is cached or given up; `reason` is the counter of that outcome."""

    def put_first(self, candidate: Candidate) -> None:
        """Queue the candidate before all others."""

    def make_room(self, candidate: Candidate) -> Iterator[Action]:
        """No row has room for the candidate."""


class Lifecycle:
    """Insertions and evictions that are under way.

    Rules
    -----
    1. Insertion: ADMIT → lookup entry → INSTALL. The lookup entry exists before the server fills
       the entry. So a write is either blocked at the server, or it passes the switch after the
       lookup entry exists, and the switch sees it.
    2. Eviction: the lookup entry is deleted first; entry number and slot are free when the switch
       has confirmed that. Then the server gets EVICTED. EVICTED may be lost: the server detects the
       eviction by itself.
    3. Every insertion has a new generation. Messages with another generation have no effect.
    4. If the controller crashes between two steps, a server blocks writes to the key until its
       lease ends, at most. The next controller's program load removes all other traces.
    """

    def __init__(
        self,
        records: Records,
        pending: PendingRequests,
        writes: TableWrites,
        numbers: MessageNumbers,
        *,
        owner: Callable[[bytes], To],
        decisions: Decisions,
        counts: Counter[str],
    ) -> None:
        """`owner` returns the server that owns a key, as the receiver of messages."""
        self._records = records
        self._pending = pending
        self._writes = writes
        self._numbers = numbers
        self._owner = owner
        self._decisions = decisions
        self._counts = counts
        self._moving: set[int] = set()  # generations under which moved keys are inserted again

    @property
    def moving(self) -> bool:
        """Whether values are being moved to other rows."""
        return bool(self._moving)

    def clear(self) -> None:
        """The switch has restarted: nothing is under way."""
        self._moving.clear()

    # ----------------------------------------------------------------------- insertion

    def admit(self, candidate: Candidate) -> None:
        """Send ADMIT: the owner blocks writes to the key and returns its length."""
        self._admit(self._records.add(candidate, self._next_generation()))

    def _admit(self, record: Record) -> None:
        self._send(record, Op.ADMIT, partial(self._admitted, record))

    def _admitted(
        self, record: Record, _now: Nanoseconds, reply: Message | None
    ) -> Iterable[Action]:
        """The owner blocks writes: find a slot and write the lookup entry."""
        candidate = record.candidate
        if reply is None or reply.status is not Status.OK or reply.length > MAX_CACHED_BYTES:
            self._forget(record)
            later = reply.cache_metadata if reply and reply.status is Status.REJECTED else None
            if later is not None and is_newer(later.generation, record.generation):
                # The server has seen a later generation: continue above it.
                self._numbers.go_above(later.generation)
                self._decisions.put_first(candidate)
            else:
                self._decisions.settled(candidate, "not_admitted")
            return ()
        slots = self._records.slots
        chunks = max(1, -(-reply.length // CHUNK_BYTES))
        if record.slot is not None and record.slot.chunks < chunks:
            slots.release(record.generation)
            record.slot = None
        if record.slot is None:
            record.slot = slots.allocate(record.generation, chunks)
        if record.slot is None:
            self._forget(record)
            return self._decisions.make_room(replace(candidate, chunks=chunks))
        self._records.set_state(record, State.INSERTING)
        write = InsertEntry(
            write=self._writes.next(),
            table=LOOKUP,
            match={"key": int.from_bytes(record.key)},
            action="NetkvIngress.lookup.cached",
            params={
                "entry": record.entry,
                "index": record.slot.row,
                "bitmap": record.slot.bitmap,
                "generation": record.generation,
            },
            switch=self._writes.switch,
        )
        return Continued((self._writes.give(write, partial(self._inserted, record)),))

    def _inserted(self, record: Record, _now: Nanoseconds, ok: bool) -> Iterable[Action]:
        """The lookup entry is written, or refused: let the server fill the entry, or give up."""
        if ok:
            self._records.set_state(record, State.INSTALLING)
            self._send(record, Op.INSTALL, partial(self._installed, record))
            return Continued()
        self._counts["lookup_writes_refused"] += 1
        self._decisions.settled(record.candidate, "not_inserted")
        self._forget(record)
        return ()

    def _installed(
        self, record: Record, _now: Nanoseconds, reply: Message | None
    ) -> Iterable[Action]:
        """The entry is valid, or the server cannot fill it."""
        record.request = None
        if reply is None or reply.status is not Status.OK:
            self._decisions.settled(record.candidate, "not_installed")
            return self.evict(record)
        self._records.set_state(record, State.CACHED)
        self._moving.discard(record.generation)
        self._decisions.settled(record.candidate, "insertions")
        return ()

    def install_again(self, record: Record) -> None:
        """The server of an installed key has lost what it knew of the entry: let it fill the entry
        again. An INSTALL under way is replaced: its answer may be from before the loss."""
        was_cached = record.state is State.CACHED
        self._pending.cancel(record.request)
        self._records.set_state(record, State.INSTALLING)
        then = self._installed_again if was_cached else self._installed
        self._send(record, Op.INSTALL, partial(then, record))

    def _installed_again(
        self, record: Record, now: Nanoseconds, reply: Message | None
    ) -> Iterator[Action]:
        if reply is None or reply.status is not Status.OK:
            yield from self._installed(record, now, reply)
        else:
            self._records.set_state(record, State.CACHED)

    # ------------------------------------------------------------------------ eviction

    def evict(self, record: Record, successor: Candidate | None = None) -> Iterator[Action]:
        """Delete the lookup entry; `_deleted` goes on when the switch has confirmed that."""
        self._pending.cancel(record.request)
        self._records.set_state(record, State.DELETING)
        record.successor = successor
        write = DeleteEntry(
            write=self._writes.next(),
            table=LOOKUP,
            match={"key": int.from_bytes(record.key)},
            switch=self._writes.switch,
        )
        yield self._writes.give(write, partial(self._deleted, record))

    def move(self, record: Record) -> Iterator[Action]:
        """Evict the key from its row and insert it in another, under a new generation."""
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
        if record is None or (
            message.cache_metadata and message.cache_metadata.generation != record.generation
        ):
            return
        if record.state in (State.CACHED, State.INSTALLING):
            self._decisions.settled(record.candidate, "outgrown")
            yield from self.evict(record)

    def _deleted(self, record: Record, _now: Nanoseconds, ok: bool) -> Iterable[Action]:
        """The lookup entry is deleted: entry number and slot are free (rule 2)."""
        if record.moves_to and ok:
            self._records.remove(record, entry=False, cells=True)
            self._admit(self._records.add(Candidate(record.key), record.moves_to, record.entry))
            return ()
        if not ok:
            self._counts["lookup_writes_refused"] += 1
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
        return ()

    def _forget(self, record: Record) -> None:
        """The switch has no entry of the record: free its number and cells; notify the server."""
        self._records.remove(record, entry=True, cells=True)
        self._moving.discard(record.generation)
        self.notify_evicted(record)

    def notify_evicted(self, record: Record, *, insist: bool = False) -> None:
        """Tell the server of a key that its entry is gone. `insist`: until it answers."""
        self._pending.send(
            Op.EVICTED,
            record.key,
            no_action,
            to=self._owner(record.key),
            cache_metadata=CacheMetadata(record.generation),
            insist=insist,
        )

    # ------------------------------------------------------------------------- helpers

    def _send(self, record: Record, op: Op, then: Then) -> None:
        metadata = CacheMetadata(record.generation, 0, record.slot.bitmap if record.slot else 0)
        to = self._owner(record.key)
        record.request = self._pending.send(op, record.key, then, to=to, cache_metadata=metadata)

    def _next_generation(self) -> int:
        # A generation is a message number. The ADMIT that carries it has a later number, so the
        # clock has reached the generation before any server gets it.
        return wire(self._numbers.take())
