"""Admission of a key to the cache (docs/farreach.md, "Admission"; the paper's III-B)."""

# Callbacks have the parameters of their type, whether they use them or not.
# ruff: noqa: ARG001, ARG002, ARG005

from collections.abc import Callable, Iterator
from typing import Protocol

from netkv.control.base import Action, DeleteEntry, InsertEntry, Nanoseconds, Note
from netkv.control.messages import MAX_CACHED_BYTES, Bit, Message, Op, Slot, Stamp, Status
from netkv.schemes.farreach.context import Context
from netkv.schemes.farreach.entries import Candidate, Entry, State
from netkv.schemes.farreach.record import Record, record_of
from netkv.schemes.farreach.validity import Validity

LOOKUP = "NetkvIngress.lookup.cache"


class Decisions(Protocol):
    """Decisions about candidates that `Admission` leaves to the queue."""

    def settled(self, candidate: Candidate, reason: str) -> None:
        """The candidate is cached or given up; `reason` is the counter of that outcome."""


class Admission:
    """Admissions that are under way.

    Rules
    -----
    1. FILL → lookup entry into all ingress pipelines → VALIDATE. The entry becomes valid only when
       every ingress pipeline has its lookup entry.
    2. The switch answers no request with the record of FILL: the entry is outdated until a write or
       the reply to a read updates it. So the record may be old, and writes need not wait.
    3. Every filling of an entry has a new generation.
    4. If the controller crashes between two steps, the entry has no lookup entry, or the server has
       its record. The next controller empties the switch.
    """

    def __init__(self, context: Context, validity: Validity, decisions: Decisions) -> None:
        self._context = context
        self._validity = validity
        self._decisions = decisions

    def begin(self, candidate: Candidate) -> None:
        """Begin to admit the key, in a free entry; there must be one."""
        context = self._context
        index = context.index
        entry = Entry(candidate.key, context.generation(), index.take_entry(), candidate)
        index.enter(entry)
        if candidate.record is not None:
            self._fill(entry, candidate.record)
            return

        def fetched(now: Nanoseconds, reply: Message | None) -> Iterator[Action]:
            return self._fetched(entry, reply)

        context.pending.send(Op.FETCH, entry.key, fetched, to=context.owner(entry.key))

    def _fetched(self, entry: Entry, reply: Message | None) -> Iterator[Action]:
        """The owner has returned the record, or there is none that can be cached."""
        record = record_of(reply) if reply is not None and reply.status is Status.OK else None
        if record is not None:
            self._context.observe_incarnation(record.incarnation)
        if record is None or len(record.value) > MAX_CACHED_BYTES:
            self._give_up(entry, "not_fetched")
        else:
            self._fill(entry, record)
        return iter(())

    def _fill(self, entry: Entry, record: Record) -> None:
        entry.state = State.FILLING

        def filled(now: Nanoseconds, reply: Message | None) -> Iterator[Action]:
            assert reply is not None, "FILL is repeated until it is answered"
            return self._filled(entry, reply)

        bits = Bit(record.bits & Bit.DELETED)
        self._context.pending.send(
            Op.FILL,
            entry.key,
            filled,
            stamp=Stamp(record.incarnation, record.number, entry.generation, bits),
            slot=Slot(entry.entry),
            value=record.value,
            insist=True,
        )

    def _filled(self, entry: Entry, reply: Message) -> Iterator[Action]:
        """The entry has the record but is invalid: write its lookup entry."""
        if reply.status is not Status.OK:
            # The entry has a later generation, which should be impossible: never use it again.
            self._context.index.leave(entry, entry=False)
            self._decisions.settled(entry.candidate, "entries_set_aside")
            yield Note("entry set aside", {"entry": entry.entry})
            return
        entry.state = State.INSERTING

        def inserted(now: Nanoseconds, ok: bool) -> Iterator[Action]:
            return self._inserted(entry, ok)

        write = InsertEntry(
            write=self._context.writes.next(),
            table=LOOKUP,
            match={"key": int.from_bytes(entry.key)},
            action="NetkvIngress.lookup.cached",
            params={"entry": entry.entry, "generation": entry.generation},
        )
        yield self._context.writes.give(write, inserted)

    def _inserted(self, entry: Entry, ok: bool) -> Iterator[Action]:
        """All ingress pipelines have the lookup entry, or the write was refused."""
        if not ok:
            self._give_up(entry, "not_inserted")
        else:
            entry.state = State.VALIDATING
            self._validity.change(Op.VALIDATE, entry, self._validated)
        return iter(())

    def _validated(self, now: Nanoseconds, entry: Entry, reply: Message) -> Iterator[Action]:
        """VALIDATE is answered: the entry is valid, or it is removed."""
        if reply.status is not Status.OK:
            self._decisions.settled(entry.candidate, "not_validated")
            yield from remove(self._context, entry, lambda ok: iter(()))
            return
        entry.state = State.CACHED
        self._context.index.mark_cached(entry.generation, cached=True)
        self._decisions.settled(entry.candidate, "insertions")

    def _give_up(self, entry: Entry, reason: str) -> None:
        """Give up the admission. The entry has no lookup entry, so it is free at once."""
        self._context.index.leave(entry, entry=True)
        self._decisions.settled(entry.candidate, reason)


def remove(
    context: Context, entry: Entry, then: Callable[[bool], Iterator[Action]]
) -> Iterator[Action]:
    """Delete the lookup entry in all ingress pipelines; then the entry is free."""
    entry.state = State.DELETING

    def deleted(now: Nanoseconds, ok: bool) -> Iterator[Action]:
        # If the deletion was refused, packets still find the entry: its number stays in use.
        context.index.leave(entry, entry=ok)
        if not ok:
            context.counts["entries_set_aside"] += 1
        yield from then(ok)

    write = DeleteEntry(
        write=context.writes.next(), table=LOOKUP, match={"key": int.from_bytes(entry.key)}
    )
    yield context.writes.give(write, deleted)
