"""Operations of memcached's binary protocol as bytes, and a server that answers them.

The server is a golden model: it does what memcached 1.6 does with the operations that benches use.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

GET, SET, ADD, REPLACE, DELETE, INCREMENT = 0x00, 0x01, 0x02, 0x03, 0x04, 0x05
FLUSH, GETQ, NOOP, GETK, GETKQ, APPEND = 0x08, 0x09, 0x0A, 0x0C, 0x0D, 0x0E
SETQ, DELETEQ, TOUCH, GAT = 0x11, 0x14, 0x1C, 0x1D
QUIET = {GETQ, GETKQ, SETQ, DELETEQ}
HEADER = struct.Struct(">BBHBBHIIQ")
STATUS_OK, NOT_FOUND, EXISTS, NOT_STORED = 0, 1, 2, 5


@dataclass(frozen=True)
class Operation:
    """One operation or one reply."""

    opcode: int
    key: bytes = b""
    extras: bytes = b""
    value: bytes = b""
    opaque: int = 0
    cas: int = 0
    status: int = 0  # of a reply
    magic: int = 0x80

    def encode(self) -> bytes:
        body = self.extras + self.key + self.value
        return (
            HEADER.pack(
                self.magic,
                self.opcode,
                len(self.key),
                len(self.extras),
                0,
                self.status,
                len(body),
                self.opaque,
                self.cas,
            )
            + body
        )


def decode(data: bytes) -> list[Operation]:
    """The operations of a datagram's payload."""
    found = []
    while data:
        magic, opcode, key, extras, _, status, body, opaque, cas = HEADER.unpack_from(data)
        rest = data[24 : 24 + body]
        found.append(
            Operation(
                opcode,
                rest[extras : extras + key],
                rest[:extras],
                rest[extras + key :],
                opaque,
                cas,
                status,
                magic,
            )
        )
        data = data[24 + body :]
    return found


def get(key: bytes, *, opcode: int = GET, opaque: int = 0) -> Operation:
    return Operation(opcode, key, opaque=opaque)


def store(
    key: bytes,
    value: bytes,
    *,
    opcode: int = SET,
    flags: int = 0,
    expiry: int = 0,
    opaque: int = 0,
    cas: int = 0,
) -> Operation:
    return Operation(opcode, key, struct.pack(">II", flags, expiry), value, opaque, cas)


class Server:
    """Answers operations in the order in which they come. Time passes with `advance`."""

    def __init__(self) -> None:
        self.items: dict[bytes, tuple[bytes, bytes, int]] = {}  # flags, value, CAS
        self._cas = 0
        self._now = 0
        self._flush: int | None = None  # time of a delayed flush
        self._expiries: dict[bytes, int] = {}

    def advance(self, seconds: int) -> None:
        """Items expire, and a delayed flush takes effect."""
        self._now += seconds
        if self._flush is not None and self._flush <= self._now:
            self.items.clear()
            self._flush = None
        for key in [key for key, at in self._expiries.items() if at <= self._now]:
            self.items.pop(key, None)
            del self._expiries[key]

    def _expire(self, key: bytes, seconds: int) -> None:
        self._expiries.pop(key, None)
        if seconds:
            self._expiries[key] = self._now + seconds

    def answer(self, asked: Operation) -> Operation | None:
        """The reply, or None where a quiet operation has none."""
        reply = self._execute(asked)
        quiet_miss = asked.opcode in (GETQ, GETKQ) and reply.status
        quiet_done = asked.opcode in (SETQ, DELETEQ) and not reply.status
        return None if quiet_miss or quiet_done else reply

    def _execute(self, asked: Operation) -> Operation:
        def reply(status: int = 0, **fields: object) -> Operation:
            return Operation(
                asked.opcode,
                opaque=asked.opaque,
                status=status,
                magic=0x81,
                **fields,  # type: ignore[arg-type]
            )

        held = self.items.get(asked.key)
        match asked.opcode:
            case 0x00 | 0x09 | 0x0C | 0x0D:
                key = asked.key if asked.opcode in (GETK, GETKQ) else b""
                if held is None:
                    return reply(NOT_FOUND, key=key, value=b"" if key else b"Not found")
                return reply(key=key, extras=held[0], value=held[1], cas=held[2])
            case 0x01 | 0x02 | 0x03 | 0x11:
                if asked.cas and (held is None or held[2] != asked.cas):
                    return reply(EXISTS if held else NOT_FOUND, value=b"Data exists for key.")
                if (asked.opcode == ADD and held) or (asked.opcode == REPLACE and not held):
                    return reply(NOT_STORED, value=b"Not stored.")
                self._cas += 1
                self.items[asked.key] = (asked.extras[:4], asked.value, self._cas)
                self._expire(asked.key, int.from_bytes(asked.extras[4:8], "big"))
                return reply(cas=self._cas)
            case 0x04 | 0x14:
                if held is None:
                    return reply(NOT_FOUND, value=b"Not found")
                del self.items[asked.key]
                return reply()
            case 0x0E:
                if held is None:
                    return reply(NOT_STORED, value=b"Not stored.")
                self._cas += 1
                self.items[asked.key] = (held[0], held[1] + asked.value, self._cas)
                return reply(cas=self._cas)
            case 0x05:
                if held is None:
                    return reply(NOT_FOUND, value=b"Not found")
                number = int(held[1]) + int.from_bytes(asked.extras[:8], "big")
                self._cas += 1
                self.items[asked.key] = (held[0], str(number).encode(), self._cas)
                return reply(value=number.to_bytes(8, "big"), cas=self._cas)
            case 0x08:
                delay = int.from_bytes(asked.extras, "big")
                if delay:
                    self._flush = self._now + delay
                else:
                    self.items.clear()
                return reply()
            case 0x1C | 0x1D:
                if held is None:
                    return reply(NOT_FOUND, value=b"Not found")
                self._expire(asked.key, int.from_bytes(asked.extras, "big"))
                if asked.opcode == TOUCH:
                    return reply(cas=held[2])
                return reply(extras=held[0], value=held[1], cas=held[2])
            case _:
                return reply()
