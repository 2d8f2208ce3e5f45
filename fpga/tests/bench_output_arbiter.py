"""The output arbiter prefers normal frames and marks those of LaKe."""

from __future__ import annotations

from typing import Any

import cocotb
from streams import Bench, Frame, Sink, Source, random_frame, valid_without_ready

TOP = "output_arbiter"
PARAMETERS = [{"BYTES": 32}]


def drivers(dut: Any, pace: float | None = None) -> tuple[Bench, Source, Source, Sink]:
    bench = Bench(dut)
    normal = Source(bench, "normal", pace=pace)
    lake = Source(bench, "lake", pace=pace)
    return bench, normal, lake, Sink(bench, pace=pace, beside=["m_drop_eligible"])


@cocotb.test()
async def both_pass_in_order(dut: Any) -> None:
    bench, normal, lake, sink = drivers(dut)
    await bench.start()
    sent = {
        path: [random_frame(bench.rng, source) for _ in range(60)]
        for source, path in enumerate((normal, lake))
    }
    for path, frames in sent.items():
        for frame in frames:
            path.send(frame)
    await bench.until(lambda: sink.count == 120, 40000)
    for source, frames in enumerate(sent.values()):
        received = [frame for frame in sink.frames[0] if frame.source == source]
        assert received == frames
        assert all(frame.beside["m_drop_eligible"] == source for frame in received)


@cocotb.test()
async def normal_frames_wait_for_one_frame_at_most(dut: Any) -> None:
    bench, normal, lake, sink = drivers(dut, pace=1.0)
    await bench.start()
    for _ in range(200):
        lake.send(Frame(bench.rng.randbytes(90), 1))
    for number in range(30):
        await bench.step(bench.rng.randrange(1, 12))
        normal.send(Frame(bench.rng.randbytes(90), 0))
        start = bench.cycle
        await bench.until(lambda number=number: normal.sent[0] == number + 1, 12)
        assert bench.cycle - start <= 6
    assert not lake.idle
    await bench.until(lambda: sink.count == 230, 1000)


@cocotb.test()
async def a_full_normal_path_keeps_the_output(dut: Any) -> None:
    bench, normal, lake, sink = drivers(dut, pace=1.0)
    await bench.start()
    for _ in range(50):
        normal.send(Frame(bench.rng.randbytes(60), 0))
        lake.send(Frame(bench.rng.randbytes(60), 1))
    await bench.until(lambda: sink.count == 100, 250)
    assert [frame.source for frame in sink.frames[0]] == [0] * 50 + [1] * 50


@cocotb.test()
async def reset_in_a_frame_leaves_nothing(dut: Any) -> None:
    bench, normal, lake, sink = drivers(dut)
    await bench.start()
    for _ in range(10):
        lake.send(random_frame(bench.rng))
        await bench.until(lambda: lake.in_frame or lake.idle, 2000)
        await bench.reset()
        sink.frames[0].clear()
        frame = random_frame(bench.rng)
        normal.send(frame)
        await valid_without_ready(bench, sink)
        await bench.until(lambda: sink.count == 1, 2000)
        assert sink.frames[0] == [frame]
