"""A model of FarReach's switch: the rules of docs/schemes/farreach.md ("What the switch does").

It models one instance, without redirection: the caller gives each frame the number of the snapshot
that its pipeline takes. Input and output are messages.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

from netkv.model.messages import Bit, Message, Op, Slot, Stamp, Status

SERVER, CLIENT, CONTROLLER = "server", "client", "controller"

SERVED = (1, 3)
INVALID, VALID, TO_BE_EVICTED = 0, 1, 3


def newer(a: int, b: int) -> bool:
    """Whether `a` is newer, by serial number arithmetic; 0 is older than all others."""
    return a != 0 and (b == 0 or 0 < (a - b) % (1 << 32) < 1 << 31)


Sequence = tuple[int, int]
"""Incarnation and number."""


def later(a: Sequence, b: Sequence) -> bool:
    """Whether a sequence is of a later write; one with number 0 is of none."""
    return a[1] != 0 and (b[1] == 0 or newer(a[0], b[0]) or (a[0] == b[0] and newer(a[1], b[1])))


@dataclass
class Entry:
    """One entry of the cache."""

    generation: int = 0
    validity: int = INVALID
    retired: bool = False
    max_sequence: Sequence = (0, 0)
    number: int = 0
    incarnation: int = 0
    latest: bool = False
    dirty: bool = False
    deleted: bool = False
    value: bytes = b""
    reported: int = 0

    def store(self, message: Message, number: int, sequence: Sequence) -> None:
        """`number`: that of the sequence if it is of this incarnation, otherwise 0."""
        self.deleted = bool(
            message.op is Op.DELETE
            or (message.op is Op.GET_REPLY and message.status is Status.NOT_FOUND)
            or (message.op is Op.FILL and message.stamp and message.stamp.bits & Bit.DELETED)
        )
        self.value = b"" if self.deleted else message.value[: message.length]
        self.number, self.incarnation, self.max_sequence = number, sequence[0], sequence

    def sequence(self) -> Stamp:
        return Stamp(self.incarnation, self.number) if self.number else Stamp()

    def bits(self) -> Bit:
        bits = Bit.LATEST if self.latest else Bit(0)
        bits |= Bit.DIRTY if self.dirty else 0
        bits |= Bit.DELETED if self.deleted else 0
        return bits | (Bit.VALID if self.validity in SERVED else 0)


@dataclass
class Switch:
    """The state and the rules of one instance."""

    incarnation: int
    lookup: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    entries: dict[int, Entry] = field(default_factory=lambda: defaultdict(Entry))
    numbers: Counter[bytes] = field(default_factory=Counter)
    dedup: dict[tuple[int, int], tuple[int, Stamp | None]] = field(default_factory=dict)

    def process(self, message: Message, snapshot: int = 0) -> list[tuple[str, Message]]:
        """The messages that leave, each with its receiver."""
        stamp = message.stamp
        assert stamp
        if message.op in (Op.PUT, Op.DELETE):
            return self._write(message, stamp, snapshot)
        if message.op is Op.GET:
            return self._read(message)
        if message.slot is not None:
            return [(CONTROLLER, self._control(message, stamp, message.slot))]
        self._reply(message, stamp, snapshot)
        return [(CLIENT, message)]

    def _is_current(self, incarnation: int) -> bool:
        return incarnation in (self.incarnation, self.incarnation - 1) and incarnation != 0

    def _own_number(self, stamp: Stamp) -> int:
        return stamp.number if self._is_current(stamp.incarnation) else 0

    def ours(self, key: bytes) -> Entry | None:
        number, generation = self.lookup.get(key, (0, 0))
        entry = self.entries[number]
        return entry if generation and entry.generation == generation else None

    # Rules 1 to 4

    def _write(self, message: Message, stamp: Stamp, snapshot: int) -> list[tuple[str, Message]]:
        key = message.key
        self.numbers[key] += 1
        mine = Stamp(self.incarnation, self.numbers[key])
        entry = self.ours(key)
        fits = message.op is Op.DELETE or message.length <= 128
        new = applied = False
        if 1 <= message.sender <= 64:
            cell = (message.sender, message.request % 1024)
            known, answer = self.dedup.get(cell, (None, None))
            if known == message.request:
                if answer is not None:
                    return [(CLIENT, message.reply(stamp=answer, cache_hit=True))]
            elif known is not None and 0 < (known - message.request) % (1 << 32) < 1 << 28:
                return []
            else:
                new = True
                applied = bool(
                    entry
                    and entry.validity == VALID
                    and fits
                    and self._is_current(stamp.incarnation)
                )
                self.dedup[cell] = (message.request, mine if applied else None)
        if applied and entry:
            out = []
            if snapshot and entry.reported != snapshot:
                entry.reported = snapshot
                out = [(CONTROLLER, self._original(message, entry, snapshot))] * 3
            entry.store(message, mine.number, (self.incarnation, mine.number))
            entry.latest = entry.dirty = True
            return [*out, (CLIENT, message.reply(stamp=mine, cache_hit=True))]
        if entry and (
            entry.validity == TO_BE_EVICTED or (entry.validity == VALID and new and not fits)
        ):
            entry.latest, entry.max_sequence = False, (self.incarnation, mine.number)
        past = stamp.incarnation != 0 and not self._is_current(stamp.incarnation)
        return [(SERVER, replace(message, stamp=replace(mine, bits=Bit.PAST if past else Bit(0))))]

    def _original(self, message: Message, entry: Entry, snapshot: int) -> Message:
        stamp = replace(entry.sequence(), generation=entry.generation, bits=entry.bits())
        slot = Slot(self.lookup[message.key][0], snapshot)
        value: dict[str, Any] = {"value": entry.value, "length": len(entry.value)}
        original = replace(message, op=Op.ORIGINAL, stamp=stamp, slot=slot, **value)
        return replace(original, status=Status.OK, cache_hit=False)

    # Rules 5 and 6 (nothing is sampled)

    def _read(self, message: Message) -> list[tuple[str, Message]]:
        entry = self.ours(message.key)
        assert message.stamp
        forwarded = replace(message, stamp=replace(message.stamp, generation=0, bits=Bit(0)))
        if not entry or entry.validity not in SERVED:
            return [(SERVER, forwarded)]
        value: dict[str, Any] = {"value": entry.value, "length": len(entry.value)}
        if entry.latest:
            stamp = replace(entry.sequence(), bits=Bit.DIRTY if entry.dirty else Bit(0))
            status = Status.NOT_FOUND if entry.deleted else Status.OK
            reply = message.reply(stamp=stamp, cache_hit=True, status=status, **value)
            return [(CLIENT, reply)]
        generation = entry.generation if entry.validity == VALID else 0
        stamp = replace(message.stamp, generation=generation, bits=Bit(0))
        if entry.dirty:
            bits = Bit.EMBEDDED | (Bit.DELETED if entry.deleted else Bit(0))
            stamp = replace(entry.sequence(), generation=generation, bits=bits)
            return [(SERVER, replace(message, stamp=stamp, **value))]
        return [(SERVER, replace(message, stamp=stamp))]

    # Rule 7

    def _reply(self, message: Message, stamp: Stamp, snapshot: int) -> None:
        entry = self.ours(message.key)
        if not entry or entry.validity not in SERVED:
            return
        sequence = (stamp.incarnation, stamp.number)
        is_record = message.op is Op.GET_REPLY and (
            message.status is Status.NOT_FOUND
            or (message.status is Status.OK and message.length <= 128)
        )
        if (
            is_record
            and entry.validity == VALID
            and stamp.generation == entry.generation
            and not stamp.bits & Bit.EMBEDDED
            and (sequence == entry.max_sequence or later(sequence, entry.max_sequence))
            and (not snapshot or entry.reported == snapshot)
        ):
            entry.store(message, self._own_number(stamp), sequence)
            entry.latest, entry.dirty = True, False
        elif later(sequence, entry.max_sequence):
            entry.latest, entry.dirty, entry.max_sequence = False, False, sequence

    # Rule 8

    def _control(self, message: Message, stamp: Stamp, slot: Slot) -> Message:
        entry = self.entries[slot.entry]
        generation = stamp.generation
        reply = message.reply(stamp=stamp, slot=slot)
        if message.op is Op.FILL and newer(generation, entry.generation):
            self.entries[slot.entry] = entry = Entry(generation)
            if stamp.bits & Bit.VALID:
                entry.validity = VALID
            entry.store(message, self._own_number(stamp), (stamp.incarnation, stamp.number))
            return reply
        if generation == 0 or generation != entry.generation:
            return replace(reply, status=Status.STALE)
        record = replace(entry.sequence(), generation=generation, bits=entry.bits())
        if not entry.retired:
            if message.op is Op.VALIDATE and entry.validity == INVALID:
                entry.validity = VALID
            elif message.op is Op.EVICT:
                entry.validity = TO_BE_EVICTED
            elif message.op is Op.RETIRE:
                entry.validity, entry.retired = INVALID, True
        if message.op is Op.COUNT:
            return replace(reply, slot=Slot(slot.entry, 0))
        if message.op not in (Op.EVICT, Op.LOAD):
            return reply
        if entry.reported and entry.reported == slot.number:
            record = replace(record, bits=record.bits | Bit.OVERWRITTEN)
        return replace(reply, stamp=record, value=entry.value, length=len(entry.value))
