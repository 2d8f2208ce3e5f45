"""The demultiplexer sends a frame to the ports of its mask, whole and once."""

from __future__ import annotations

from typing import Any

import cocotb
from streams import Bench, Frame, Sink, Source, random_frame, valid_without_ready

TOP = "frame_demux"
PARAMETERS = [{"PORTS": 3}]


def drivers(dut: Any, pace: float | None = None) -> tuple[Bench, int, Source, Sink]:
    bench = Bench(dut)
    ports = len(dut.m_valid)
    source = Source(bench, beside=["s_select"], pace=pace)
    return bench, ports, source, Sink(bench, lanes=ports, shared=True, pace=pace)


def copies(frames: list[Frame], port: int) -> list[Frame]:
    return [frame for frame in frames if frame.beside["s_select"] >> port & 1]


@cocotb.test()
async def frames_go_to_the_ports_of_their_mask(dut: Any) -> None:
    bench, ports, source, sink = drivers(dut)
    await bench.start()
    sent = [random_frame(bench.rng, s_select=bench.rng.getrandbits(ports)) for _ in range(120)]
    for frame in sent:
        source.send(frame)
    await bench.until(lambda: source.idle, 40000)
    await bench.step(200)
    for port in range(ports):
        assert sink.frames[port] == copies(sent, port)


@cocotb.test()
async def only_the_mask_of_the_first_word_counts(dut: Any) -> None:
    bench, ports, source, sink = drivers(dut, pace=1.0)
    await bench.start()
    frame = Frame(bench.rng.randbytes(320), beside={"s_select": 1})
    source.send(frame)
    await bench.until(lambda: source.in_frame, 20)
    frame.beside["s_select"] = 2  # type: ignore[index]
    await bench.until(lambda: source.idle, 40)
    await bench.step(3)
    assert sink.frames == [[frame]] + [[]] * (ports - 1)


@cocotb.test()
async def one_word_a_cycle(dut: Any) -> None:
    bench, ports, source, sink = drivers(dut, pace=1.0)
    await bench.start()
    sent = [
        Frame(bench.rng.randbytes(60), beside={"s_select": bench.rng.randrange(1, 1 << ports)})
        for _ in range(100)
    ]
    for frame in sent:
        source.send(frame)
    await bench.until(lambda: source.idle, 201)
    await bench.step(3)
    for port in range(ports):
        assert sink.frames[port] == copies(sent, port)


@cocotb.test()
async def reset_in_a_frame_leaves_nothing(dut: Any) -> None:
    bench, ports, source, sink = drivers(dut)
    await bench.start()
    for _ in range(12):
        source.send(random_frame(bench.rng, s_select=bench.rng.getrandbits(ports)))
        await bench.until(lambda: source.in_frame or source.idle, 2000)
        await bench.step(bench.rng.randrange(4))
        await bench.reset()
        for frames in sink.frames:
            frames.clear()
        frame = random_frame(bench.rng, s_select=1 << bench.rng.randrange(ports))
        source.send(frame)
        await valid_without_ready(bench, sink)
        await bench.until(lambda: sink.count == 1, 2000)
        assert [copies([frame], port) for port in range(ports)] == sink.frames
