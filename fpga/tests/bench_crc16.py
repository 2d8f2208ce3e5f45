"""crc16 equals binascii.crc_hqx, whatever the pieces."""

from __future__ import annotations

import binascii
import random
from typing import Any

import cocotb
from cocotb.triggers import Timer

TOP = "crc16"
PARAMETERS = [{"BYTES": 8}]


async def crc_of(dut: Any, data: bytes, rng: random.Random) -> int:
    """The CRC that the module computes, in pieces of random length."""
    state, done, width = 0, 0, len(dut.data) // 8
    while done < len(data):
        count = min(rng.randrange(width + 1), len(data) - done)
        piece = data[done : done + count] + rng.randbytes(width - count)
        dut.state.value = state
        dut.data.value = int.from_bytes(piece, "little")
        dut.bytes.value = count
        await Timer(1, "ns")
        state = int(dut.next.value)
        done += count
    return state


@cocotb.test()
async def equals_crc_hqx(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    assert await crc_of(dut, b"123456789", rng) == 0x31C3
    for length in [*range(40), *(rng.randrange(40, 300) for _ in range(30))]:
        data = rng.randbytes(length)
        assert await crc_of(dut, data, rng) == binascii.crc_hqx(data, 0)
