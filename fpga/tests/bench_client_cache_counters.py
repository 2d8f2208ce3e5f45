"""Each event of the function counts, and none of another."""

from __future__ import annotations

from typing import Any

import cocotb
from streams import Bench

TOP = "client_cache_counters"
PARAMETERS = [{"CONTROLLERS": 2, "FUNCTION": 1}, {"CONTROLLERS": 1, "FUNCTION": 0}]
EVENTS, PATH_EVENTS = 16, 5
SENT, RECEIVED = 2, 1  # bits of the events of the path


@cocotb.test()
async def totals_agree_with_a_model(dut: Any) -> None:
    bench = Bench(dut)
    rng = bench.rng
    controllers = len(dut.events) // EVENTS
    function = 1 if controllers == 2 else 0
    dut.events.value = dut.events_source.value = dut.path_events.value = 0
    await bench.start()
    totals = [0] * (EVENTS + PATH_EVENTS + 2)
    for _ in range(3000):
        # A function has events of one controller at a time.
        own = rng.randrange(controllers)
        events = [rng.getrandbits(EVENTS) if rng.random() < 0.5 else 0 for _ in range(controllers)]
        sources = [
            1 << (function if at == own and rng.random() < 0.7 else function + 1 + rng.randrange(3))
            for at in range(controllers)
        ]
        path = rng.getrandbits(PATH_EVENTS) if rng.random() < 0.5 else 0
        sent, received = rng.randrange(9217), rng.randrange(9217)
        dut.events.value = sum(each << EVENTS * at for at, each in enumerate(events))
        dut.events_source.value = sum(each << 8 * at for at, each in enumerate(sources))
        dut.path_events.value = path
        dut.sent_length.value, dut.received_length.value = sent, received
        await bench.step()
        raised = path
        for each, source in zip(events, sources, strict=True):
            if source == 1 << function:
                raised |= each << PATH_EVENTS
        for at in range(EVENTS + PATH_EVENTS):
            totals[at] += raised >> at & 1
        totals[-2] += sent * (path >> SENT & 1)
        totals[-1] += received * (path >> RECEIVED & 1)
    dut.events.value = dut.path_events.value = 0
    await bench.step(2)
    got = int(dut.counters.value)
    assert [got >> 32 * at & 0xFFFFFFFF for at in range(len(totals))] == totals
