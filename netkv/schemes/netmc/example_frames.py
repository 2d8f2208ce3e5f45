"""Requests of a NetMC client, as examples of what the switch splits
(docs/internals/wire-format.md)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from netkv._engine import MULTIGET_PORT, client_ip, splitter_ip, udp_frame
from netkv.model.hardware import GenericLab
from netkv.schemes.netmc import srv_fields

_MGET = 1
_BITS = 16
"""Keys that the switch can split a request by."""


def frames(lab: GenericLab) -> Iterator[tuple[str, bytes]]:
    """See `netkv.schemes.parts.example_frames`."""
    yield "multiget of one server", multiget([2], srv_fields(lab))
    yield "multiget of three servers", multiget([2, 1, 3], srv_fields(lab))


def multiget(groups: Sequence[int], fields: int) -> bytes:
    """A multiget of client 1 for the servers 0, 1, ... of rack 1.

    `groups`: the number of keys of each server. `fields`: the SRV fields of the header.
    """
    number = sum(groups)
    last = "".join("1".rjust(size, "0") for size in groups)
    head = struct.pack("!BIBBHBB", _MGET, 1, 1, number, int(last.ljust(_BITS, "0"), 2), 0, 0)
    servers = bytes(range(len(groups))).ljust(fields, b"\0")
    keys = b"".join(bytes([4]) + b"key" + bytes([ord("a") + each]) for each in range(number))
    payload = head + servers + bytes([1]) + keys
    return udp_frame(client_ip(1), splitter_ip(1), MULTIGET_PORT, payload)
