"""Chains become frames without their header, whole and in order, or are dropped and returned."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
from host_memory import Memory, Readers
from streams import Bench, Frame, Pace, Sink, valid_without_ready
from virtio_driver import HEADER_BYTES, PIECE, QUEUE, USED, Arena, random_split

TOP = "virtio_transmit"
PARAMETERS: list[dict[str, int]] = [{}, {"WORDS": 256, "CHAINS": 8}]


class Transmit:
    """Descriptors that go in, buffers in memory, and frames and heads that come out."""

    def __init__(self, dut: Any, case: int, pace: float | None = None, cycles: int = 0) -> None:
        self.dut = dut
        self.bench = Bench(dut)
        self.bench.rng = self.rng = random.Random(f"{cocotb.RANDOM_SEED}-{case}")
        self.memory = Memory()
        self.arena = Arena(self.memory, 0, self.rng)
        self.readers = Readers(
            self.bench,
            self.memory,
            [("read", "response")],
            last=True,
            cycles=cycles or self.rng.choice((1, 40)),
            pace=pace,
        )
        self.sink = Sink(self.bench, "m", width=64, pace=pace)
        self.pace = Pace(self.rng, pace)
        self.drain = Pace(self.rng, pace)
        self.chains = int(dut.CHAINS.value)
        self.pieces: deque[int] = deque()
        self.heads: list[int] = []
        self.level = 0  # returned chains that wait for the used ring
        self.events = {"frame": 0, "dropped": 0, "bad": 0}
        self.bench.drivers.append(self)

    async def start(self) -> None:
        table = self.arena.take(4096, 16)
        self.dut.setup.value = QUEUE.pack(desc=table, size=256)
        self.dut.link_up.value = 1
        self.dut.run.value = 0
        await self.bench.start()
        self.dut.run.value = 1

    def reset(self) -> None:
        self.offered = False
        self.dut.s_valid.value = self.dut.used_level.value = 0

    def drive(self) -> None:
        if not self.offered and self.pieces and self.pace.active():
            self.offered = True
            self.dut.s_piece.value = self.pieces[0]
        self.dut.s_valid.value = int(self.offered)
        if self.level and self.drain.active():
            self.level -= 1
        self.dut.used_level.value = self.level

    def sample(self) -> None:
        dut = self.dut
        if self.offered and int(dut.s_ready.value):
            self.offered = False
            self.pieces.popleft()
        if int(dut.used_valid.value):
            found = USED.unpack(int(dut.used.value))
            assert found["length"] == 0
            self.heads.append(found["head"])
            self.level += 1
            assert self.level <= self.chains
        for name in self.events:
            self.events[name] += int(getattr(dut, f"event_{name}").value)

    def chain(self, content: bytes, lengths: list[int], head: int, **last: int) -> None:
        """A chain with these bytes, in buffers of these lengths; `last` changes its last part."""
        at = 0
        for number, length in enumerate(lengths):
            ends = number == len(lengths) - 1
            address = self.arena.take(length)
            self.memory.write(0, address, content[at : at + length])
            piece = {"head": head, "last": int(ends), "length": length, "address": address}
            self.pieces.append(PIECE.pack(**{**piece, **(last if ends else {})}))
            at += length


def random_length(rng: random.Random) -> int:
    return rng.choice((14, 60, rng.randrange(14, 300), rng.randrange(14, 3000), 9216))


@cocotb.test()
@cocotb.parametrize(case=range(4))
async def frames_leave_whole_and_in_order(dut: Any, case: int) -> None:
    transmit = Transmit(dut, case, pace=1.0 if case == 3 else None)
    rng = transmit.rng
    await transmit.start()
    split = random_split(12)
    expected, heads = [], []
    for _ in range(60):
        frame = rng.randbytes(random_length(rng))
        content = rng.randbytes(HEADER_BYTES) + frame
        heads.append(rng.randrange(1 << 16))
        kind = rng.random()
        if kind < 0.1:  # dropped: a part that must not be read, too short, too long
            transmit.chain(content, split(rng, len(content)), heads[-1], write=1)
        elif kind < 0.15:
            transmit.chain(content[:25], split(rng, rng.randrange(26)), heads[-1])
        elif kind < 0.2:
            long = bytes(9229 + rng.randrange(2000))
            transmit.chain(long, split(rng, len(long)), heads[-1])
        else:
            transmit.chain(content, split(rng, len(content)), heads[-1])
            expected.append(Frame(frame))
    await transmit.bench.until(
        lambda: len(transmit.heads) == 60 and transmit.sink.count == len(expected), 60000
    )
    assert transmit.heads == heads
    assert transmit.sink.frames[0] == expected
    await transmit.bench.step(5)
    bad = 60 - len(expected)
    assert transmit.events == {"frame": len(expected), "dropped": bad, "bad": bad}


@cocotb.test()
async def every_alignment(dut: Any) -> None:
    """Two buffers at all places in their words."""
    transmit = Transmit(dut, 10, pace=1.0)
    rng = transmit.rng
    await transmit.start()
    expected = []
    base = transmit.arena.take(1 << 16, 4096)
    for first in range(0, 64, 3):
        for second in (0, 1, 31, 63):
            lengths = [rng.randrange(12, 150), rng.randrange(2, 150)]
            content = rng.randbytes(sum(lengths))
            base += 1024
            for number, (place, length) in enumerate(
                ((base + first, lengths[0]), (base + 512 + second, lengths[1]))
            ):
                transmit.memory.map(0, place, length)
                start = 0 if number == 0 else lengths[0]
                transmit.memory.write(0, place, content[start : start + length])
                transmit.pieces.append(
                    PIECE.pack(head=1, last=number, length=length, address=place)
                )
            if len(content) - 12 >= 14:
                expected.append(Frame(content[12:]))
    await transmit.bench.until(lambda: not transmit.pieces, 20000)
    await transmit.bench.step(300)
    assert transmit.sink.frames[0] == expected


@cocotb.test()
async def short_frames_need_few_cycles(dut: Any) -> None:
    transmit = Transmit(dut, 11, pace=1.0, cycles=140)
    await transmit.start()
    for head in range(200):
        transmit.chain(bytes(72), [72], head)
    began = transmit.bench.cycle
    await transmit.bench.until(lambda: transmit.sink.count == 200, 20000)
    cycles = (transmit.bench.cycle - began) / 200
    print(f"60-byte frames, {transmit.chains} chains: {cycles:.1f} cycles a frame")
    assert cycles < max(5, 1.5 * 150 / transmit.chains)


@cocotb.test()
async def frames_that_wait_hold_up_no_response(dut: Any) -> None:
    """Without a reader, the buffer fills and reads stop; responses are taken all the same."""
    transmit = Transmit(dut, 12)
    rng = transmit.rng
    await transmit.start()
    expected = [Frame(rng.randbytes(rng.randrange(14, 9217))) for _ in range(20)]
    for frame in expected:
        content = bytes(12) + frame.data
        transmit.chain(content, [len(content)], 0)
    transmit.sink.paces[0].fixed = 0.0
    await transmit.bench.step(6000)
    assert transmit.readers.idle  # all that was requested was answered
    assert 0 < len(transmit.heads) < 20
    await valid_without_ready(transmit.bench, transmit.sink)
    transmit.sink.paces[0].fixed = 1.0
    await transmit.bench.until(lambda: transmit.sink.count == 20, 30000)
    assert transmit.sink.frames[0] == expected


@cocotb.test()
async def link_down_and_failed_reads_drop(dut: Any) -> None:
    transmit = Transmit(dut, 13)
    rng = transmit.rng
    await transmit.start()
    # A read in the middle of a frame fails.
    transmit.pieces.append(PIECE.pack(head=1, length=30, address=transmit.arena.take(30), write=0))
    transmit.pieces.append(PIECE.pack(head=1, length=40, address=transmit.arena.unmapped()))
    transmit.pieces.append(PIECE.pack(head=1, length=30, address=transmit.arena.take(30), last=1))
    good = rng.randbytes(100)
    transmit.chain(bytes(12) + good, [112], 2)
    await transmit.bench.until(lambda: transmit.heads == [1, 2], 2000)
    await transmit.bench.step(50)
    assert [each.data for each in transmit.sink.frames[0]] == [good]
    assert transmit.events == {"frame": 1, "dropped": 1, "bad": 1}
    dut.link_up.value = 0
    transmit.chain(bytes(112), [112], 3)
    await transmit.bench.until(lambda: transmit.heads == [1, 2, 3], 2000)
    await transmit.bench.step(50)
    assert transmit.events == {"frame": 1, "dropped": 2, "bad": 1}
    assert transmit.sink.count == 1


@cocotb.test()
async def stop_forgets_what_was_not_whole(dut: Any) -> None:
    transmit = Transmit(dut, 14)
    rng = transmit.rng
    await transmit.start()
    for _ in range(25):
        sent = transmit.sink.count
        expected = []
        for head in range(6):
            content = rng.randbytes(HEADER_BYTES + rng.randrange(14, 800))
            transmit.chain(content, random_split(4)(rng, len(content)), head)
            expected.append(Frame(content[12:]))
        await transmit.bench.step(rng.randrange(200))
        dut.run.value = 0
        transmit.pieces.clear()
        transmit.offered = False
        transmit.level = 0
        # What is under way ends before the queue runs again.
        await transmit.bench.until(lambda: transmit.readers.idle, 500)
        await transmit.bench.step(400)
        dut.run.value = 1
        found = transmit.sink.frames[0][sent:]
        assert found == expected[: len(found)]
        assert len(found) == transmit.events["frame"] - sent
    transmit.heads.clear()
    transmit.chain(bytes(112), [112], 9)
    await transmit.bench.until(lambda: transmit.heads == [9], 1000)
