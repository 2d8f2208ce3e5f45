"""The skid buffer passes every word once and in order, whatever stalls on either side."""

from __future__ import annotations

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

TOP = "skid_buffer"
PARAMETERS = [{"WIDTH": 16}]


@cocotb.test()
async def words_pass_in_order(dut: object) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    cocotb.start_soon(Clock(dut.clk, 5, "ns").start())
    dut.rst.value = 1
    dut.s_valid.value = 0
    dut.m_ready.value = 0
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    words = [rng.randrange(1 << 16) for _ in range(2000)]
    sent, received = 0, []
    while len(received) < len(words):
        dut.s_valid.value = int(sent < len(words) and rng.random() < 0.7)
        dut.s_data.value = words[min(sent, len(words) - 1)]
        dut.m_ready.value = int(rng.random() < 0.6)
        await RisingEdge(dut.clk)
        if dut.s_valid.value and dut.s_ready.value:
            sent += 1
        if dut.m_valid.value and dut.m_ready.value:
            received.append(int(dut.m_data.value))
    assert received == words
