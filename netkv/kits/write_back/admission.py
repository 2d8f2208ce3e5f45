"""Admission of a key to a write-back cache (Sheng et al., ATC 2023, III-B and IV-C)."""

# Callbacks have the parameters of their type, whether they use them or not.
# ruff: noqa: ARG001, ARG005

from collections.abc import Iterable
from typing import Protocol

from netkv.control.base import Action, Continued, Nanoseconds, Note
from netkv.kits.write_back.context import Context
from netkv.kits.write_back.entries import Candidate, Entry, State
from netkv.kits.write_back.record import Record, record_of, size_of
from netkv.kits.write_back.removal import Removal
from netkv.kits.write_back.validity import Validity
from netkv.model.messages import MAX_CACHED_BYTES, NO_BITS, Bit, Message, Op, Slot, Stamp, Status


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
    2. With several switches, these three steps are done at one switch after the other, in their
       order. So the last one, which answers requests, has an entry only if all others have it.
    3. The switch answers no request with the record of FILL: the entry is outdated until a write or
       the reply to a read updates it. So the record may be old, and writes need not wait.
    4. Every filling of an entry has a new generation, the same in all switches.
    5. If the controller crashes between two steps, the server has the record of the entry. The next
       controller empties the switch or recovers its entries.
    """

    def __init__(
        self, context: Context, validity: Validity, removal: Removal, decisions: Decisions
    ) -> None:
        self._context = context
        self._validity = validity
        self._removal = removal
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

        def fetched(now: Nanoseconds, reply: Message | None) -> Iterable[Action]:
            return self._fetched(entry, reply)

        context.pending.send(Op.FETCH, entry.key, fetched, to=context.owner(entry.key))

    def _fetched(self, entry: Entry, reply: Message | None) -> Iterable[Action]:
        """The owner has returned the record, or there is none that can be cached."""
        record = record_of(reply) if reply is not None and reply.status is Status.OK else None
        later = record is not None and self._context.observe_incarnation(record.incarnation)
        if record is None or len(record.value) > MAX_CACHED_BYTES:
            return self._give_up(entry, "not_fetched", entry.switch - 1)
        self._context.counts["record_bytes"] += size_of(record)
        self._fill(entry, record)
        return () if later else Continued()

    def _fill(self, entry: Entry, record: Record) -> None:
        """Fill the entry of the switch whose turn it is."""
        entry.state = State.FILLING

        def filled(now: Nanoseconds, reply: Message | None) -> Iterable[Action]:
            assert reply is not None, "FILL is repeated until it is answered"
            return self._filled(entry, record, reply)

        bits = Bit.DELETED if record.deleted else NO_BITS
        self._context.pending.send(
            Op.FILL,
            entry.key,
            filled,
            to=self._context.switches[entry.switch].to,
            stamp=Stamp(record.incarnation, record.number, entry.generation, bits),
            slot=Slot(entry.entry),
            value=record.value,
            insist=True,
        )

    def _filled(self, entry: Entry, record: Record, reply: Message) -> Iterable[Action]:
        """The entry has the record but is invalid: write its lookup entry."""
        if reply.status is not Status.OK:
            # The entry has a later generation, which should be impossible: never use it again.
            note = Note("entry set aside", {"entry": entry.entry})
            reason, last = "entries_set_aside", entry.switch - 1
            return (note, *self._give_up(entry, reason, last, free=False))
        entry.state = State.INSERTING

        def inserted(now: Nanoseconds, ok: bool) -> Iterable[Action]:
            return self._inserted(entry, record, ok)

        return Continued((self._context.switches[entry.switch].insert(entry, inserted),))

    def _inserted(self, entry: Entry, record: Record, ok: bool) -> Iterable[Action]:
        """All ingress pipelines have the lookup entry, or the write was refused."""
        if not ok:
            return self._give_up(entry, "not_inserted", entry.switch - 1)
        entry.state = State.VALIDATING

        def validated(now: Nanoseconds, entry: Entry, reply: Message) -> Iterable[Action]:
            return self._validated(entry, record, reply)

        to = self._context.switches[entry.switch].to
        self._validity.change(Op.VALIDATE, entry, to, validated)
        return Continued()

    def _validated(self, entry: Entry, record: Record, reply: Message) -> Iterable[Action]:
        """VALIDATE is answered: the entry is valid, or it is removed."""
        if reply.status is not Status.OK:
            return self._give_up(entry, "not_validated", entry.switch)
        if entry.switch + 1 < len(self._context.switches):
            entry.switch += 1
            self._fill(entry, record)
            return Continued()
        entry.state = State.CACHED
        self._context.index.mark_cached(entry.generation, cached=True)
        self._decisions.settled(entry.candidate, "insertions")
        return ()

    def _give_up(
        self, entry: Entry, reason: str, last: int, *, free: bool = True
    ) -> Iterable[Action]:
        """Give up the admission, and remove the entry from the switches up to `last` (-1: none)."""
        self._decisions.settled(entry.candidate, reason)
        if last < 0:
            self._context.index.leave(entry, entry=free)
        else:
            self._removal.begin(entry, last, lambda ok: iter(()), free=free)
        return ()
