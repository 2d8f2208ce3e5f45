"""On-chip line memory: a read returns the last write, one cycle after its request."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from packed import LINE_REQUEST, start

TOP = "bram_memory"
PARAMETERS = [{"LINES": 16, "TAG_BITS": 3}]


@cocotb.test()
async def reads_see_the_last_write(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut, s_valid=0)
    golden: dict[int, int] = {}
    due: tuple[int, int] | None = None
    reads = 0
    for _ in range(3000):
        valid = rng.random() < 0.8
        write = int(rng.random() < 0.4)
        address, tag = rng.randrange(16), rng.randrange(5)
        write |= address not in golden
        data = rng.getrandbits(512)
        dut.s_valid.value = int(valid)
        dut.s_request.value = LINE_REQUEST.pack(write=write, address=address, data=data)
        dut.s_tag.value = tag
        await RisingEdge(dut.clk)
        assert dut.s_ready.value
        assert int(dut.s_response_valid.value) == int(due is not None)
        if due is not None:
            assert (int(dut.s_response_tag.value), int(dut.s_response.value)) == due
            reads += 1
        due = None
        if valid and write:
            golden[address] = data
        elif valid:
            due = (tag, golden[address])
    assert reads > 1000
