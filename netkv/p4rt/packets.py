"""Packet-in and packet-out: controller headers on the CPU port to metadata and back (section 16).

On the CPU port a frame begins with the program's `@controller_header`, its fields packed without
gaps in wire order; in P4Runtime each field is a `PacketMetadata`.
"""

from __future__ import annotations

from finsy.proto import p4r

from netkv.p4rt import values
from netkv.p4rt.errors import RpcError, invalid
from netkv.p4rt.schema import Header, Schema


def header_bytes(header: Header | None) -> int:
    """Bytes of a controller header on the CPU port; 0 for a program without it."""
    return 0 if header is None else (header.width + 7) // 8


def packet_in(schema: Schema, frame: bytes) -> p4r.PacketIn | None:
    """The message of a frame from the CPU port; None if it is shorter than its header."""
    header = schema.packet_in
    if header is None:
        return p4r.PacketIn(payload=frame)
    size = header_bytes(header)
    if len(frame) < size:
        return None
    return p4r.PacketIn(payload=frame[size:], metadata=metadata_of(header, frame[:size]))


def metadata_of(header: Header, data: bytes) -> list[p4r.PacketMetadata]:
    """The metadata in a header on the CPU port."""
    bits = int.from_bytes(data, "big") >> (8 * len(data) - header.width)
    metadata: list[p4r.PacketMetadata] = []
    rest = header.width
    for field in header.fields:
        rest -= field.width
        number = (bits >> rest) & ((1 << field.width) - 1)
        metadata.append(p4r.PacketMetadata(metadata_id=field.id, value=values.encode(number)))
    return metadata


def packet_out(schema: Schema, message: p4r.PacketOut) -> bytes:
    """The frame to inject at the CPU port.

    Raises INVALID_ARGUMENT for metadata that the header does not have, that is missing or too
    large. Padding (a field whose name begins with an underscore) may be left out.
    """
    header = schema.packet_out
    if header is None:
        if message.metadata:
            raise invalid("the program has no packet_out header; a packet-out takes no metadata")
        return message.payload
    return _pack(header, message) + message.payload


def _pack(header: Header, message: p4r.PacketOut) -> bytes:
    given: dict[int, bytes] = {}
    for each in message.metadata:
        if each.metadata_id in given:
            raise invalid(f"packet-out: metadata {each.metadata_id} is given twice")
        given[each.metadata_id] = each.value
    bits = 0
    for field in header.fields:
        data = given.pop(field.id, None)
        if data is None:
            if not field.name.startswith("_"):
                raise invalid(f"packet-out: metadata {field.name} ({field.id}) is missing")
            data = b"\0"
        try:
            number = values.decode(data, field.width, f"packet-out: metadata {field.name}")
        except RpcError as error:
            raise invalid(error.message) from None
        bits = bits << field.width | number
    if given:
        known = ", ".join(f"{field.id} ({field.name})" for field in header.fields)
        raise invalid(f"packet-out has no metadata {next(iter(given))}; it has: {known}")
    size = header_bytes(header)
    return (bits << (8 * size - header.width)).to_bytes(size, "big")
