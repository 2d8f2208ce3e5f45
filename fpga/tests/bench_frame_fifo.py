"""The frame FIFO keeps whole frames in order, and drops whole frames or stalls when it is full."""

from __future__ import annotations

from typing import Any

import cocotb
from streams import Bench, Frame, Sink, Source, random_frame, valid_without_ready, words_of

TOP = "frame_fifo"
PARAMETERS = [
    {"DEPTH": 64, "DROP": 0},
    {"DEPTH": 64, "DROP": 1},
    {"DEPTH": 16, "DROP": 0, "CUT_THROUGH": 1},
    {"DEPTH": 32, "DROP": 1, "BYTES": 64},
]


def drops(dut: Any) -> bool:
    return bool(int(dut.DROP.value))


def words(dut: Any) -> tuple[int, int]:
    """Bytes of a word, words of the FIFO."""
    return len(dut.m_data) // 8, 1 << (len(dut.level) - 1)


@cocotb.test()
async def frames_pass_in_order(dut: Any) -> None:
    bench = Bench(dut)
    width, _ = words(dut)
    source, sink = Source(bench, width=width), Sink(bench, width=width)
    await bench.start()
    sent = [random_frame(bench.rng) for _ in range(120)]
    for frame in sent:
        source.send(frame)
    await bench.until(lambda: source.idle, 12000)
    await bench.step(1000)
    received = sink.frames[0]
    if not drops(dut):
        assert received == sent
        assert int(dut.dropped.value) == 0
    else:
        # What arrives is what was sent, without some frames.
        rest = iter(sent)
        assert all(frame in rest for frame in received)
        assert int(dut.dropped.value) == len(sent) - len(received)
        assert len(received) > len(sent) // 4
        assert source.stalls == 0
    assert int(dut.accepted.value) == len(received)
    assert int(dut.level.value) == 0


@cocotb.test()
async def full_fifo_loses_only_what_does_not_fit(dut: Any) -> None:
    bench = Bench(dut)
    width, depth = words(dut)
    source, sink = Source(bench, width=width, pace=1.0), Sink(bench, width=width, pace=0.0)
    await bench.start()
    sent, expected, used = [], [], 0
    for _ in range(40):
        # The reader takes nothing: one word goes to its register when a frame is complete.
        frame = Frame(bench.rng.randbytes(width * bench.rng.randrange(1, depth // 2)))
        count = words_of(len(frame.data), width)
        space = depth - used + (1 if expected else 0)
        sent.append(frame)
        if count <= space:
            expected.append(frame)
            used += count
        source.send(frame)
        await bench.until(lambda: source.idle, 2 * depth) if drops(dut) else None
        await bench.step(3)
    if not drops(dut):
        await bench.step(2 * depth)
        assert int(dut.level.value) == depth
        expected = sent
    else:
        assert int(dut.dropped.value) == len(sent) - len(expected)
    # Then everything comes out, a word a cycle.
    sink.paces[0].fixed = 1.0
    await bench.until(lambda: sink.count == len(expected), 4 * depth * len(expected))
    await bench.step(5)
    assert sink.frames[0] == expected


@cocotb.test()
async def one_word_a_cycle(dut: Any) -> None:
    bench = Bench(dut)
    width, depth = words(dut)
    source, sink = Source(bench, width=width, pace=1.0), Sink(bench, width=width, pace=1.0)
    await bench.start()
    sent = [Frame(bench.rng.randbytes(min(60, 2 * width)), i & 255) for i in range(200)]
    for frame in sent:
        source.send(frame)
    start = bench.cycle
    total = sum(words_of(len(frame.data), width) for frame in sent)
    await bench.until(lambda: sink.count == len(sent), 2 * total)
    assert sink.frames[0] == sent
    assert bench.cycle - start <= total + 6
    assert depth > 4


@cocotb.test()
async def reset_in_a_frame_leaves_nothing(dut: Any) -> None:
    bench = Bench(dut)
    width, depth = words(dut)
    source, sink = Source(bench, width=width), Sink(bench, width=width)
    await bench.start()
    for turn in range(10):
        for _ in range(4):
            source.send(random_frame(bench.rng))
        # In some turns the frame is too long: its rest is discarded.
        source.send(Frame(bench.rng.randbytes(3 * width * depth)))
        if turn % 2:
            sink.paces[0].fixed = 0.0
        await bench.step(bench.rng.randrange(5, 80))
        if turn % 2 and drops(dut):
            await bench.until(lambda: source.sent[0] >= 4 or source.idle, 3000)
            await bench.step(3 * depth)
        sink.paces[0].fixed = None
        await bench.until(lambda: source.in_frame or source.idle, 500)
        await bench.reset()
        sink.frames[0].clear()
        assert int(dut.m_valid.value) == 0
        assert int(dut.level.value) == 0
        frame = Frame(bench.rng.randbytes(100), 1, 2)
        source.send(frame)
        await valid_without_ready(bench, sink)
        await bench.until(lambda: sink.count == 1, 200)
        assert sink.frames[0] == [frame]


@cocotb.test()
async def longer_frames_than_the_fifo(dut: Any) -> None:
    bench = Bench(dut)
    width, depth = words(dut)
    source, sink = Source(bench, width=width), Sink(bench, width=width)
    await bench.start()
    long = Frame(bench.rng.randbytes(width * depth + 1))
    whole = Frame(bench.rng.randbytes(width * depth))
    for frame in (long, whole, long):
        source.send(frame)
        await bench.until(lambda: source.idle, 20 * depth)
        await bench.step(20 * depth)
    assert sink.frames[0] == ([whole] if drops(dut) else [long, whole, long])
