"""Frames from and to a controller: the Python side of docs/wire-format.md.

Only control planes use it, for a few messages a second; the fast codec is engine/wire. Both are
tested against the same golden bytes.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum

from netkv.control.topology import CONTROLLER_IP, KEY_BYTES, SERVICE_IP, mac_of

NETKV_PORT = 5008
FORMAT = 1
CONTROLLER_SENDER = 0xFFFF
CHUNK_BYTES = 16
MAX_CACHED_BYTES = 8 * CHUNK_BYTES

FLAG_MARKED = 0x01
FLAG_CACHE_HIT = 0x02

_ETHERNET = struct.Struct("!6s6sH")
_IPV4 = struct.Struct("!BBHHHBBHII")
_UDP = struct.Struct("!HHHH")
_KV = struct.Struct("!BBBBHHI16s")
_MARK = struct.Struct("!IIB")

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
    STATS = 0x30
    STATS_REPLY = 0x31
    EPOCH = 0x32
    EPOCH_REPLY = 0x33


class Status(IntEnum):
    """How a request fared."""

    OK = 0
    NOT_FOUND = 1
    STALE = 2
    NOT_CACHED = 3
    TOO_LARGE = 4
    OVERLOADED = 5
    REJECTED = 6


class MalformedFrameError(ValueError):
    """A frame that is none of netkv's, or is cut short; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What the switch knows about a cached key."""

    generation: int
    version: int = 0
    bitmap: int = 0


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
    payload = kv + mark + message.value + padding
    udp = _UDP.pack(NETKV_PORT, NETKV_PORT, _UDP.size + len(payload), 0)
    total = _IPV4.size + len(udp) + len(payload)
    fields = [0x45, 0, total, 0, 0, _TTL, _PROTOCOL_UDP, 0, source, destination]
    fields[7] = ipv4_checksum(_IPV4.pack(*fields))
    ethernet = _ETHERNET.pack(
        mac_of(destination).to_bytes(6), mac_of(source).to_bytes(6), _ETHERTYPE_IPV4
    )
    return ethernet + _IPV4.pack(*fields) + udp + payload


def decode(frame: bytes) -> Datagram:
    """The message in an Ethernet frame. Raises MalformedFrameError."""
    head = _ETHERNET.size + _IPV4.size + _UDP.size + _KV.size
    if len(frame) < head:
        raise MalformedFrameError(f"A frame of {len(frame)} bytes: netkv's headers take {head}.")
    if _ETHERNET.unpack_from(frame)[2] != _ETHERTYPE_IPV4:
        raise MalformedFrameError("Not an IPv4 frame.")
    ipv4 = frame[_ETHERNET.size : _ETHERNET.size + _IPV4.size]
    version_ihl, _, total, _, fragment, _, protocol, _, source, destination = _IPV4.unpack(ipv4)
    if version_ihl != 0x45 or fragment & 0x3FFF or protocol != _PROTOCOL_UDP:
        raise MalformedFrameError("Not a whole UDP datagram in IPv4 without options.")
    if ipv4_checksum(ipv4) != 0:
        raise MalformedFrameError("The IPv4 checksum is wrong.")
    if _ETHERNET.size + total > len(frame):
        raise MalformedFrameError(
            f"Cut short: {_ETHERNET.size + total} bytes, {len(frame)} arrived."
        )
    _, port, length, _ = _UDP.unpack_from(frame, _ETHERNET.size + _IPV4.size)
    if port != NETKV_PORT:
        raise MalformedFrameError(f"For UDP port {port}; netkv's is {NETKV_PORT}.")
    if length + _IPV4.size != total or total < head - _ETHERNET.size:
        raise MalformedFrameError(f"The lengths disagree: IPv4 {total}, UDP {length}.")
    end = _ETHERNET.size + total
    return Datagram(source, destination, _decode_kv(frame[head - _KV.size : end]))


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
    try:
        return Message(
            op=Op(op),
            key=key,
            request=request,
            sender=sender,
            status=Status(status),
            mark=mark,
            length=length,
            value=rest[:length],
            cache_hit=bool(flags & FLAG_CACHE_HIT),
        )
    except ValueError as unknown:
        raise MalformedFrameError(f"Not known: {unknown}.") from unknown
