"""The first lines are written with zero before the first request passes."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from packed import LINE_REQUEST, start

TOP = "line_clearer"
PARAMETERS = [{"LINES": 40, "TAG_BITS": 3}]


@cocotb.test()
async def every_line_is_cleared_once_then_requests_pass(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    for _ in range(2):  # the second time: reset while it runs
        wish = LINE_REQUEST.pack(write=1, address=99, data=5)
        await start(dut, s_valid=1, s_request=wish, s_tag=3, m_ready=0)
        cleared = []
        passed = 0
        for _ in range(400):
            dut.m_ready.value = int(rng.random() < 0.6)
            await RisingEdge(dut.clk)
            if not (dut.m_valid.value and dut.m_ready.value):
                continue
            if int(dut.done.value):
                assert int(dut.m_request.value) == wish
                assert int(dut.m_tag.value) == 3
                assert dut.s_ready.value
                passed += 1
            else:
                assert not dut.s_ready.value
                request = LINE_REQUEST.unpack(int(dut.m_request.value))
                assert (request["write"], request["data"]) == (1, 0)
                cleared.append(request["address"])
        assert cleared == list(range(40))
        assert passed > 50
