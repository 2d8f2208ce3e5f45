"""Counters add up the events of all elements."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from packed import start

TOP = "lake_counters"
PARAMETERS = [{"PES": 5}, {"PES": 1}]
EVENTS, STRIDE = 14, 32


@cocotb.test()
async def totals_are_those_of_the_events(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    pes = len(dut.busy)
    for _ in range(2):
        await start(dut, events=0, busy=0, starved=0)
        totals, busy_cycles, starved_cycles = [0] * EVENTS, 0, 0
        for _ in range(300):
            events = [rng.getrandbits(EVENTS) & rng.getrandbits(EVENTS) for _ in range(pes)]
            busy, starved = rng.getrandbits(pes), rng.getrandbits(1)
            dut.events.value = sum(each << pe * STRIDE for pe, each in enumerate(events))
            dut.busy.value, dut.starved.value = busy, starved
            await RisingEdge(dut.clk)
            for number in range(EVENTS):
                totals[number] += sum(each >> number & 1 for each in events)
            busy_cycles += busy.bit_count()
            starved_cycles += starved
        dut.events.value = dut.busy.value = dut.starved.value = 0
        await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)
        counters = int(dut.counters.value)
        assert [counters >> 32 * n & 0xFFFFFFFF for n in range(EVENTS)] == totals
        assert int(dut.busy_cycles.value) == busy_cycles
        assert int(dut.starved_cycles.value) == starved_cycles
