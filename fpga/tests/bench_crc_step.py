"""A step of a CRC over several bytes is that of the same bits, one after the other."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import Timer

TOP = "crc_step"
PARAMETERS = [{"BYTES": 8}, {"BYTES": 3}]
POLYNOMIAL = 0xEDB88320  # other ones: crc16


def serial(state: int, data: bytes) -> int:
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (POLYNOMIAL if state & 1 else 0)
    return state


@cocotb.test()
async def equals_the_bits_one_by_one(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    size = len(dut.data) // 8
    for _ in range(400):
        state, data, count = rng.getrandbits(32), rng.randbytes(size), rng.randrange(size + 1)
        dut.state.value = state
        dut.data.value = int.from_bytes(data, "little")
        dut.bytes.value = count
        await Timer(1, "ns")
        assert int(dut.next.value) == serial(state, data[:count])
