"""Frames from the description of a message, and back."""

from __future__ import annotations

import ipaddress
import re
from typing import TypeVar

from netkv import _engine
from netkv.api.errors import RequestFieldError
from netkv.api.models.programs import (
    MAX_FRAME,
    CacheMetadata,
    KvMessage,
    Load,
    Packet,
    Slot,
    Stamp,
)
from netkv.errors import suggest
from netkv.hex_text import hex_bytes

MIN_FRAME = 14

T = TypeVar("T", CacheMetadata, Stamp, Slot, Load)

_HOST = re.compile(r"(client|server)-([0-9]{1,5})")
_OTHERS = {
    "service": _engine.SERVICE_IP,
    "controller": _engine.CONTROLLER_IP,
    "coordinator": _engine.COORDINATOR_IP,
}


def frame(packet: Packet, field: str) -> bytes:
    """The bytes of a packet; `field` is its path in the request. Raises `RequestFieldError`."""
    if (packet.frame is None) == (packet.message is None):
        raise RequestFieldError("A packet has either 'frame' or 'message'.", field)
    if packet.message is not None:
        return _written(packet.message, f"{field}.message")
    assert packet.frame is not None
    try:
        found = hex_bytes(packet.frame)
    except ValueError:
        raise RequestFieldError(
            "A frame is hex digits, as 'ffffffffffff 0a0000000001 0800 45…'.", f"{field}.frame"
        ) from None
    if not MIN_FRAME <= len(found) <= MAX_FRAME:
        raise RequestFieldError(
            f"The frame has {len(found)} bytes; an Ethernet frame has {MIN_FRAME} to {MAX_FRAME}.",
            f"{field}.frame",
        )
    return found


def message(data: bytes) -> KvMessage | None:
    """The content of a frame; None if it is no message of netkv."""
    try:
        source, destination, fields = _engine.read_frame(data)
    except ValueError:
        return None
    op, key, request, sender, status, metadata, _, value, hit, stamp, slot, layers = fields
    upper, load = layers
    return KvMessage(
        op=op.name,
        key=f"0x{key.hex()}",
        source=_host(source),
        destination=_host(destination),
        request=request,
        sender=sender,
        status=status.name,
        value=f"0x{value.hex()}" if value else "",
        cache_hit=hit,
        cache_metadata=_record(CacheMetadata, metadata),
        stamp=_record(Stamp, stamp),
        slot=_record(Slot, slot),
        upper=upper,
        load=_record(Load, load),
    )


def _record(model: type[T], values: tuple[int, ...] | None) -> T | None:
    """A model from the values of its fields, in order."""
    if values is None:
        return None
    return model.model_validate(dict(zip(model.model_fields, values, strict=True)))


def _written(message: KvMessage, field: str) -> bytes:
    op = _engine.Op.__members__.get(message.op.upper())
    if op is None:
        raise RequestFieldError(
            f"'{message.op}' is no operation. {suggest(message.op, _engine.Op.__members__)}",
            f"{field}.op",
        )
    status = _engine.Status.__members__.get(message.status.upper())
    if status is None:
        raise RequestFieldError(
            f"'{message.status}' is no status. "
            f"{suggest(message.status, _engine.Status.__members__)}",
            f"{field}.status",
        )
    source = _address(message.source, f"{field}.source")
    destination = _address(message.destination, f"{field}.destination")
    value = _bytes(message.value, f"{field}.value")
    try:
        return _engine.write_frame(
            op,
            _key(message.key, f"{field}.key"),
            message.request,
            source,
            destination,
            sender=_sender(message.source) if message.sender is None else message.sender,
            status=status,
            length=len(value),
            value=value,
            cache_hit=message.cache_hit,
            cache_metadata=_values(message.cache_metadata),  # type: ignore[arg-type]
            stamp=_values(message.stamp),  # type: ignore[arg-type]
            slot=_values(message.slot),  # type: ignore[arg-type]
            upper=message.upper,
            load=_values(message.load),  # type: ignore[arg-type]
        )
    except (ValueError, OverflowError) as error:
        text = str(error).rstrip(".")
        raise RequestFieldError(f"This is no message of netkv: {text}.", field) from error


def _values(model: CacheMetadata | Stamp | Slot | Load | None) -> tuple[int, ...] | None:
    return None if model is None else tuple(model.model_dump().values())


def _key(text: str, field: str) -> bytes:
    if text.startswith("#") and text[1:].isdecimal():
        return _engine.key_of_record(int(text[1:]))
    found = _bytes(text, field)
    if not 1 <= len(found) <= _engine.KEY_BYTES:
        raise RequestFieldError(
            f"A key has {_engine.KEY_BYTES} bytes, '{text}' has {len(found)}: write '#0' for the "
            f"first key of a load, a text, or hex.",
            field,
        )
    return found.ljust(_engine.KEY_BYTES, b"\0")


def _bytes(text: str, field: str) -> bytes:
    if not text.startswith("0x"):
        return text.encode()
    try:
        return bytes.fromhex(text[2:])
    except ValueError:
        raise RequestFieldError(
            f"'{text[:40]}' is not pairs of hex digits after 0x.", field
        ) from None


def _address(name: str, field: str) -> int:
    if (known := _OTHERS.get(name)) is not None:
        return known
    try:
        if (host := _HOST.fullmatch(name)) is not None:
            number = int(host[2])
            return _engine.client_ip(number) if host[1] == "client" else _engine.server_ip(number)
        return int(ipaddress.IPv4Address(name))
    except (ValueError, OverflowError):
        raise RequestFieldError(
            f"'{name}' is no host: write client-1, server-0, service, controller, coordinator, or "
            f"an IPv4 address.",
            field,
        ) from None


def _sender(source: str) -> int:
    host = _HOST.fullmatch(source)
    if host is None:
        return _engine.CONTROLLER_SENDER
    number = int(host[2])
    return number if host[1] == "client" else _engine.FIRST_SERVER_SENDER + number


def _host(address: int) -> str:
    """The name of a host with this address, else the address."""
    for name, known in _OTHERS.items():
        if address == known:
            return name
    shown = str(ipaddress.IPv4Address(address))
    number = address & 0xFFFF
    if number and address == _client_ip(number):
        return f"client-{number}"
    number = (address & 0xFF) - (_engine.server_ip(0) & 0xFF)
    if number >= 0 and address == _engine.server_ip(number):
        return f"server-{number}"
    return shown


def _client_ip(number: int) -> int | None:
    try:
        return _engine.client_ip(number)
    except (ValueError, OverflowError):
        return None
