"""Frames of port 5009 (docs/internals/wire-format.md, "Multiget frames"), for tests."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

from netkv._engine import udp_frame
from tests.checksums import with_udp_checksum

PORT = 5009
MGET, GET, PUT, DELETE = 1, 2, 3, 4
REPLY = 0x80


@dataclass(frozen=True)
class Multiget:
    """A netmc header and its payload."""

    op: int
    id: int
    oid: int
    numkey: int
    keyidx: int
    startidx: int
    clo: int
    srv: tuple[int, ...]
    """Without the zeros at its end."""
    rack: int
    payload: bytes = b""

    def pack(self, fields: int) -> bytes:
        """Header, with this number of SRV fields, and payload."""
        head = struct.pack(
            "!BIBBHBB",
            self.op,
            self.id,
            self.oid,
            self.numkey,
            self.keyidx,
            self.startidx,
            self.clo,
        )
        return head + bytes(self.srv).ljust(fields, b"\0") + bytes([self.rack]) + self.payload

    def frame(self, fields: int, source: int, destination: int) -> bytes:
        """The whole Ethernet frame, without a UDP checksum."""
        return with_udp_checksum(udp_frame(source, destination, PORT, self.pack(fields)), 0)


def keys(number: int, size: int = 4) -> bytes:
    """The encoding of this number of keys."""
    return b"".join(bytes([size]) + bytes([ord("A") + i]) * size for i in range(number))


def keyidx(sizes: Sequence[int]) -> int:
    """The bitmap of groups with these numbers of keys."""
    bits = "".join("1".rjust(size, "0") for size in sizes)
    return int(bits.ljust(16, "0"), 2)


def request(
    groups: Sequence[tuple[int, int]], op: int = MGET, payload: bytes | None = None
) -> Multiget:
    """A client's request for rack 1; `groups` are (server, number of its keys)."""
    number = sum(size for _, size in groups)
    return Multiget(
        op=op,
        id=1001,
        oid=1,
        numkey=number,
        keyidx=keyidx([size for _, size in groups]),
        startidx=0,
        clo=0,
        srv=tuple(server for server, _ in groups),
        rack=1,
        payload=keys(number) if payload is None else payload,
    )


def sub_requests(groups: Sequence[tuple[int, int]], whole: Multiget) -> list[tuple[int, Multiget]]:
    """The sub-requests of a request as (server, sub-request), in the order of the passes."""
    found = []
    for at, (server, size) in enumerate(groups):
        rest = [size for _, size in groups[at + 1 :]]
        sub = replace(
            whole,
            oid=at + 1,
            numkey=size,
            keyidx=keyidx(rest),
            startidx=sum(size for _, size in groups[:at]),
            clo=1 if len(groups) > 1 else 0,
        )
        found.append((server, sub))
    return found
