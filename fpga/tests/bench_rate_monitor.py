"""The rate monitor counts events in a window and decides with hysteresis."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from streams import Bench

TOP = "rate_monitor"
PARAMETERS = [{"WINDOW_LOG2": 5}]


@cocotb.test()
async def counts_and_hysteresis(dut: Any) -> None:
    bench = Bench(dut)
    rng, window = bench.rng, 32
    dut.count.value = 0
    dut.threshold_on.value = 20
    dut.threshold_off.value = 10
    await bench.start()
    high, last, seen = False, 0, set()
    for number in range(150):
        probability = rng.choice((0.0, 0.25, 0.33, 0.5, 0.6, 0.7, 1.0))
        # Exact thresholds are common.
        exact = rng.choice((None, 9, 10, 19, 20))
        cycles = set(rng.sample(range(window), exact)) if exact is not None else None
        events = 0
        for cycle in range(window):
            event = cycle in cycles if cycles is not None else rng.random() < probability
            events += event
            dut.count.value = int(event)
            await RisingEdge(dut.clk)
            if cycle and number:
                assert bool(int(dut.high.value)) == high
                assert int(dut.rate.value) == last
        last = events
        seen.add((high, events))
        high = events >= (10 if high else 20)
    assert {(False, 19), (False, 20), (True, 9), (True, 10)} <= seen
