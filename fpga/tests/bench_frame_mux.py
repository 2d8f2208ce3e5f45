"""The multiplexer of frames keeps frames whole, serves its ports fairly or by priority."""

from __future__ import annotations

from typing import Any

import cocotb
from streams import Bench, Frame, Sink, Source, random_frame, valid_without_ready

TOP = "frame_mux"
PARAMETERS = [{"PORTS": 4, "STRICT": 0}, {"PORTS": 2, "STRICT": 1}]


def drivers(
    dut: Any, pace: float | None = None, sink_pace: float | None = None
) -> tuple[Bench, int, Source, Sink]:
    bench = Bench(dut)
    ports = len(dut.s_valid)
    source = Source(bench, lanes=ports, pace=pace)
    return bench, ports, source, Sink(bench, beside=["m_port"], pace=sink_pace)


@cocotb.test()
async def frames_arrive_whole_and_in_order_of_their_port(dut: Any) -> None:
    bench, ports, source, sink = drivers(dut)
    await bench.start()
    sent = [[random_frame(bench.rng, source=lane) for _ in range(30)] for lane in range(ports)]
    for lane in range(ports):
        for frame in sent[lane]:
            source.send(frame, lane)
    await bench.until(lambda: sink.count == 30 * ports, 30000)
    for lane in range(ports):
        assert [frame for frame in sink.frames[0] if frame.source == lane] == sent[lane]
    assert all(frame.beside["m_port"] == 1 << frame.source for frame in sink.frames[0])


@cocotb.test()
async def busy_ports_take_turns_or_the_first_has_priority(dut: Any) -> None:
    bench, ports, source, sink = drivers(dut, pace=1.0, sink_pace=1.0)
    await bench.start()
    each, words = 40, 2
    for lane in range(ports):
        for _ in range(each):
            source.send(Frame(bench.rng.randbytes(60), lane), lane)
    start = bench.cycle
    await bench.until(lambda: sink.count == each * ports, 2 * words * each * ports)
    order = [frame.source for frame in sink.frames[0]]
    if int(dut.STRICT.value):
        assert order == sorted(order)
    else:
        assert order == list(range(ports)) * each
    assert bench.cycle - start <= words * each * ports + 3, "a word a cycle"


@cocotb.test()
async def a_frame_that_has_begun_is_not_interrupted(dut: Any) -> None:
    bench, ports, source, sink = drivers(dut, pace=1.0)
    await bench.start()
    last = ports - 1
    long = random_frame(bench.rng, source=last)
    long = Frame(long.data * 40, last)
    source.send(long, last)
    await bench.until(lambda: source.in_frame, 100)
    await bench.step(3)
    for lane in range(last):
        source.send(random_frame(bench.rng, source=lane), lane)
    await bench.until(lambda: sink.count == ports, 40000)
    assert sink.frames[0][0] == long


@cocotb.test()
async def reset_in_a_frame_leaves_nothing(dut: Any) -> None:
    bench, ports, source, sink = drivers(dut)
    await bench.start()
    for _ in range(12):
        for lane in range(ports):
            source.send(random_frame(bench.rng, source=lane), lane)
        await bench.until(lambda: source.in_frame or source.idle, 2000)
        await bench.step(bench.rng.randrange(4))
        await bench.reset()
        sink.frames[0].clear()
        lane = bench.rng.randrange(ports)
        frame = random_frame(bench.rng, source=lane)
        source.send(frame, lane)
        await valid_without_ready(bench, sink)
        await bench.until(lambda: sink.count == 1, 2000)
        assert sink.frames[0] == [frame]
