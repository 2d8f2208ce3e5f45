"""Frames reach the function whole; what finds no room is dropped; a stuck function is noticed."""

from __future__ import annotations

from typing import Any

import cocotb
from streams import Bench, Frame, Sink, Source, random_frame, words_of

TOP = "receive_path"
PARAMETERS = [{"PORTS": 3, "DEPTH": 256, "STUCK_LOG2": 7}]
DEPTH, STUCK = 256, 1 << 7


class Lab:
    def __init__(self, dut: Any, pace: float | None = None) -> None:
        self.dut, self.bench = dut, Bench(dut)
        self.source = Source(self.bench, lanes=3, width=64, pace=pace)
        self.sink = Sink(self.bench, width=64, pace=pace)
        self.pulses = {"received": 0, "dropped": 0}
        self.bench.drivers.append(self)

    def drive(self) -> None:
        pass

    def reset(self) -> None:
        pass

    def sample(self) -> None:
        for name in self.pulses:
            self.pulses[name] += int(getattr(self.dut, name).value)


@cocotb.test()
async def frames_arrive_in_the_order_of_their_port(dut: Any) -> None:
    lab = Lab(dut)
    await lab.bench.start()
    sent = [[random_frame(lab.bench.rng, 1 << lane) for _ in range(60)] for lane in range(3)]
    for number in range(60):
        for lane in range(3):
            lab.source.send(sent[lane][number], lane)
        await lab.bench.step(200)
    await lab.bench.until(lambda: lab.source.idle and not int(dut.busy.value), 40000)
    await lab.bench.step(3)
    got = lab.sink.frames[0]
    assert lab.pulses == {"received": len(got), "dropped": 180 - len(got)}
    for lane, frames in enumerate(sent):
        own = [each for each in got if each.source == 1 << lane]
        if lab.pulses["dropped"] == 0:
            assert own == frames
        remaining = iter(frames)
        assert all(each in remaining for each in own), "in order"


@cocotb.test()
async def full_queue_drops_whole_frames(dut: Any) -> None:
    lab = Lab(dut, pace=1.0)
    await lab.bench.start()
    lab.sink.paces[0].fixed = 0.0
    frames = [Frame(lab.bench.rng.randbytes(1500)) for _ in range(20)]
    for each in frames:
        lab.source.send(each)
    await lab.bench.until(lambda: lab.source.idle, 2000)
    await lab.bench.step(5)
    held = DEPTH // words_of(1500, 64)
    assert abs(20 - held - lab.pulses["dropped"]) <= 1
    lab.sink.paces[0].fixed = 1.0
    await lab.bench.step(1000)
    assert lab.sink.frames[0] == frames[: 20 - lab.pulses["dropped"]]


@cocotb.test()
async def room_and_stuck(dut: Any) -> None:
    lab = Lab(dut, pace=1.0)
    await lab.bench.start()
    lab.sink.paces[0].fixed = 0.0
    assert int(dut.room.value)
    for _ in range(9):
        lab.source.send(Frame(bytes(1500)))
    await lab.bench.until(lambda: not int(dut.room.value), 400)
    await lab.bench.step(STUCK // 2)
    assert not int(dut.stuck.value)
    await lab.bench.until(lambda: bool(int(dut.stuck.value)), STUCK)
    lab.sink.paces[0].fixed = 1.0
    await lab.bench.step(3)
    assert not int(dut.stuck.value)
    await lab.bench.until(lambda: bool(int(dut.room.value)), 400)
