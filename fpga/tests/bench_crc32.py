"""crc32 equals zlib.crc32, whatever the pieces."""

from __future__ import annotations

import random
import zlib
from typing import Any

import cocotb
from cocotb.triggers import Timer

TOP = "crc32"
PARAMETERS = [{"BYTES": 8}, {"BYTES": 3}]
MASK = 0xFFFF_FFFF


async def crc_of(dut: Any, data: bytes, rng: random.Random) -> int:
    """The CRC that the module computes, in pieces of random length."""
    state, done, width = MASK, 0, len(dut.data) // 8
    while done < len(data):
        count = min(rng.randrange(width + 1), len(data) - done)
        piece = data[done : done + count] + rng.randbytes(width - count)
        dut.state.value = state
        dut.data.value = int.from_bytes(piece, "little")
        dut.bytes.value = count
        await Timer(1, "ns")
        state = int(dut.next.value)
        done += count
    return state ^ MASK


@cocotb.test()
async def equals_zlib(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    assert await crc_of(dut, b"", rng) == 0
    assert await crc_of(dut, b"123456789", rng) == 0xCBF43926
    for length in [*range(1, 40), *(rng.randrange(40, 300) for _ in range(30))]:
        data = rng.randbytes(length)
        assert await crc_of(dut, data, rng) == zlib.crc32(data)
