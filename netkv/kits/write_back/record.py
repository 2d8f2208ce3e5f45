"""Records and their sequences, and the byte format of a list of records.

Replies to COLLECT (docs/internals/wire-format.md) and the saved state use this format.
"""

import struct
from collections.abc import Iterable
from typing import NamedTuple

from netkv.control.message_numbers import is_newer
from netkv.model.messages import MAX_CACHED_BYTES, NO_BITS, Bit, Message, Stamp

_HEAD = struct.Struct("!16sIIBH")

# Plain numbers, since they are tested for every record of a snapshot and an `IntFlag` is slow.
_DELETED, _DIRTY, _LATEST = int(Bit.DELETED), int(Bit.DIRTY), int(Bit.LATEST)

KEPT = _DELETED | _DIRTY | _LATEST
"""Bits of a stamp that belong to the record."""


class MalformedRecordsError(ValueError):
    """Bytes that are no list of records; the text has the reason."""


class Record(NamedTuple):
    """A key, its last write (incarnation, number), bits of a stamp, and the value."""

    key: bytes
    incarnation: int
    number: int
    bits: int
    value: bytes

    @property
    def deleted(self) -> bool:
        """Whether the key is deleted."""
        return self.bits & _DELETED != 0

    @property
    def dirty(self) -> bool:
        """Whether the server may lack this record."""
        return self.bits & _DIRTY != 0

    @property
    def latest(self) -> bool:
        """Whether the switch knows no later record of the key."""
        return self.bits & _LATEST != 0

    @property
    def stamp(self) -> Stamp:
        """The stamp of a message that carries the record to a server."""
        return Stamp(self.incarnation, self.number, bits=Bit.DELETED if self.deleted else NO_BITS)


def size_of(record: Record) -> int:
    """Bytes of a record in this format."""
    return _HEAD.size + len(record.value)


def is_later(a: Record, b: Record) -> bool:
    """Whether `a` is a later write than `b`: by incarnation, then number; (0, 0) is the oldest."""
    if not (b.incarnation or b.number):
        return bool(a.incarnation or a.number)
    if not (a.incarnation or a.number):
        return False
    return is_newer(a.incarnation, b.incarnation) or (
        a.incarnation == b.incarnation and is_newer(a.number, b.number)
    )


def record_of(message: Message) -> Record | None:
    """The record that a stamped message carries; None without a stamp."""
    stamp = message.stamp
    if stamp is None:
        return None
    return Record(
        message.key, stamp.incarnation, stamp.number, int(stamp.bits) & KEPT, message.value
    )


def pack(records: Iterable[Record]) -> bytes:
    """Encode a list of records."""
    head = _HEAD.pack
    parts: list[bytes] = []
    for key, incarnation, number, bits, value in records:
        parts.append(head(key, incarnation, number, bits, len(value)))
        parts.append(value)
    return b"".join(parts)


def unpack(data: bytes) -> list[Record]:
    """Decode a list of records. Raises MalformedRecordsError."""
    records: list[Record] = []
    at, end = 0, len(data)
    while at < end:
        if at + _HEAD.size > end:
            raise MalformedRecordsError(f"cut short within record {len(records)}")
        key, incarnation, number, bits, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        if length > MAX_CACHED_BYTES:
            raise MalformedRecordsError(
                f"record {len(records)} has a value of {length} bytes; "
                f"a cached one has up to {MAX_CACHED_BYTES}"
            )
        if at + length > end:
            raise MalformedRecordsError(f"cut short within the value of record {len(records)}")
        records.append(Record(key, incarnation, number, bits, data[at : at + length]))
        at += length
    return records
