"""Frames are written into chains with their header, and nothing else is written."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
from host_memory import PAGE, WORD, Memory
from streams import Bench, Frame, Pace, Source
from virtio_driver import HEADER, PIECE, USED, Arena, random_split

TOP = "virtio_receive"
PARAMETERS: list[dict[str, int]] = [{}]


class Receive:
    """Frames and descriptors that go in, memory that is written, and chains that come out."""

    def __init__(self, dut: Any, case: int, pace: float | None = None) -> None:
        self.dut = dut
        self.bench = Bench(dut)
        self.bench.rng = self.rng = random.Random(f"{cocotb.RANDOM_SEED}-{case}")
        self.memory = Memory()
        self.arena = Arena(self.memory, 0, self.rng)
        self.source = Source(self.bench, "s", width=64, pace=pace)
        self.paces = {name: Pace(self.rng, pace) for name in ("piece", "aw", "w", "used")}
        self.pieces: deque[int] = deque()
        self.returned: list[tuple[int, int]] = []
        self.events = {"frame": 0, "dropped": 0, "bad": 0}
        self.burst: tuple[int, int] | None = None
        self.words: list[tuple[int, int]] = []
        self.bursts = 0
        self.bench.drivers.append(self)

    async def start(self) -> None:
        self.dut.run.value = 0
        await self.bench.start()
        self.dut.run.value = 1

    def reset(self) -> None:
        dut = self.dut
        self.offered = self.takes = self.takes_word = self.takes_used = False
        for each in (dut.piece_valid, dut.write_ready, dut.data_ready, dut.used_ready):
            each.value = 0

    def drive(self) -> None:
        dut = self.dut
        if not self.offered and self.pieces and self.paces["piece"].active():
            self.offered = True
            dut.piece.value = self.pieces[0]
        dut.piece_valid.value = int(self.offered)
        self.takes = self.burst is None and self.paces["aw"].active()
        self.takes_word = self.burst is not None and self.paces["w"].active()
        self.takes_used = self.paces["used"].active()
        dut.write_ready.value = int(self.takes)
        dut.data_ready.value = int(self.takes_word)
        dut.used_ready.value = int(self.takes_used)

    def sample(self) -> None:
        dut = self.dut
        if self.offered and int(dut.piece_ready.value):
            self.offered = False
            self.pieces.popleft()
        if self.takes_word and int(dut.data_valid.value):
            assert self.burst is not None
            self.words.append((int(dut.data.value), int(dut.data_strobe.value)))
            address, beats = self.burst
            assert int(dut.data_last.value) == int(len(self.words) == beats)
            if len(self.words) == beats:
                assert self.memory.store(0, address, self.words) == 0
                self.words = []
                self.burst = None
        if self.takes and int(dut.write_valid.value):
            address, beats = int(dut.write_address.value), int(dut.write_beats.value) + 1
            address = address // WORD * WORD
            assert address // PAGE == (address + beats * WORD - 1) // PAGE
            self.burst = address, beats
            self.bursts += 1
        if self.takes_used and int(dut.used_valid.value):
            found = USED.unpack(int(dut.used.value))
            self.returned.append((found["head"], found["length"]))
        for name in self.events:
            self.events[name] += int(getattr(dut, f"event_{name}").value)

    def chain(self, lengths: list[int], head: int, **last: int) -> list[tuple[int, int]]:
        """Offers buffers of these lengths; `last` changes the last one."""
        places = []
        for number, length in enumerate(lengths):
            ends = number == len(lengths) - 1
            address = self.arena.take(length)
            self.memory.allow(0, address, length)
            piece = {"head": head, "last": int(ends), "write": 1, "length": length,
                     "address": address}  # fmt: skip
            self.pieces.append(PIECE.pack(**{**piece, **(last if ends else {})}))
            places.append((address, length))
        return places

    def content(self, places: list[tuple[int, int]], length: int) -> bytes:
        parts = [self.memory.read(0, address, bytes_) for address, bytes_ in places if bytes_]
        return b"".join(parts)[:length]


@cocotb.test()
@cocotb.parametrize(case=range(5))
async def frames_are_written(dut: Any, case: int) -> None:
    receive = Receive(dut, case, pace=1.0 if case == 4 else None)
    rng = receive.rng
    await receive.start()
    split = random_split(10)
    chains, expected = [], []
    for head in range(60):
        length = rng.choice((1, 52, rng.randrange(1, 300), rng.randrange(1, 2000), 9216))
        space = length + 12 + rng.choice((0, 0, 1, 500, -1, -length))
        frame = Frame(rng.randbytes(length))
        receive.source.send(frame)
        chains.append((frame, receive.chain(split(rng, space), head)))
        expected.append((head, length + 12 if space >= length + 12 else 0))
    await receive.bench.until(lambda: len(receive.returned) == 60, 60000)
    assert receive.returned == expected
    for (frame, places), (_, length) in zip(chains, expected, strict=True):
        if length:
            assert receive.content(places, length) == HEADER + frame.data
    await receive.bench.until(lambda: receive.source.idle, 1000)
    await receive.bench.step(5)
    bad = sum(length == 0 for _, length in expected)
    assert receive.events == {"frame": 60 - bad, "dropped": bad, "bad": bad}


@cocotb.test()
async def every_alignment(dut: Any) -> None:
    receive = Receive(dut, 10, pace=1.0)
    rng = receive.rng
    await receive.start()
    base = receive.arena.take(1 << 16, 4096)
    expected = []
    for place in range(64):
        base += 1024
        receive.memory.map(0, base, 1024)
        frame = Frame(rng.randbytes(rng.randrange(1, 400)))
        receive.memory.allow(0, base + place, len(frame.data) + 12)
        receive.pieces.append(
            PIECE.pack(head=place, last=1, write=1, length=1000 - place, address=base + place)
        )
        receive.source.send(frame)
        expected.append((base + place, HEADER + frame.data))
    await receive.bench.until(lambda: len(receive.returned) == 64, 20000)
    for address, content in expected:
        assert receive.memory.read(0, address, len(content)) == content


@cocotb.test()
async def bad_chains_are_returned(dut: Any) -> None:
    receive = Receive(dut, 11)
    rng = receive.rng
    await receive.start()
    for head, change in enumerate(({"write": 0}, {"bad": 1}, {"write": 0}, {})):
        receive.source.send(Frame(rng.randbytes(200)))
        receive.chain([100, 200] if head < 3 else [212], head, **change)
    await receive.bench.until(lambda: len(receive.returned) == 4, 3000)
    assert receive.returned == [(0, 0), (1, 0), (2, 0), (3, 212)]
    # A frame that is too long is dropped and takes no chain.
    receive.source.send(Frame(rng.randbytes(9217)))
    receive.source.send(Frame(rng.randbytes(20)))
    receive.chain([32], 5)
    await receive.bench.until(lambda: len(receive.returned) == 5, 3000)
    await receive.bench.step(5)
    assert receive.returned[-1] == (5, 32)
    assert receive.events == {"frame": 2, "dropped": 4, "bad": 3}


@cocotb.test()
async def frames_wait_or_are_dropped(dut: Any) -> None:
    receive = Receive(dut, 12)
    rng = receive.rng
    await receive.start()
    receive.source.send(Frame(rng.randbytes(500)))
    await receive.bench.step(300)
    assert receive.source.sent[0] == 0
    dut.run.value = 0
    for _ in range(3):
        receive.source.send(Frame(rng.randbytes(500)))
    await receive.bench.until(lambda: receive.source.idle, 1000)
    await receive.bench.step(5)
    assert receive.events == {"frame": 0, "dropped": 4, "bad": 0}


@cocotb.test()
async def stop_ends_the_burst(dut: Any) -> None:
    """A burst ends although its frame does not go on, and writes nothing more."""
    receive = Receive(dut, 13)
    rng = receive.rng
    await receive.start()
    for _ in range(40):
        for head in range(4):
            length = rng.randrange(1, 1500)
            receive.source.send(Frame(rng.randbytes(length)))
            receive.chain(random_split(4)(rng, length + 12), head)
        await receive.bench.step(rng.randrange(150))
        receive.source.paces[0].fixed = 0.0  # no further word
        dut.run.value = 0
        receive.pieces.clear()
        receive.offered = False
        await receive.bench.step(1)
        for pages in receive.memory._allowed:
            for page in pages:
                pages[page] = bytearray(PAGE)
        receive.words = [(data, 0) for data, _ in receive.words]  # taken before
        await receive.bench.until(lambda: receive.burst is None, 2000)
        receive.source.paces[0].fixed = None
        await receive.bench.until(lambda: receive.source.idle, 2000)
        await receive.bench.step(3)
        receive.returned.clear()
        dut.run.value = 1
        receive.source.send(Frame(b"x" * 100))
        places = receive.chain([112], 7)
        await receive.bench.until(lambda: receive.returned == [(7, 112)], 1000)
        assert receive.content(places, 112) == HEADER + b"x" * 100
