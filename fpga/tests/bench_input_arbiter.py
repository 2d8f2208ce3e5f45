"""The input arbiter passes the frames of all ports, marks their port, and is fair."""

from __future__ import annotations

from typing import Any

import cocotb
from streams import Bench, Frame, Sink, Source, random_frame, valid_without_ready

TOP = "input_arbiter"
PARAMETERS = [{"PORTS": 5, "BYTES": 32}]


def drivers(dut: Any, pace: float | None = None) -> tuple[Bench, int, Source, Sink]:
    bench = Bench(dut)
    ports = len(dut.s_valid)
    source = Source(
        bench,
        lanes=ports,
        pace=pace,
        meta=lambda frame: len(frame.data),
        meta_bits=16,
        meta_name="length",
    )
    return bench, ports, source, Sink(bench, pace=pace)


@cocotb.test()
async def frames_of_all_ports_arrive_with_their_port(dut: Any) -> None:
    bench, ports, source, sink = drivers(dut)
    await bench.start()
    sent = [[random_frame(bench.rng, 1 << port, 0) for _ in range(30)] for port in range(ports)]
    for port in range(ports):
        for frame in sent[port]:
            source.send(frame, port)
    await bench.until(lambda: sink.count == 30 * ports, 40000)
    for port in range(ports):
        assert [frame for frame in sink.frames[0] if frame.source == 1 << port] == sent[port]
    received = int(dut.received.value)
    assert all(received >> 32 * port & 0xFFFF_FFFF == 30 for port in range(ports))


@cocotb.test()
async def minimal_frames_use_every_cycle(dut: Any) -> None:
    bench, ports, source, sink = drivers(dut, pace=1.0)
    await bench.start()
    each = 40
    for port in range(ports):
        for _ in range(each):
            source.send(Frame(bench.rng.randbytes(60)), port)
    start = bench.cycle
    await bench.until(lambda: sink.count == each * ports, 4 * each * ports)
    assert bench.cycle - start <= 2 * each * ports + 8
    order = [frame.source for frame in sink.frames[0]]
    for turn in range(1, each):
        assert len(set(order[turn * ports : (turn + 1) * ports])) == ports


@cocotb.test()
async def a_slow_port_does_not_hold_up_others(dut: Any) -> None:
    bench, ports, source, sink = drivers(dut, pace=1.0)
    source.paces[0].fixed = 0.05
    await bench.start()
    source.send(Frame(bench.rng.randbytes(1600)), 0)
    await bench.until(lambda: source.in_frame, 200)
    for _ in range(20):
        source.send(Frame(bench.rng.randbytes(60)), 1)
    await bench.until(lambda: sink.count == 20, 60)
    await bench.until(lambda: sink.count == 21, 8000)
    assert ports > 1


@cocotb.test()
async def reset_in_a_frame_leaves_nothing(dut: Any) -> None:
    bench, ports, source, sink = drivers(dut)
    await bench.start()
    for _ in range(10):
        for port in range(ports):
            source.send(random_frame(bench.rng), port)
        await bench.until(lambda: source.in_frame or source.idle, 2000)
        await bench.step(bench.rng.randrange(60))
        await bench.reset()
        sink.frames[0].clear()
        port = bench.rng.randrange(ports)
        frame = random_frame(bench.rng, 1 << port, 0)
        source.send(frame, port)
        await valid_without_ready(bench, sink)
        await bench.until(lambda: sink.count == 1, 3000)
        assert sink.frames[0] == [frame]
