"""The round-robin arbiter grants one request, fairly."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from streams import Bench

TOP = "round_robin_arbiter"
PARAMETERS = [{"REQUESTS": 5}]


@cocotb.test()
async def grants_are_one_hot_and_fair(dut: Any) -> None:
    bench = Bench(dut)
    dut.request.value = 0
    dut.accept.value = 0
    await bench.start()
    rng, count = bench.rng, len(dut.request)
    request, last = 0, count - 1
    waits = [0] * count
    for _ in range(3000):
        # A request stays until it is granted.
        request |= rng.getrandbits(count) & rng.getrandbits(count)
        accept = rng.random() < 0.8
        dut.request.value = request
        dut.accept.value = int(accept)
        await ReadOnly()
        order = [(last + 1 + i) % count for i in range(count)]
        expected = next((1 << i for i in order if request >> i & 1), 0)
        grant = int(dut.grant.value)
        assert grant == expected, f"request {request:b} after {last}: grant {grant:b}"
        await RisingEdge(dut.clk)
        if accept and grant:
            last = grant.bit_length() - 1
            request &= ~grant
            for i in range(count):
                waits[i] = waits[i] + 1 if request >> i & 1 else 0
                assert waits[i] <= count - 1
