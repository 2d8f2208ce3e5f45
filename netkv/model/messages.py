"""Messages from and to a controller. The engine encodes and decodes their frames (engine/wire)."""

from dataclasses import dataclass

from netkv._engine import (
    CHUNK_BYTES,
    CONTROLLER_SENDER,
    MAX_CACHED_BYTES,
    Bit,
    MalformedFrameError,
    Op,
    Status,
    is_report,
    read_frame,
    write_frame,
)
from netkv.model.topology import CONTROLLER_IP, SERVICE_IP

__all__ = [
    "CHUNK_BYTES",
    "CONTROLLER_SENDER",
    "MAX_CACHED_BYTES",
    "NO_BITS",
    "Bit",
    "CacheMetadata",
    "Datagram",
    "Load",
    "MalformedFrameError",
    "Message",
    "Op",
    "Slot",
    "Stamp",
    "Status",
    "decode",
    "encode",
    "is_report",
]

# The classes below are not changed after creation, but not `frozen` either: creating such an object
# takes three times as long, and a control plane creates one for each message.

NO_BITS = Bit(0)
_BITS = [Bit(bits) for bits in range(256)]
"""By number: a look-up in a list takes a fifth of a call of the enumeration."""


@dataclass(slots=True, unsafe_hash=True)
class CacheMetadata:
    """The cache metadata of a key: its generation, its version and its cells (`bitmap`)."""

    generation: int
    version: int = 0
    bitmap: int = 0


@dataclass(slots=True, unsafe_hash=True)
class Stamp:
    """A version stamp: the write of a record (incarnation of the switch, number), the generation of
    an entry, and bits."""

    incarnation: int = 0
    number: int = 0
    generation: int = 0
    bits: Bit = NO_BITS


@dataclass(slots=True, unsafe_hash=True)
class Slot:
    """The slot header: the entry that a message is about. `number`: a snapshot, or a count."""

    entry: int
    number: int = 0


@dataclass(slots=True, unsafe_hash=True)
class Load:
    """The load of the switch that answered: its layer (0 for the last), its number there, and the
    reads that it has answered in its statistics epoch."""

    layer: int
    switch: int
    reads: int


@dataclass(slots=True, unsafe_hash=True)
class Message:
    """A netkv message without its addresses. `length` is that of the stored value in bytes, also if
    the message does not carry the value."""

    op: Op
    key: bytes
    request: int = 0
    sender: int = CONTROLLER_SENDER
    status: Status = Status.OK
    cache_metadata: CacheMetadata | None = None
    length: int = 0
    value: bytes = b""
    cache_hit: bool = False
    stamp: Stamp | None = None
    slot: Slot | None = None
    upper: bool = False
    """Whether it is about the copy in the upper layer of switches."""
    load: Load | None = None

    def reply(self, **changes: object) -> "Message":
        """The reply to this request: the next op, with the same sender, request and key."""
        fields: dict[str, object] = {
            "op": Op(self.op + 1),
            "key": self.key,
            "request": self.request,
            "sender": self.sender,
            "upper": self.upper,
        }
        return Message(**(fields | changes))  # type: ignore[arg-type]


@dataclass(slots=True, unsafe_hash=True)
class Datagram:
    """A message with the IPv4 addresses it travels between."""

    source: int
    destination: int
    message: Message


def encode(message: Message, source: int = CONTROLLER_IP, destination: int = SERVICE_IP) -> bytes:
    """The Ethernet frame of a message, by default from the controller to the service."""
    cached, stamp, slot = message.cache_metadata, message.stamp, message.slot
    load = message.load
    return write_frame(
        message.op,
        message.key,
        message.request,
        source,
        destination,
        sender=message.sender,
        status=message.status,
        cache_metadata=(cached.generation, cached.version, cached.bitmap) if cached else None,
        length=message.length,
        value=message.value,
        cache_hit=message.cache_hit,
        stamp=(stamp.incarnation, stamp.number, stamp.generation, stamp.bits) if stamp else None,
        slot=(slot.entry, slot.number) if slot else None,
        upper=message.upper,
        load=(load.layer, load.switch, load.reads) if load else None,
    )


def decode(frame: bytes) -> Datagram:
    """The message in an Ethernet frame. Raises MalformedFrameError."""
    source, destination, fields = read_frame(frame)
    return Datagram(source, destination, message_of(*fields))


def message_of(
    op: Op,
    key: bytes,
    request: int,
    sender: int,
    status: Status,
    metadata: tuple[int, int, int] | None,
    length: int,
    value: bytes,
    cache_hit: bool,
    stamp: tuple[int, int, int, int] | None,
    slot: tuple[int, int] | None,
    of_layer: tuple[bool, tuple[int, int, int] | None],
) -> Message:
    """The message with the fields of `_engine.read_frame`."""
    upper, load = of_layer
    return Message(
        op,
        key,
        request,
        sender,
        status,
        metadata and CacheMetadata(*metadata),
        length,
        value,
        cache_hit,
        stamp and Stamp(stamp[0], stamp[1], stamp[2], _BITS[stamp[3]]),
        slot and Slot(*slot),
        upper,
        load and Load(*load),
    )
