"""Requests of a NetMC client, as examples of what the switch splits
(docs/internals/wire-format.md)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from netkv._engine import MULTIGET_PORT, client_ip, splitter_ip, udp_frame
from netkv.model.hardware import GenericLab
from netkv.schemes.netmc import PAPER_SPLIT_KEYS, srv_fields
from netkv.schemes.netmc.options import NetMcOptions

_MGET = 1


def frames(lab: GenericLab) -> Iterator[tuple[str, bytes]]:
    """See `netkv.schemes.parts.example_frames`."""
    fields, keys = srv_fields(lab), NetMcOptions.of(lab).split_keys
    yield "multiget of one server", multiget([2], fields, keys)
    yield "multiget of three servers", multiget([2, 1, 3], fields, keys)


def multiget(groups: Sequence[int], fields: int, split_keys: int = PAPER_SPLIT_KEYS) -> bytes:
    """A multiget of client 1 for the servers 0, 1, ... of rack 1.

    `groups`: the number of keys of each server. `fields`: the SRV fields of the header.
    `split_keys`: the bits of its KEYIDX.
    """
    number = sum(groups)
    last = "".join("1".rjust(size, "0") for size in groups)
    keyidx = int(last.ljust(split_keys, "0"), 2).to_bytes(split_keys // 8)
    head = struct.pack("!BIBB", _MGET, 1, 1, number) + keyidx + bytes(2)  # STARTIDX, CLO
    servers = bytes(range(len(groups))).ljust(fields, b"\0")
    keys = b"".join(bytes([4]) + b"key" + bytes([ord("a") + each]) for each in range(number))
    payload = head + servers + bytes([1]) + keys
    return udp_frame(client_ip(1), splitter_ip(1), MULTIGET_PORT, payload)
