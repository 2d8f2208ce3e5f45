"""Batches of packets: many packets in one message of the stream.

P4Runtime has one packet in a message, and gRPC in Python takes longer for a message than switch and
controller for its packet. So netkv's server and client know one more message, in the field `other`
that the specification leaves to vendors: an `Any` of type `TYPE` whose value is a list of frames,
each behind its length in 2 bytes. Frames are those of the CPU port and begin with the controller
header, so they need no conversion of metadata.

Rules
-----
1. A client offers batches with an empty one. A server that takes them answers with an empty one,
   and from then on both may send batches. Any other server answers with an error.
2. A batch has the effect of its packets in their order. Single packets remain possible.
3. A program whose P4Info differs from its headers (`program_form`) has no batches of packet-ins,
   and refuses those of packet-outs.
"""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf import any_pb2

TYPE = "type.netkv.org/netkv.PacketBatch"

MAX_PACKETS = 256
"""Packets of a batch that is sent."""

LENGTH_BYTES = 2
"""Bytes in front of each frame."""


def pack(frames: Iterable[bytes]) -> any_pb2.Any:
    """A batch; a frame has less than 64 KiB."""
    parts: list[bytes] = []
    for frame in frames:
        parts += (len(frame).to_bytes(LENGTH_BYTES), frame)
    return any_pb2.Any(type_url=TYPE, value=b"".join(parts))


def unpack(batch: any_pb2.Any) -> list[bytes] | None:
    """The frames of a batch; None if the message is no batch, or damaged."""
    if batch.type_url != TYPE:
        return None
    data, at, frames = batch.value, 0, []
    while at < len(data):
        start = at + LENGTH_BYTES
        at = start + int.from_bytes(data[at:start])
        if at > len(data) or start > len(data):
            return None
        frames.append(data[start:at])
    return frames
