"""The output queues copy a frame to the ports of its mask, and a full port loses whole frames."""

from __future__ import annotations

from typing import Any

import cocotb
from streams import Bench, Frame, Sink, Source, random_frame, valid_without_ready, words_of

TOP = "output_queues"
PARAMETERS = [{"PORTS": 5, "DEPTH": 128, "RESERVED": 64}]
DEPTH, RESERVED = 128, 64


def drivers(
    dut: Any, pace: float | None = None, sink_pace: float | None = None
) -> tuple[Bench, int, Source, Sink]:
    bench = Bench(dut)
    ports = len(dut.m_valid)
    source = Source(bench, pace=pace, beside=["s_drop_eligible"])
    return bench, ports, source, Sink(bench, lanes=ports, pace=sink_pace)


def counts(signal: Any) -> list[int]:
    value = int(signal.value)
    return [value >> 32 * i & 0xFFFF_FFFF for i in range(len(signal) // 32)]


def check(dut: Any, sent: list[Frame], sink: Sink) -> None:
    """Each port has, in order, frames that were for it; what lacks is counted."""
    for port, received in enumerate(sink.frames):
        wanted = [frame for frame in sent if frame.destination >> port & 1]
        rest = iter(wanted)
        assert all(frame in rest for frame in received)
        assert counts(dut.accepted)[port] == len(received)
        assert counts(dut.dropped)[port] == len(wanted) - len(received)


@cocotb.test()
async def frames_go_to_the_ports_of_their_mask(dut: Any) -> None:
    bench, ports, source, sink = drivers(dut, pace=0.25, sink_pace=0.7)
    await bench.start()
    sent = [
        random_frame(bench.rng, destination=bench.rng.getrandbits(ports), s_drop_eligible=0)
        for _ in range(80)
    ]
    for frame in sent:
        source.send(frame)
    await bench.until(lambda: source.idle, 20000)
    await bench.step(300)
    check(dut, sent, sink)
    assert sum(counts(dut.dropped)) == 0
    assert source.stalls == 0


@cocotb.test()
async def overload_drops_whole_frames_at_the_full_port_only(dut: Any) -> None:
    bench, ports, source, sink = drivers(dut, pace=1.0)
    # The last port is never full.
    sink.paces[ports - 1].fixed = 1.0
    await bench.start()
    sent = [
        random_frame(
            bench.rng,
            destination=bench.rng.getrandbits(ports) | 1 << ports - 1,
            s_drop_eligible=bench.rng.getrandbits(1) if number < 60 else 0,
        )
        for number in range(120)
    ]
    for frame in sent:
        source.send(frame)
    await bench.until(lambda: source.idle, 6000)
    await bench.step(1500)
    check(dut, sent, sink)
    dropped = counts(dut.dropped)
    assert sum(dropped[: ports - 1]) > 0
    assert source.stalls == 0


@cocotb.test()
async def normal_frames_find_space_behind_many_of_lake(dut: Any) -> None:
    bench, _, source, sink = drivers(dut, pace=1.0, sink_pace=0.0)
    await bench.start()
    lake = [Frame(bench.rng.randbytes(60), 1, 1, {"s_drop_eligible": 1}) for _ in range(100)]
    normal = [Frame(bench.rng.randbytes(60), 2, 1, {"s_drop_eligible": 0}) for _ in range(31)]
    for frame in [*lake, *normal]:
        source.send(frame)
    await bench.until(lambda: source.idle, 600)
    await bench.step(3)
    dropped = counts(dut.dropped)[0]
    # The queue takes LaKe's frames until half of it is left: 64 words, and one more frame.
    room = (DEPTH - RESERVED) // 2 + 1
    assert room <= len(lake) - dropped <= room + 1
    sink.paces[0].fixed = 1.0
    await bench.until(lambda: sink.count == 131 - dropped, 400)
    assert [frame for frame in sink.frames[0] if frame.source == 2] == normal
    assert words_of(60, 32) == 2


@cocotb.test()
async def one_word_a_cycle(dut: Any) -> None:
    bench, ports, source, sink = drivers(dut, pace=1.0, sink_pace=1.0)
    await bench.start()
    everywhere = (1 << ports) - 1
    sent = [
        Frame(bench.rng.randbytes(60), 0, everywhere, {"s_drop_eligible": 0}) for _ in range(100)
    ]
    for frame in sent:
        source.send(frame)
    await bench.until(lambda: sink.count == 100 * ports, 206)
    check(dut, sent, sink)


@cocotb.test()
async def reset_in_a_frame_leaves_nothing(dut: Any) -> None:
    bench, ports, source, sink = drivers(dut)
    await bench.start()
    for _ in range(8):
        for _ in range(3):
            everywhere = (1 << ports) - 1
            source.send(random_frame(bench.rng, destination=everywhere, s_drop_eligible=0))
        await bench.until(lambda: source.in_frame or source.idle, 2000)
        await bench.step(bench.rng.randrange(60))
        await bench.reset()
        for frames in sink.frames:
            frames.clear()
        assert sum(counts(dut.dropped)) == 0
        frame = random_frame(bench.rng, destination=1 << ports - 1, s_drop_eligible=0)
        source.send(frame)
        await valid_without_ready(bench, sink)
        await bench.until(lambda: sink.count == 1, 2000)
        assert sink.frames[ports - 1] == [frame]
