"""Frames from and to a controller: the Python side of docs/wire-format.md.

Only control planes use it, for a few messages a second; the fast codec is engine/wire. Both are
tested against the same golden bytes.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from functools import lru_cache

from netkv.control.topology import CONTROLLER_IP, KEY_BYTES, SERVICE_IP, mac_of

NETKV_PORT = 5008
FORMAT = 1
CONTROLLER_SENDER = 0xFFFF
CHUNK_BYTES = 16
MAX_CACHED_BYTES = 8 * CHUNK_BYTES

FLAG_MARKED = 0x01
FLAG_CACHE_HIT = 0x02
FLAG_STAMPED = 0x04

_ETHERNET = struct.Struct("!6s6sH")
_IPV4 = struct.Struct("!BBHHHBBHII")
_UDP = struct.Struct("!HHHH")
_KV = struct.Struct("!BBBBHHI16s")
_MARK = struct.Struct("!IIB")
_STAMP = struct.Struct("!IIIB")
_PLACE = struct.Struct("!HI")

KV_AT = _ETHERNET.size + _IPV4.size + _UDP.size

_ETHERTYPE_IPV4 = 0x0800
_PROTOCOL_UDP = 17
_TTL = 64


class Op(IntEnum):
    """What a message asks or answers; an odd number is the reply of the even one before it."""

    GET = 0x00
    GET_REPLY = 0x01
    PUT = 0x02
    PUT_REPLY = 0x03
    DELETE = 0x04
    DELETE_REPLY = 0x05
    UPDATE = 0x10
    UPDATE_REPLY = 0x11
    INVALIDATE = 0x12
    INVALIDATE_REPLY = 0x13
    ADMIT = 0x20
    ADMIT_REPLY = 0x21
    INSTALL = 0x22
    INSTALL_REPLY = 0x23
    EVICTED = 0x24
    EVICTED_REPLY = 0x25
    OUTGROWN = 0x26
    OUTGROWN_REPLY = 0x27
    OFFER = 0x28
    OFFER_REPLY = 0x29
    RESTORE = 0x2A
    RESTORE_REPLY = 0x2B
    FETCH = 0x2C
    FETCH_REPLY = 0x2D
    WATERMARK = 0x2E
    WATERMARK_REPLY = 0x2F
    STATS = 0x30
    STATS_REPLY = 0x31
    EPOCH = 0x32
    EPOCH_REPLY = 0x33
    FILL = 0x40
    FILL_REPLY = 0x41
    VALIDATE = 0x42
    VALIDATE_REPLY = 0x43
    EVICT = 0x44
    EVICT_REPLY = 0x45
    LOAD = 0x46
    LOAD_REPLY = 0x47
    RETIRE = 0x48
    RETIRE_REPLY = 0x49
    COUNT = 0x4A
    COUNT_REPLY = 0x4B
    ORIGINAL = 0x4D
    HELLO = 0x50
    HELLO_REPLY = 0x51
    BYE = 0x52
    BYE_REPLY = 0x53
    RELEASE = 0x54
    RELEASE_REPLY = 0x55
    COLLECT = 0x56
    COLLECT_REPLY = 0x57
    RECOVERED = 0x58
    RECOVERED_REPLY = 0x59


class Status(IntEnum):
    """How a request fared."""

    OK = 0
    NOT_FOUND = 1
    STALE = 2
    NOT_CACHED = 3
    TOO_LARGE = 4
    OVERLOADED = 5
    REJECTED = 6
    UNKNOWN = 7


class Bit(IntFlag):
    """Bits of a stamp; docs/wire-format.md says what each means."""

    HOT = 0x01
    EMBEDDED = 0x02
    DELETED = 0x04
    LATEST = 0x08
    DIRTY = 0x10
    OVERWRITTEN = 0x20
    VALID = 0x40
    PAST = 0x80


NO_BITS = Bit(0)

_REPORTS = (bytes([FORMAT, Op.OFFER]), bytes([FORMAT, Op.OFFER_REPLY]))
_OPS = {int(op): op for op in Op}
_STATUSES = {int(status): status for status in Status}


class MalformedFrameError(ValueError):
    """A frame that is none of netkv's, or is cut short; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What the switch knows about a cached key."""

    generation: int
    version: int = 0
    bitmap: int = 0


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which write made a record (life of the switch, number), which filling of an entry, bits."""

    life: int = 0
    number: int = 0
    generation: int = 0
    bits: Bit = NO_BITS


@dataclass(frozen=True, slots=True)
class Place:
    """Which entry of the switch a message is about; `number` is of a snapshot, or a count."""

    entry: int
    number: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """A netkv message without its addresses. `length` is the true length of the value in bytes."""

    op: Op
    key: bytes
    request: int = 0
    sender: int = CONTROLLER_SENDER
    status: Status = Status.OK
    mark: Mark | None = None
    length: int = 0
    value: bytes = b""
    cache_hit: bool = False
    stamp: Stamp | None = None
    place: Place | None = None

    def reply(self, **changes: object) -> "Message":
        """The reply to this request: same sender, request and key, the op after it."""
        fields: dict[str, object] = {
            "op": Op(self.op + 1),
            "key": self.key,
            "request": self.request,
            "sender": self.sender,
        }
        return Message(**(fields | changes))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Datagram:
    """A message with the IPv4 addresses it travels between."""

    source: int
    destination: int
    message: Message


def encode(message: Message, source: int = CONTROLLER_IP, destination: int = SERVICE_IP) -> bytes:
    """The whole Ethernet frame of a message, from the controller to the service unless told.

    MAC addresses follow from the IPv4 ones. The value, if any, is padded to whole chunks.
    """
    if len(message.key) != KEY_BYTES:
        raise ValueError(f"A key has {KEY_BYTES} bytes, not {len(message.key)}.")
    flags = FLAG_CACHE_HIT if message.cache_hit else 0
    mark = b""
    if message.mark is not None:
        flags |= FLAG_MARKED
        mark = _MARK.pack(message.mark.generation, message.mark.version, message.mark.bitmap)
    stamp = b""
    if message.stamp is not None:
        flags |= FLAG_STAMPED
        about = message.stamp
        stamp = _STAMP.pack(about.life, about.number, about.generation, about.bits)
    if _is_placed(message.op):
        if message.stamp is None or message.place is None:
            raise ValueError(f"{message.op.name} is about an entry: it needs a stamp and a place.")
        stamp += _PLACE.pack(message.place.entry, message.place.number)
    padding = bytes(-len(message.value) % CHUNK_BYTES)
    kv = _KV.pack(
        FORMAT,
        message.op,
        flags,
        message.status,
        message.length,
        message.sender,
        message.request,
        message.key,
    )
    payload = kv + mark + stamp + message.value + padding
    return headers(source, destination, len(payload)) + payload


def _is_placed(op: int) -> bool:
    """Whether a `place` header follows the stamp."""
    return op >> 4 == 4


@lru_cache(maxsize=4096)
def headers(source: int, destination: int, payload: int) -> bytes:
    """The headers in front of a payload of so many bytes: a controller needs the same few."""
    total = _IPV4.size + _UDP.size + payload
    fields = [0x45, 0, total, 0, 0, _TTL, _PROTOCOL_UDP, 0, source, destination]
    fields[7] = ipv4_checksum(_IPV4.pack(*fields))
    ethernet = _ETHERNET.pack(
        mac_of(destination).to_bytes(6), mac_of(source).to_bytes(6), _ETHERTYPE_IPV4
    )
    udp = _UDP.pack(NETKV_PORT, NETKV_PORT, _UDP.size + payload, 0)
    return ethernet + _IPV4.pack(*fields) + udp


def decode(frame: bytes) -> Datagram:
    """The message in an Ethernet frame. Raises MalformedFrameError."""
    source, destination, end = envelope(frame[:KV_AT])
    if end > len(frame):
        raise MalformedFrameError(f"Cut short: {end} bytes, {len(frame)} arrived.")
    return Datagram(source, destination, _decode_kv(frame[KV_AT:end]))


def is_report(frame: bytes) -> bool:
    """Whether a frame reports a hot record, or acknowledges that: its sender repeats it, so it may
    be dropped before anything else."""
    return frame[KV_AT : KV_AT + 2] in _REPORTS


@lru_cache(maxsize=4096)
def envelope(head: bytes) -> tuple[int, int, int]:
    """Source, destination and end of the frame that begins with these headers."""
    if len(head) < KV_AT:
        raise MalformedFrameError(
            f"A frame of {len(head)} bytes: netkv's headers take {KV_AT + _KV.size}."
        )
    if _ETHERNET.unpack_from(head)[2] != _ETHERTYPE_IPV4:
        raise MalformedFrameError("Not an IPv4 frame.")
    ipv4 = head[_ETHERNET.size : _ETHERNET.size + _IPV4.size]
    version_ihl, _, total, _, fragment, _, protocol, _, source, destination = _IPV4.unpack(ipv4)
    if version_ihl != 0x45 or fragment & 0x3FFF or protocol != _PROTOCOL_UDP:
        raise MalformedFrameError("Not a whole UDP datagram in IPv4 without options.")
    if ipv4_checksum(ipv4) != 0:
        raise MalformedFrameError("The IPv4 checksum is wrong.")
    _, port, length, _ = _UDP.unpack_from(head, _ETHERNET.size + _IPV4.size)
    if port != NETKV_PORT:
        raise MalformedFrameError(f"For UDP port {port}; netkv's is {NETKV_PORT}.")
    if length + _IPV4.size != total or length < _UDP.size + _KV.size:
        raise MalformedFrameError(f"The lengths disagree: IPv4 {total}, UDP {length}.")
    return source, destination, _ETHERNET.size + total


def ipv4_checksum(header: bytes) -> int:
    """The Internet checksum of a header; 0 for one that carries the right checksum."""
    words: tuple[int, ...] = struct.unpack(f"!{len(header) // 2}H", header)
    total = sum(words)
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _decode_kv(payload: bytes) -> Message:
    layout, op, flags, status, length, sender, request, key = _KV.unpack_from(payload)
    if layout != FORMAT:
        raise MalformedFrameError(f"Layout {layout} is unknown; this is version {FORMAT}.")
    rest = payload[_KV.size :]
    mark = None
    if flags & FLAG_MARKED:
        if len(rest) < _MARK.size:
            raise MalformedFrameError("Cut short within the mark.")
        mark = Mark(*_MARK.unpack_from(rest))
        rest = rest[_MARK.size :]
    stamp, place, rest = _decode_stamp(op, flags, rest)
    known_op, known_status = _OPS.get(op), _STATUSES.get(status)
    if known_op is None or known_status is None:
        raise MalformedFrameError(f"Not known: op {op:#04x} with status {status}.")
    return Message(
        known_op,
        key,
        request,
        sender,
        known_status,
        mark,
        length,
        rest[:length],
        bool(flags & FLAG_CACHE_HIT),
        stamp,
        place,
    )


def _decode_stamp(op: int, flags: int, rest: bytes) -> tuple[Stamp | None, Place | None, bytes]:
    """Stamp and place, as far as they are there, and what follows them."""
    if not flags & FLAG_STAMPED:
        if _is_placed(op):
            raise MalformedFrameError("A message about an entry must have a stamp.")
        return None, None, rest
    placed = _is_placed(op)
    needed = _STAMP.size + (_PLACE.size if placed else 0)
    if len(rest) < needed:
        raise MalformedFrameError("Cut short within the stamp.")
    life, number, generation, bits = _STAMP.unpack_from(rest)
    place = Place(*_PLACE.unpack_from(rest, _STAMP.size)) if placed else None
    return Stamp(life, number, generation, Bit(bits)), place, rest[needed:]
