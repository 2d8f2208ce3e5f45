"""The adder sums bytes as RFC 1071 does, whatever the pieces and their offsets."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import Timer
from frames import ones_complement_sum

TOP = "checksum_adder"
PARAMETERS = [{"BYTES": 32}, {"BYTES": 2}]


@cocotb.test()
async def equals_rfc_1071(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    width = len(dut.data) // 8
    for trial in range(60):
        length = trial if trial < 40 else rng.randrange(1, 600)
        # All ones give the most carries.
        data = b"\xff" * length if trial % 4 == 0 else rng.randbytes(length)
        total, done = 0, 0
        while done < length:
            count = min(rng.choice((width, rng.randrange(width + 1))), length - done)
            piece = data[done : done + count] + rng.randbytes(width - count)
            dut.sum.value = total
            dut.data.value = int.from_bytes(piece, "little")
            dut.bytes.value = count
            dut.odd.value = done & 1
            await Timer(1, "ns")
            total = int(dut.next.value)
            done += count
        assert total == ones_complement_sum(data)
