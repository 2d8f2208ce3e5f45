"""The registers keep what software writes, and show what the design reports."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from streams import Bench

TOP = "register_file"
PARAMETERS = [{"CONTROLS": 3, "STATUSES": 4}]


@cocotb.test()
async def controls_and_statuses(dut: Any) -> None:
    bench = Bench(dut)
    rng = bench.rng
    dut.write.value = 0
    dut.read.value = 0
    await bench.start()
    controls, statuses = len(dut.control) // 32, len(dut.status) // 32
    model = [0] * controls
    status = [rng.getrandbits(32) for _ in range(statuses)]
    expected = None
    for _ in range(1500):
        word, write, read = rng.randrange(controls + statuses + 2), rng.random() < 0.4, True
        value = rng.getrandbits(32)
        dut.address.value = 4 * word
        dut.write.value = int(write)
        dut.read.value = int(read)
        dut.wdata.value = value
        dut.status.value = sum(each << 32 * i for i, each in enumerate(status))
        await RisingEdge(dut.clk)
        if expected is not None:
            assert int(dut.rdata.value) == expected
        assert int(dut.control.value) == sum(each << 32 * i for i, each in enumerate(model))
        expected = ([*model, *status, 0, 0])[word]
        if write and word < controls:
            model[word] = value
    await bench.reset()
    await RisingEdge(dut.clk)
    assert int(dut.control.value) == 0
