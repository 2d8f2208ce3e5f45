"""How a key comes into the cache (docs/farreach.md, "Admission"; the paper's III-B)."""

# What follows from an answer takes what there is to know, needed or not.
# ruff: noqa: ARG001, ARG002, ARG005

from collections.abc import Callable, Iterator
from typing import Protocol

from netkv.control.base import Action, DeleteEntry, InsertEntry, Nanoseconds, Note
from netkv.control.messages import MAX_CACHED_BYTES, Bit, Message, Op, Place, Stamp, Status
from netkv.schemes.farreach.context import Context
from netkv.schemes.farreach.entries import Candidate, Entry, State
from netkv.schemes.farreach.record import Record, record_of
from netkv.schemes.farreach.validity import Validity

LOOKUP = "NetkvIngress.lookup.cache"


class Decisions(Protocol):
    """What is not decided here."""

    def settled(self, candidate: Candidate, reason: str) -> None:
        """The candidate is cached, or will not be for now; `reason` is a counter."""


class Admission:
    """Entries on their way in.

    Rules
    -----
    1. FILL → lookup entry into all ingress pipelines → VALIDATE. The entry is valid only when every
       pipeline leads to it.
    2. Nobody is served what FILL carries: the entry is outdated until a write or a read comes by.
       So the record may be old, and writes go on meanwhile.
    3. Every filling has a generation never given before.
    4. A controller that dies between any two steps leaves an entry that nobody finds or whose
       record is the server's, and the next one empties the switch.
    """

    def __init__(self, context: Context, validity: Validity, decisions: Decisions) -> None:
        self._context = context
        self._validity = validity
        self._decisions = decisions

    def begin(self, candidate: Candidate) -> None:
        """Give the key a free entry; there must be one."""
        context = self._context
        index = context.index
        entry = Entry(candidate.key, context.generation(), index.take_entry(), candidate)
        index.enter(entry)
        if candidate.record is not None:
            self._fill(entry, candidate.record)
            return

        def fetched(now: Nanoseconds, reply: Message | None) -> Iterator[Action]:
            return self._fetched(entry, reply)

        context.pending.ask(Op.FETCH, entry.key, fetched, to=context.owner(entry.key))

    def _fetched(self, entry: Entry, reply: Message | None) -> Iterator[Action]:
        """The owner has told the record, or there is none to be cached."""
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
            assert reply is not None, "it is repeated until it is answered"
            return self._filled(entry, reply)

        bits = Bit(record.bits & Bit.DELETED)
        self._context.pending.ask(
            Op.FILL,
            entry.key,
            filled,
            stamp=Stamp(record.incarnation, record.number, entry.generation, bits),
            place=Place(entry.entry),
            value=record.value,
            insist=True,
        )

    def _filled(self, entry: Entry, reply: Message) -> Iterator[Action]:
        """The entry has the record, invalid: lead all ingress pipelines to it."""
        if reply.status is not Status.OK:
            # Its number was used under a later generation. That cannot be, so it is not touched.
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
        """All ingress pipelines know the entry."""
        if not ok:
            self._give_up(entry, "not_inserted")
        else:
            entry.state = State.VALIDATING
            self._validity.change(Op.VALIDATE, entry, self._validated)
        return iter(())

    def _validated(self, now: Nanoseconds, entry: Entry, reply: Message) -> Iterator[Action]:
        """The entry is valid."""
        if reply.status is not Status.OK:
            self._decisions.settled(entry.candidate, "not_validated")
            yield from remove(self._context, entry, lambda ok: iter(()))
            return
        entry.state = State.CACHED
        self._context.index.mark_cached(entry.generation, cached=True)
        self._decisions.settled(entry.candidate, "insertions")

    def _give_up(self, entry: Entry, reason: str) -> None:
        """Nobody was led to the entry: it is free at once."""
        self._context.index.leave(entry, entry=True)
        self._decisions.settled(entry.candidate, reason)


def remove(
    context: Context, entry: Entry, then: Callable[[bool], Iterator[Action]]
) -> Iterator[Action]:
    """Take the lookup entry out of all ingress pipelines; the entry is free when that is done."""
    entry.state = State.DELETING

    def deleted(now: Nanoseconds, ok: bool) -> Iterator[Action]:
        # If it is still found, nobody else may have its number.
        context.index.leave(entry, entry=ok)
        if not ok:
            context.counts["entries_set_aside"] += 1
        yield from then(ok)

    write = DeleteEntry(
        write=context.writes.next(), table=LOOKUP, match={"key": int.from_bytes(entry.key)}
    )
    yield context.writes.give(write, deleted)
