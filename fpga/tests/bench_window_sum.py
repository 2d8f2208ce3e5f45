"""The sum of a window is that of RFC 1071."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import Timer
from frames import ones_complement_sum

TOP = "window_sum"
PARAMETERS = [{"BYTES": 32}, {"BYTES": 64}]


@cocotb.test()
async def equals_rfc_1071(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    for trial in range(300):
        width = len(dut.window) // 8
        length = rng.randrange(width + 1)
        data = (b"\xff" * length if trial % 4 == 0 else rng.randbytes(length)).ljust(width, b"\0")
        dut.enable.value = 1
        dut.window.value = int.from_bytes(data, "little")
        await Timer(1, "ns")
        assert int(dut.sum.value) == ones_complement_sum(data)
