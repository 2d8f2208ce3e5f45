"""The widener puts two words into one; a frame may end with half a word."""

from __future__ import annotations

from typing import Any

import cocotb
from streams import Bench, Frame, Sink, Source, random_frame, valid_without_ready

TOP = "word_widener"
PARAMETERS = [{}]


def drivers(dut: Any, pace: float | None = None) -> tuple[Bench, Source, Sink]:
    bench = Bench(dut)
    return bench, Source(bench, pace=pace), Sink(bench, width=64, pace=pace)


@cocotb.test()
async def frames_pass_unchanged(dut: Any) -> None:
    bench, source, sink = drivers(dut)
    await bench.start()
    sent = [Frame(bench.rng.randbytes(length)) for length in (60, 63, 64, 65, 96, 97, 128, 129)]
    sent += [random_frame(bench.rng) for _ in range(60)]
    for frame in sent:
        source.send(frame)
    await bench.until(lambda: sink.count == len(sent), 40000)
    assert sink.frames[0] == sent


@cocotb.test()
async def one_word_a_cycle(dut: Any) -> None:
    bench, source, sink = drivers(dut, pace=1.0)
    await bench.start()
    for _ in range(100):
        source.send(Frame(bench.rng.randbytes(70)))
    start = bench.cycle
    await bench.until(lambda: sink.count == 100, 400)
    # Three words of 32 bytes each.
    assert bench.cycle - start <= 305


@cocotb.test()
async def reset_in_a_frame_leaves_nothing(dut: Any) -> None:
    bench, source, sink = drivers(dut)
    await bench.start()
    for _ in range(10):
        source.send(random_frame(bench.rng))
        await bench.until(lambda: source.in_frame or source.idle, 2000)
        await bench.reset()
        sink.frames[0].clear()
        frame = random_frame(bench.rng)
        source.send(frame)
        await valid_without_ready(bench, sink)
        await bench.until(lambda: sink.count == 1, 2000)
        assert sink.frames[0] == [frame]
