"""Elements are visible before the index that covers them, and no interrupt is lost."""

from __future__ import annotations

import random
import struct
from collections import deque
from typing import Any

import cocotb
from host_memory import WORD, Memory
from streams import Bench, Pace
from virtio_driver import USED, Arena, SplitQueue

TOP = "vq_used"
PARAMETERS: list[dict[str, int]] = [{}]
ELEMENT, INDEX = 1, 2


class Used:
    """A source of elements, memory that takes writes, and a reader of the driver's flags."""

    def __init__(self, dut: Any, case: int, pace: float | None = None, cycles: int = 0) -> None:
        self.dut = dut
        self.bench = Bench(dut)
        self.bench.rng = self.rng = random.Random(f"{cocotb.RANDOM_SEED}-{case}")
        self.memory = Memory()
        self.cycles = cycles or self.rng.choice((2, 30))
        self.paces = {name: Pace(self.rng, pace) for name in ("s", "aw", "w", "b", "ar", "r")}
        self.waiting: deque[tuple[int, int]] = deque()  # heads and lengths
        self.interrupts: list[int] = []  # cycles
        self.indices: list[int] = []
        self.errors = 0
        self.fails = False  # writes
        self.bench.drivers.append(self)

    async def start(self, size: int, start: int) -> SplitQueue:
        self.dut.run.value = 0
        self.queue = SplitQueue(
            self.memory, Arena(self.memory, 0, self.rng), 0, self.rng, size, start
        )
        self.dut.setup.value = self.queue.setup
        await self.bench.start()
        self.dut.run.value = 1
        return self.queue

    def reset(self) -> None:
        dut = self.dut
        self.offered = self.takes = self.takes_data = False
        self.address: tuple[int, int] | None = None
        self.writes: deque[tuple[int, int, int, int, int]] = deque()
        self.reads: deque[tuple[int, int]] = deque()
        for each in (dut.s_valid, dut.write_ready, dut.data_ready, dut.response, dut.checked):
            each.value = 0
        dut.check_taken.value = 0
        self.checks = False

    def drive(self) -> None:
        dut, cycle = self.dut, self.bench.cycle
        if not self.offered and self.waiting and self.paces["s"].active():
            self.offered = True
            head, length = self.waiting[0]
            dut.s_used.value = USED.pack(head=head, length=length)
        dut.s_valid.value = int(self.offered)
        self.takes = self.address is None and self.paces["aw"].active()
        dut.write_ready.value = int(self.takes)
        self.takes_data = self.address is not None and self.paces["w"].active()
        dut.data_ready.value = int(self.takes_data)
        visible = bool(self.writes) and self.writes[0][0] <= cycle and self.paces["b"].active()
        if visible:
            _, address, kind, data, strobe = self.writes.popleft()
            response = self.memory.store(0, address // WORD * WORD, [(data, strobe)])
            dut.response_error.value = int(response != 0 or self.fails)
            dut.response_kind.value = kind
            if kind == INDEX:
                self.indices.append(self.queue.device_index)
        dut.response.value = int(visible)
        responds = bool(self.reads) and self.reads[0][0] <= cycle
        if responds:
            dut.no_interrupt.value = self.reads.popleft()[1]
        dut.checked.value = int(responds)
        # As in `vq_avail`: one read at a time, taken in the cycle in which it is asked for.
        self.checks = not self.reads and not responds and self.paces["ar"].active()

    def sample(self) -> None:
        dut = self.dut
        if self.offered and int(dut.s_ready.value):
            self.offered = False
            self.waiting.popleft()
        if self.takes_data:
            assert int(dut.data_valid.value)
            address, kind = self.address or (0, 0)
            self.writes.append(
                (
                    self.bench.cycle + self.cycles,
                    address,
                    kind,
                    int(dut.data.value),
                    int(dut.data_strobe.value),
                )
            )
            strobe = int(dut.data_strobe.value)
            assert (strobe & -strobe).bit_length() - 1 == address % WORD
            self.address = None
        if self.takes and int(dut.write_valid.value):
            self.address = int(dut.write_address.value), int(dut.write_kind.value)
        if int(dut.notify.value):
            self.interrupts.append(self.bench.cycle)
        self.errors += int(dut.error.value)
        self.checks = self.checks and bool(int(dut.check.value))


async def step(used: Used) -> None:
    """A cycle, with the read of flags taken as `vq_avail` does: combinationally."""
    await used.bench.step()
    if used.checks:
        # What was asked for in this cycle is requested in the next one.
        used.dut.check_taken.value = 1
        await used.bench.step()
        used.dut.check_taken.value = 0
        flags = used.memory.read_int(0, used.queue.avail, 2)
        used.reads.append((used.bench.cycle + used.cycles, flags & 1))
        used.checks = False


@cocotb.test()
@cocotb.parametrize(case=range(6))
async def elements_then_index(dut: Any, case: int) -> None:
    """Any place of the ring: elements that two words or two pages share."""
    used = Used(dut, case)
    rng = used.rng
    size = (2, 8, 64, 256, 256, 256)[case]
    start = rng.choice((65530, rng.randrange(1 << 16)))
    queue = await used.start(size, start)
    expected: list[tuple[int, int]] = []
    seen = start
    for _ in range(40 * size + 20000):
        # The driver takes an element only if the index covers it.
        index = queue.device_index
        while seen != index:
            element = used.memory.read(0, queue.used + 4 + 8 * (seen % size), 8)
            assert struct.unpack("<II", element) == expected[(seen - start) & 0xFFFF]
            seen = (seen + 1) & 0xFFFF
        in_ring = (len(expected) - (seen - start)) & 0xFFFF
        if len(expected) < 3 * size + 20 and in_ring < size and rng.random() < 0.2:
            expected.append((rng.randrange(1 << 16), rng.randrange(1 << 32)))
            used.waiting.append(expected[-1])
        if len(expected) == 3 * size + 20 and seen == (start + len(expected)) & 0xFFFF:
            break
        await step(used)
    assert seen == (start + len(expected)) & 0xFFFF
    assert used.errors == 0
    for _ in range(200):
        await step(used)
    assert used.interrupts
    assert used.interrupts[-1] > 0
    assert int(dut.used_index.value) == seen


@cocotb.test()
@cocotb.parametrize(case=range(8))
async def no_interrupt_is_lost(dut: Any, case: int) -> None:
    """A driver enables interrupts, then looks at the index: it gets one for all that follows."""
    used = Used(dut, 20 + case, pace=1.0 if case % 2 else None)
    rng = used.rng
    queue = await used.start(64, 0)
    done = 0
    for _ in range(30):
        queue.suppress(True)
        for _ in range(rng.randrange(60)):
            await step(used)
        # Some elements while interrupts are off, some after.
        before = len(used.interrupts)
        count = rng.randrange(4)
        for _ in range(count):
            used.waiting.append((0, 0))
        for _ in range(rng.randrange(80)):
            await step(used)
        queue.suppress(False)
        seen = queue.device_index
        done = (done + count) & 0xFFFF
        for _ in range(3 * used.cycles + 1200):
            if queue.device_index == done and len(used.interrupts) > before:
                break
            await step(used)
        assert queue.device_index == done
        if seen != done:
            assert len(used.interrupts) > before, "the interrupt was lost"


@cocotb.test()
async def suppressed_interrupts_do_not_come(dut: Any) -> None:
    used = Used(dut, 40)
    queue = await used.start(16, 0)
    queue.suppress(True)
    for _ in range(10):
        used.waiting.append((1, 2))
        for _ in range(used.rng.randrange(300)):
            await step(used)
    for _ in range(600):
        await step(used)
    assert queue.device_index == 10
    assert not used.interrupts
    queue.suppress(False)
    for _ in range(300):
        await step(used)
    assert not used.interrupts


@cocotb.test()
async def index_covers_many_elements(dut: Any) -> None:
    used = Used(dut, 41, pace=1.0, cycles=140)
    await used.start(256, 0)
    used.waiting.extend((each, 0) for each in range(200))
    while used.queue.device_index < 200:
        await step(used)
        assert used.bench.cycle < 3000
    assert len(used.indices) < 10
    print(f"200 elements: {used.bench.cycle} cycles, {len(used.indices)} writes of the index")


@cocotb.test()
async def stops_and_begins_anew(dut: Any) -> None:
    """What has begun ends when the queue stops; a bad address is an error."""
    used = Used(dut, 42)
    await used.start(16, 0)
    for _ in range(30):
        used.waiting.extend((each, 0) for each in range(5))
        for _ in range(used.rng.randrange(40)):
            await step(used)
        dut.run.value = 0
        used.waiting.clear()
        used.offered = False
        for _ in range(100):
            await step(used)
        assert used.address is None
        assert not int(dut.data_valid.value)
        assert not used.writes
        used.queue.memory.write_int(0, used.queue.used + 2, 2, 0)
        dut.run.value = 1
        await step(used)
    used.waiting.append((3, 4))
    for _ in range(200):
        await step(used)
    assert used.queue.device_index == 1
    assert used.errors == 0
    used.fails = True
    used.waiting.append((3, 4))
    for _ in range(200):
        await step(used)
    assert used.errors > 0
