"""The byte format of the state that FarReach's controller saves.

    magic (16) | version (2) | bytes of the body (4) | CRC-32 of the body (4) | body
    body: incarnation (4) | recovered incarnation (4) | snapshot (4) | clients (2) | records (4)
        | clients times: address (4), present (1)
        | records times: as in replies to COLLECT (netkv/kits/write_back/record.py)

All numbers are big-endian, as in frames.
"""

import struct
import zlib
from dataclasses import dataclass
from typing import NamedTuple

from netkv.kits.write_back.record import MalformedRecordsError, Record, pack, unpack

_MAGIC = b"netkv FarReach\0\0"
_VERSION = 1
_HEAD = struct.Struct("!16sHII")
_BODY = struct.Struct("!IIIHI")
_CLIENT = struct.Struct("!I?")


class SavedError(ValueError):
    """Bytes that are no saved state of a FarReach controller; the text has the reason."""


class Client(NamedTuple):
    """A client process: address of its first client, and whether it answered the last request."""

    address: int
    present: bool = True


@dataclass(frozen=True, slots=True)
class State:
    """The state that the next controller needs."""

    incarnation: int
    """The latest incarnation that the switch has got or is to get."""
    recovered: int = 0
    """The incarnation of the last recovery whose records the servers have; 0 for none."""
    snapshot: int = 0
    """Number of the snapshot in force, 0 for none."""
    clients: tuple[Client, ...] = ()
    records: tuple[Record, ...] = ()
    """Records of the snapshot in force."""


def to_bytes(state: State) -> bytes:
    """Encode the state."""
    body = b"".join(
        (
            _BODY.pack(
                state.incarnation,
                state.recovered,
                state.snapshot,
                len(state.clients),
                len(state.records),
            ),
            *(_CLIENT.pack(*client) for client in state.clients),
            pack(state.records),
        )
    )
    return _HEAD.pack(_MAGIC, _VERSION, len(body), zlib.crc32(body)) + body


def from_bytes(data: bytes) -> State:
    """Decode a saved state. Raises SavedError."""
    if len(data) < _HEAD.size or not data.startswith(_MAGIC):
        raise SavedError(f"These {len(data)} bytes were not saved by a controller of FarReach.")
    _, version, length, checksum = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise SavedError(f"Saved in layout {version}; this netkv reads layout {_VERSION}.")
    body = data[_HEAD.size :]
    if len(body) != length:
        raise SavedError(f"Wrong length: {length} bytes were saved, {len(body)} were read.")
    if zlib.crc32(body) != checksum:
        raise SavedError("Damaged: the checksum does not match.")
    if length < _BODY.size:
        raise SavedError(f"A body of {length} bytes: at least {_BODY.size} are needed.")
    incarnation, recovered, snapshot, clients, records = _BODY.unpack_from(body)
    at = _BODY.size
    if at + clients * _CLIENT.size > length:
        raise SavedError(f"Cut short within the list of {clients} clients.")
    known = tuple(
        Client(*_CLIENT.unpack_from(body, at + number * _CLIENT.size)) for number in range(clients)
    )
    try:
        found = unpack(body[at + clients * _CLIENT.size :])
    except MalformedRecordsError as error:
        raise SavedError(f"The records are {error}.") from error
    if len(found) != records:
        raise SavedError(f"{records} records were saved, {len(found)} were read.")
    return State(incarnation, recovered, snapshot, known, tuple(found))
