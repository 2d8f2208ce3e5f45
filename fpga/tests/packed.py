"""Packed structs of the RTL as Python integers, and what every bench of a service does first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge


class Packed:
    """A packed struct: fields from the most significant to the least significant."""

    def __init__(self, **fields: int | Packed) -> None:
        self.fields = fields
        self.width = sum(self._bits(each) for each in fields.values())

    @staticmethod
    def _bits(field: int | Packed) -> int:
        return field.width if isinstance(field, Packed) else field

    def pack(self, **values: Any) -> int:
        """The integer of these fields; fields without a value are 0."""
        unknown = values.keys() - self.fields.keys()
        if unknown:
            raise KeyError(f"no field {', '.join(sorted(unknown))}")
        total = 0
        for name, field in self.fields.items():
            value = values.get(name, 0)
            if isinstance(field, Packed) and isinstance(value, Mapping):
                value = field.pack(**value)
            total = total << self._bits(field) | value
        return total

    def unpack(self, total: int) -> dict[str, Any]:
        """The fields of an integer; those that are structs again as dictionaries."""
        found: dict[str, Any] = {}
        for name, field in reversed(self.fields.items()):
            bits = self._bits(field)
            value = total & ((1 << bits) - 1)
            found[name] = field.unpack(value) if isinstance(field, Packed) else value
            total >>= bits
        return found


# rtl/lake/lake_pkg.sv and rtl/memcached/memcached_pkg.sv
LINE_REQUEST = Packed(write=1, address=30, data=512)
SLAB_REQUEST = Packed(free=1, chunk_class=2, chunk=30)
SLAB_RESPONSE = Packed(ok=1, chunk=30)
GUARD_READ, GUARD_MUTATE, GUARD_ACK = range(3)
GUARD_REQUEST = Packed(command=2, index=12, expiring=1)
GUARD_RESPONSE = Packed(version=24, inflight=8, uncacheable=1)
MISS_INSERT, MISS_WRITE_KEY, MISS_TAKE, MISS_READ_KEY, MISS_RELEASE, MISS_MARK = range(6)
MISS_ENTRY = Packed(kind=2, hash=32, key_length=8, version=24, store_id=32, chunk=30)
SERVER = Packed(address=32, port=16)
MISS_TAG = Packed(opcode=8, opaque=32, client_address=32, client_port=16, server=SERVER)
MISS_REQUEST = Packed(command=3, slot=8, window=3, tag=MISS_TAG, entry=MISS_ENTRY, key=256)
MISS_RESPONSE = Packed(hit=1, ambiguous=1, slot=8, entry=MISS_ENTRY, key=256)
OPERATION = Packed(
    ok=1,
    refused=1,
    last=1,
    response=1,
    opcode=8,
    key_length=8,
    extras_length=8,
    body_length=16,
    status_ok=1,
    opaque=32,
    cas=64,
    flags=32,
    get=1,
    echoes_key=1,
    quiet=1,
    flush=1,
    delayed_flush=1,
    mutation=1,
    storable=1,
    expiring=1,
)


def stride(bits: int) -> int:
    """Bits from one request to the next in an array (`lake_pkg`): whole words of 32 bits."""
    return -(-bits // 32) * 32


def join(values: list[int], bits: int) -> int:
    """A packed array of words of `bits` bits: the first word is the least significant."""
    return sum(value << (index * bits) for index, value in enumerate(values))


async def start(dut: Any, **inputs: int) -> None:
    """Starts the clock, and resets the module with these values at its inputs."""
    cocotb.start_soon(Clock(dut.clk, 5, "ns").start())
    dut.rst.value = 1
    for name, value in inputs.items():
        getattr(dut, name).value = value
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
