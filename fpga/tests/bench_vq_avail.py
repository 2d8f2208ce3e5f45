"""Heads come in the order of the available ring; an index that cannot be right is an error."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from host_memory import Memory, Readers
from streams import Bench, Pace
from virtio_driver import Arena, SplitQueue

TOP = "vq_avail"
PARAMETERS: list[dict[str, int]] = [{}]


class Ring:
    """A ring in memory, a reader of heads, and what a driver reads flags with."""

    def __init__(self, dut: Any, case: int, pace: float | None = None) -> None:
        self.dut = dut
        self.bench = Bench(dut)
        self.bench.rng = self.rng = random.Random(f"{cocotb.RANDOM_SEED}-{case}")
        self.memory = Memory()
        self.arena = Arena(self.memory, 0, self.rng)
        self.readers = Readers(
            self.bench,
            self.memory,
            [("index_read", "index_response"), ("entry_read", "entry_response")],
            cycles=self.rng.choice((1, 20)),
            pace=pace,
        )
        self.pace = Pace(self.rng, pace)
        self.heads: list[int] = []
        self.checked: list[int] = []
        self.errors = 0
        self.bench.drivers.append(self)

    async def start(self, size: int, start: int) -> SplitQueue:
        dut = self.dut
        dut.run.value = dut.kick.value = dut.check.value = 0
        queue = SplitQueue(self.memory, self.arena, 0, self.rng, size, start)
        dut.setup.value = queue.setup
        dut.used_index.value = start
        await self.bench.start()
        dut.run.value = 1
        return queue

    def reset(self) -> None:
        self.ready = False
        self.dut.m_ready.value = 0

    def drive(self) -> None:
        self.ready = self.pace.active()
        self.dut.m_ready.value = int(self.ready)

    def sample(self) -> None:
        dut = self.dut
        if self.ready and int(dut.m_valid.value):
            self.heads.append(int(dut.m_head.value))
        if int(dut.checked.value):
            self.checked.append(int(dut.no_interrupt.value))
        self.errors += int(dut.error.value)

    async def kick(self) -> None:
        self.dut.kick.value = 1
        await self.bench.step()
        self.dut.kick.value = 0


@cocotb.test()
@cocotb.parametrize(case=range(6))
async def heads_in_order(dut: Any, case: int) -> None:
    """Any size, any place of the ring, an index that wraps, and entries that come at any time."""
    ring = Ring(dut, case)
    rng, bench = ring.rng, ring.bench
    size = (2, 4, 16, 32, 256, 256)[case]
    start = rng.choice((65530, rng.randrange(65536)))
    queue = await ring.start(size, start)
    offered: list[int] = []
    while len(offered) < 5 * size + 40:
        # Never more entries than the ring has; those that were taken are returned at once.
        await bench.step(rng.choice((1, 1, 5, 40)))
        dut.used_index.value = (start + len(ring.heads)) & 0xFFFF
        space = size - (len(offered) - len(ring.heads))
        count = rng.choice((0, 1, 2, rng.randrange(size + 1)))
        for _ in range(min(count, space)):
            offered.append(rng.randrange(1 << 16))
            queue.offer(offered[-1])
        if queue.publish():
            await ring.kick()
    await bench.until(lambda: len(ring.heads) == len(offered), 5000)
    await bench.step(200)
    assert ring.heads == offered
    assert ring.errors == 0


@cocotb.test()
async def many_entries_take_one_read(dut: Any) -> None:
    ring = Ring(dut, 0, pace=1.0)
    queue = await ring.start(256, 0)
    for head in range(256):
        queue.offer(head)
    queue.publish()
    await ring.bench.until(lambda: len(ring.heads) == 256, 2000)
    assert ring.heads == list(range(256))
    assert ring.readers.count <= 10  # 32 entries in a word, and reads of the index


@cocotb.test()
async def nothing_is_read_without_a_notification(dut: Any) -> None:
    ring = Ring(dut, 1)
    queue = await ring.start(16, 7)
    await ring.bench.step(200)
    assert ring.readers.count == 1  # when the queue begins
    queue.offer(3)
    queue.publish()
    await ring.bench.step(200)
    assert ring.heads == []
    await ring.kick()
    await ring.bench.until(lambda: ring.heads == [3], 300)
    # A notification during a read of the index leads to another read.
    for head in range(10):
        queue.offer(head)
        queue.publish()
        await ring.kick()
        await ring.bench.step(ring.rng.randrange(12))
    await ring.bench.until(lambda: ring.heads == [3, *range(10)], 1000)


@cocotb.test()
@cocotb.parametrize(case=range(8))
async def flags_are_read_for_a_check(dut: Any, case: int) -> None:
    ring = Ring(dut, 10 + case)
    rng, bench = ring.rng, ring.bench
    queue = await ring.start(16, 0)
    await bench.step(100)
    for _ in range(10):
        suppress = rng.random() < 0.5
        queue.suppress(suppress)
        if rng.random() < 0.5 and (len(ring.heads) < 16):
            queue.offer(1)
            queue.publish()
            await ring.kick()
        dut.check.value = 1
        for _ in range(200):
            await bench.step()
            if int(dut.check_taken.value):
                break
        dut.check.value = 0
        count = len(ring.checked)
        for _ in range(300):
            if len(ring.checked) > count:
                break
            await bench.step()
        assert len(ring.checked) == count + 1
        assert ring.checked[-1] == int(suppress)
    await bench.step(300)
    assert len(ring.checked) == 10


@cocotb.test()
@cocotb.parametrize(jump=[17, 1000, -1, 32768])
async def impossible_index_is_an_error(dut: Any, jump: int) -> None:
    ring = Ring(dut, 3)
    queue = await ring.start(16, 65535)
    for head in range(2):
        queue.offer(head)
    queue.publish()
    await ring.kick()
    await ring.bench.until(lambda: len(ring.heads) == 2, 500)
    assert ring.errors == 0
    # From the index that was returned: a whole ring may be offered, no more; and never less.
    base = 65535 if jump > 0 else 1
    ring.memory.write_int(0, queue.avail + 2, 2, base + jump & 0xFFFF)
    await ring.kick()
    await ring.bench.until(lambda: ring.errors > 0, 300)


@cocotb.test()
@cocotb.parametrize(what=["index", "entries"])
async def failed_read_is_an_error(dut: Any, what: str) -> None:
    ring = Ring(dut, 4)
    queue = await ring.start(256, 0)
    await ring.bench.step(100)
    queue.avail_index = 200
    queue.publish()
    if what == "index":
        ring.memory.unmap(0, queue.avail)
    else:
        # The entries go on in another page.
        dut.run.value = 0
        place = ring.arena.take(8192, 4096) + 4096 - 64
        ring.memory.write_int(0, place + 2, 2, 200)
        ring.memory.unmap(0, place + 64)
        queue.avail = place
        dut.setup.value = queue.setup
        await ring.bench.step(50)
        dut.run.value = 1
    await ring.kick()
    await ring.bench.until(lambda: ring.errors > 0, 1000)
