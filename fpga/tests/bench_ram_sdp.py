"""The RAM returns what was written last, one cycle after the read."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

TOP = "ram_sdp"
PARAMETERS = [{"WIDTH": 72, "DEPTH": 16}]


@cocotb.test()
async def reads_return_the_last_write(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    cocotb.start_soon(Clock(dut.clk, 5, "ns").start())
    width, depth = len(dut.write_data), 1 << len(dut.write_address)
    memory: dict[int, int] = {}
    expected = None
    for step in range(2500):
        write = step < depth or rng.random() < 0.5
        where = step if step < depth else rng.randrange(depth)
        what = rng.getrandbits(width)
        # Reads of the word that is written in the same cycle are common.
        source = where if rng.random() < 0.3 else rng.randrange(depth)
        read = step >= depth and rng.random() < 0.7
        dut.write_enable.value = int(write)
        dut.write_address.value = where
        dut.write_data.value = what
        dut.read_enable.value = int(read)
        dut.read_address.value = source
        await RisingEdge(dut.clk)
        if expected is not None:
            assert int(dut.read_data.value) == expected
        if read:
            expected = memory[source]
        if write:
            memory[where] = what
