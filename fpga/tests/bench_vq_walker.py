"""Descriptors leave in the order of their chains, and chains that do not end are errors."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from host_memory import Memory, Readers
from streams import Bench, Pace
from virtio_driver import INDIRECT, NEXT, PIECE, WRITE, Arena, SplitQueue

TOP = "vq_walker"
PARAMETERS: list[dict[str, int]] = [{}, {"SLOTS": 4, "DEPTH": 2}]


class Walk:
    """A table in memory, heads that go in, and descriptors that come out."""

    def __init__(self, dut: Any, case: int, pace: float | None = None, cycles: int = 0) -> None:
        self.dut = dut
        self.bench = Bench(dut)
        self.bench.rng = self.rng = random.Random(f"{cocotb.RANDOM_SEED}-{case}")
        self.memory = Memory()
        self.readers = Readers(
            self.bench,
            self.memory,
            [("read", "response")],
            cycles=cycles or self.rng.choice((1, 20)),
            pace=pace,
        )
        self.paces = [Pace(self.rng, pace) for _ in range(2)]
        self.heads: list[int] = []
        self.pieces: list[dict[str, int]] = []
        self.errors = 0
        self.error_with_run = 0
        self.bench.drivers.append(self)

    async def start(self, size: int) -> SplitQueue:
        self.dut.run.value = 0
        queue = SplitQueue(self.memory, Arena(self.memory, 0, self.rng), 0, self.rng, size)
        self.dut.setup.value = queue.setup
        await self.bench.start()
        self.dut.run.value = 1
        return queue

    async def until(self, pieces: int) -> None:
        await self.bench.until(lambda: len(self.pieces) >= pieces, 40000)

    def reset(self) -> None:
        self.offered = self.ready = False
        self.dut.s_valid.value = self.dut.m_ready.value = 0

    def drive(self) -> None:
        if not self.offered and self.heads and self.paces[0].active():
            self.offered = True
            self.dut.s_head.value = self.heads[0]
        self.dut.s_valid.value = int(self.offered)
        self.ready = self.paces[1].active()
        self.dut.m_ready.value = int(self.ready)

    def sample(self) -> None:
        dut = self.dut
        if self.offered and int(dut.s_ready.value):
            self.offered = False
            self.heads.pop(0)
        if self.ready and int(dut.m_valid.value):
            self.pieces.append(PIECE.unpack(int(dut.m_piece.value)))
        self.errors += int(dut.error.value)


def random_chain(queue: SplitQueue, rng: random.Random, most: int) -> list[dict[str, int]]:
    """Writes a chain into the table; its descriptors as they must leave."""
    count = rng.randrange(1, most + 1)
    if rng.random() < 0.5:
        first = rng.randrange(queue.size - count + 1)
        places = list(range(first, first + count))  # often in one word
        if rng.random() < 0.3:
            places.reverse()
    else:
        places = rng.sample(range(queue.size), count)
    pieces = []
    for at, place in enumerate(places):
        last = at == count - 1
        piece = {
            "head": places[0],
            "last": int(last),
            "write": rng.randrange(2),
            "bad": 0,
            "length": rng.randrange(1 << 32),
            "address": rng.randrange(1 << 64),
        }
        queue.describe(
            place,
            piece["address"],
            piece["length"],
            (0 if last else NEXT) | (WRITE if piece["write"] else 0) | rng.randrange(256) << 8,
            rng.randrange(1 << 16) if last else places[at + 1],
        )
        pieces.append(piece)
    return pieces


@cocotb.test()
@cocotb.parametrize(case=range(6))
async def chains_leave_in_order(dut: Any, case: int) -> None:
    walk = Walk(dut, case)
    rng = walk.rng
    size = (2, 4, 16, 64, 256, 256)[case]
    queue = await walk.start(size)
    for _ in range(20):
        # Chains that do not share descriptors: each has a part of the table.
        expected = []
        parts = rng.choice((1, min(size // 2, 8), min(size, 16)))
        for part in range(parts):
            window = SplitQueue.__new__(SplitQueue)
            window.__dict__.update(queue.__dict__)
            window.size = size // parts
            window.desc = queue.desc + 16 * part * window.size
            pieces = random_chain(window, rng, min(window.size, rng.choice((1, 3, 256))))
            # Indices of the part become those of the table.
            base = part * window.size
            for place in range(window.size):
                at = window.desc + 16 * place + 14
                following = walk.memory.read_int(0, at, 2)
                if following < window.size:
                    walk.memory.write_int(0, at, 2, following + base)
            expected += [{**piece, "head": piece["head"] + base} for piece in pieces]
            walk.heads.append(pieces[0]["head"] + base)
        walk.pieces.clear()
        await walk.until(len(expected))
        await walk.bench.step(5)
        assert walk.pieces == expected
    assert walk.errors == 0


@cocotb.test()
async def latency_is_hidden(dut: Any) -> None:
    """Chains of two descriptors in different words: as many reads are under way as slots."""
    walk = Walk(dut, 0, pace=1.0, cycles=140)
    slots = int(dut.SLOTS.value)
    queue = await walk.start(256)
    for chain in range(64):
        queue.describe(chain, 0, 1, NEXT, 128 + chain)
        queue.describe(128 + chain, 0, 1, 0, 0)
        walk.heads.append(chain)
    began = walk.bench.cycle
    await walk.bench.until(lambda: len(walk.pieces) == 128, 20000)
    cycles = (walk.bench.cycle - began) / 64
    print(f"two jumps of 140 cycles, {slots} slots: {cycles:.1f} cycles a chain")
    assert cycles < 2 * 150 / slots * 1.3


@cocotb.test()
@cocotb.parametrize(kind=["head", "next", "far", "loop", "loop_in_a_word", "unmapped", "maximum"])
async def wrong_tables_are_errors(dut: Any, kind: str) -> None:
    walk = Walk(dut, 1)
    rng = walk.rng
    size = rng.choice((2, 8, 64))
    queue = await walk.start(size)
    head = rng.randrange(size)
    match kind:
        case "head":
            head = rng.choice((size, 0xFFFF))
        case "next":
            queue.describe(head, 0, 1, NEXT, size)
        case "far":
            queue.describe(head, 0, 1, NEXT, 0xFFFF)
        case "loop":
            for place in range(size):
                queue.describe(place, 0, 1, NEXT, (place + size // 2 + 1) % size)
        case "loop_in_a_word":
            queue.describe(head, 0, 1, NEXT, head)
        case "unmapped":
            for page in range(2):
                walk.memory.unmap(0, queue.desc + 4096 * page)
        case "maximum":  # a chain of all descriptors is none
            head = 0
            for place in range(size):
                queue.describe(place, 0, 1, NEXT if place < size - 1 else 0, place + 1)
    walk.heads.append(head)
    if kind == "maximum":
        await walk.bench.until(lambda: len(walk.pieces) == size, 40000)
        await walk.bench.step(100)
        assert walk.errors == 0
    else:
        await walk.bench.until(lambda: walk.errors > 0, 40000)
        # The queue stops; then it begins anew.
        dut.run.value = 0
        walk.heads.clear()
        walk.offered = False
        await walk.bench.step(60)
        if kind != "unmapped":
            walk.pieces.clear()
            dut.run.value = 1
            queue.describe(1, 0x1234, 5, 0, 0)
            walk.heads.append(1)
            await walk.bench.until(lambda: len(walk.pieces) == 1, 500)
            assert walk.pieces[0]["address"] == 0x1234


@cocotb.test()
async def indirect_descriptor_ends_its_chain(dut: Any) -> None:
    walk = Walk(dut, 2)
    queue = await walk.start(16)
    queue.describe(0, 7, 8, NEXT, 1)
    queue.describe(1, 7, 8, NEXT | INDIRECT, 0)
    walk.heads.append(0)
    await walk.bench.until(lambda: len(walk.pieces) == 2, 500)
    assert [(each["bad"], each["last"]) for each in walk.pieces] == [(0, 0), (1, 1)]
    await walk.bench.step(100)
    assert len(walk.pieces) == 2
    assert walk.errors == 0
