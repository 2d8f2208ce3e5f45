"""Frames leave whole and in the order of their port, from ports that are eligible."""

from __future__ import annotations

from typing import Any

import cocotb
from streams import Bench, Sink, Source, random_frame, valid_without_ready

TOP = "weighted_mux"
PARAMETERS = [{"PORTS": 3, "BYTES": 64}, {"PORTS": 1, "BYTES": 64}]


def start(dut: Any, pace: float | None) -> tuple[Bench, Source, Sink]:
    bench = Bench(dut)
    ports = len(dut.s_valid)
    dut.weight.value = sum(2000 << 16 * at for at in range(ports))
    dut.rate.value = 0
    dut.eligible.value = (1 << ports) - 1
    return (
        bench,
        # Whole frames wait at the ports.
        Source(bench, lanes=ports, width=64, pace=1.0),
        Sink(bench, width=64, pace=pace, beside=("m_port",)),
    )


@cocotb.test()
async def frames_leave_whole_and_in_order(dut: Any) -> None:
    bench, source, sink = start(dut, None)
    await bench.start()
    ports = len(dut.s_valid)
    sent = [[random_frame(bench.rng) for _ in range(150)] for _ in range(ports)]
    for lane, frames in enumerate(sent):
        for each in frames:
            source.send(each, lane)
    await bench.until(lambda: sink.count == 150 * ports, 60000)
    for lane, frames in enumerate(sent):
        got = [each for each in sink.frames[0] if each.beside["m_port"] == 1 << lane]
        assert got == frames


@cocotb.test()
async def only_eligible_ports_take_part(dut: Any) -> None:
    bench, source, sink = start(dut, 1.0)
    await bench.start()
    ports = len(dut.s_valid)
    for _ in range(20):
        for lane in range(ports):
            source.send(random_frame(bench.rng), lane)
    dut.eligible.value = 1
    await bench.until(lambda: sink.count == 20, 2000)
    await bench.step(50)
    assert all(each.beside["m_port"] == 1 for each in sink.frames[0])
    dut.eligible.value = (1 << ports) - 1
    await bench.until(lambda: sink.count == 20 * ports, 4000)


@cocotb.test()
async def valid_does_not_wait_for_ready(dut: Any) -> None:
    bench, source, sink = start(dut, 1.0)
    await bench.start()
    source.send(random_frame(bench.rng))
    await valid_without_ready(bench, sink)
