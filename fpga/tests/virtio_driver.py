"""A driver of virtio network functions, for benches: registers, split virtqueues, and traffic.

`Bar` moves accesses of registers, `SplitQueue` is the driver's half of a virtqueue in
`HostMemory`, `VirtioDriver` initialises and resets a function. `TransmitTraffic` and
`ReceiveTraffic` move frames as a driver with interrupts and polling does: they look at the used
ring after an interrupt only, so an interrupt that is lost stops them.
"""

from __future__ import annotations

import random
import struct
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from host_memory import PAGE, HostMemory, Memory
from packed import Packed
from streams import Bench, Frame, Pace

HEADER = bytes(10) + b"\x01\x00"  # of a received frame: num_buffers = 1
HEADER_BYTES = 12
MAX_FRAME = 9216

VERSION_1, STATUS_FEATURE, MAC_FEATURE = 1 << 32, 1 << 16, 1 << 5
ACKNOWLEDGE, DRIVER, DRIVER_OK, FEATURES_OK, NEEDS_RESET, FAILED = 1, 2, 4, 8, 0x40, 0x80
NEXT, WRITE, INDIRECT = 1, 2, 4
RECEIVE, TRANSMIT = 0, 1
NO_VECTOR = 0xFFFF

# Common configuration (virtio 1.2, 4.1.4.3): offset and bytes of each field.
COMMON = {
    "device_feature_select": (0x00, 4),
    "device_feature": (0x04, 4),
    "driver_feature_select": (0x08, 4),
    "driver_feature": (0x0C, 4),
    "config_msix_vector": (0x10, 2),
    "num_queues": (0x12, 2),
    "device_status": (0x14, 1),
    "config_generation": (0x15, 1),
    "queue_select": (0x16, 2),
    "queue_size": (0x18, 2),
    "queue_msix_vector": (0x1A, 2),
    "queue_enable": (0x1C, 2),
    "queue_notify_off": (0x1E, 2),
    "queue_desc": (0x20, 8),
    "queue_driver": (0x28, 8),
    "queue_device": (0x30, 8),
}
ISR, DEVICE, NOTIFY, POSITION = 0x1000, 0x2000, 0x3000, 0x4000


class Bar:
    """Accesses of a function's registers, one a cycle, in order."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._dut = bench, bench.dut
        # Modules with several functions have a number in place of the selection.
        self._number = getattr(bench.dut, "bar_function", None)
        self._select = getattr(bench.dut, "bar_select", None)
        self._queue: deque[tuple[int, int, int, bytes | None, list[int]]] = deque()
        self._reading: tuple[int, int, list[int]] | None = None
        self.reset()
        bench.drivers.append(self)

    def reset(self) -> None:
        self._queue.clear()
        self._reading = None
        self._active = True
        self._now: tuple[int, int, int, bytes | None, list[int]] | None = None
        self._deselect()

    def _deselect(self) -> None:
        dut = self._dut
        dut.bar_write.value = dut.bar_read.value = 0
        if self._select is not None:
            self._select.value = 0

    def drive(self) -> None:
        dut = self._dut
        self._now = self._queue.popleft() if self._queue else None
        if self._now is None:
            if self._active:
                self._deselect()
                self._active = False
            return
        function, address, size, data, _ = self._now
        lane = address % 4
        if self._select is not None:
            self._select.value = 1
        if self._number is not None:
            self._number.value = function
        dut.bar_address.value = address
        dut.bar_write.value = int(data is not None)
        dut.bar_read.value = int(data is None)
        if data is not None:
            dut.bar_strobe.value = ((1 << size) - 1) << lane
            # Lanes that are not enabled may have any value.
            word = bytearray(self._bench.rng.randbytes(4))
            word[lane : lane + size] = data
            dut.bar_wdata.value = int.from_bytes(word, "little")
        self._active = True

    def sample(self) -> None:
        if self._reading is not None:
            address, size, found = self._reading
            self._reading = None
            word = int(self._dut.bar_rdata.value)
            found.append(word >> 8 * (address % 4) & (1 << 8 * size) - 1)
        if self._now is not None:
            _, address, size, data, found = self._now
            if data is None:
                self._reading = address, size, found
            else:
                found.append(0)

    def post(self, address: int, size: int, value: int, function: int = 0) -> None:
        """A write that nobody waits for."""
        self._queue.append((function, address, size, value.to_bytes(size, "little"), []))

    async def write(self, address: int, size: int, value: int, function: int = 0) -> None:
        if size == 8:
            await self.write(address, 4, value & 0xFFFFFFFF, function)
            await self.write(address + 4, 4, value >> 32, function)
            return
        done: list[int] = []
        self._queue.append((function, address, size, value.to_bytes(size, "little"), done))
        await self._bench.until(lambda: bool(done), 1000)

    async def read(self, address: int, size: int, function: int = 0) -> int:
        if size == 8:
            low = await self.read(address, 4, function)
            return low | await self.read(address + 4, 4, function) << 32
        done: list[int] = []
        self._queue.append((function, address, size, None, done))
        await self._bench.until(lambda: bool(done), 1000)
        return done[0]


class Interrupts:
    """Counts the pulses of a function's interrupts, and calls who waits for them."""

    def __init__(self, bench: Bench, function: int = 0) -> None:
        self._bench, self._irq, self._shift = bench, bench.dut.irq, 3 * function
        self.counts = [0, 0, 0]
        self.cycles: list[list[int]] = [[], [], []]
        self.handlers: list[Callable[[], None] | None] = [None, None, None]
        bench.drivers.append(self)

    async def another(self, which: int, limit: int) -> None:
        """Waits for one."""
        before = self.counts[which]
        await self._bench.until(lambda: self.counts[which] > before, limit)

    def reset(self) -> None:
        pass

    def drive(self) -> None:
        pass

    def sample(self) -> None:
        pulses = int(self._irq.value) >> self._shift & 7
        if not pulses:
            return
        for each in range(3):
            if pulses >> each & 1:
                self.counts[each] += 1
                self.cycles[each].append(self._bench.cycle)
                handler = self.handlers[each]
                if handler is not None:
                    handler()


class Arena:
    """Memory of a function: buffers at any alignment, with bytes between them."""

    def __init__(self, memory: Memory, function: int, rng: random.Random) -> None:
        self._memory, self._function, self._rng = memory, function, rng
        self._next = rng.randrange(1, 1 << 35) * PAGE
        self._first = self._next

    def take(self, length: int, alignment: int | None = None) -> int:
        rng = self._rng
        address = self._next + rng.choice((0, 1, 2, rng.randrange(64), rng.randrange(200)))
        if alignment is not None:
            address = -(-address // alignment) * alignment
        self._memory.map(self._function, address, max(length, 1))
        self._next = address + length + rng.randrange(1, 20)
        return address

    def unmapped(self) -> int:
        """An address that nothing is mapped at."""
        return self._rng.randrange(1, 1 << 20) * PAGE + (1 << 60) + self._rng.randrange(PAGE)


# rtl/virtio/virtio_pkg.sv
QUEUE = Packed(desc=64, driver=64, device=64, size=16, start=16)
PIECE = Packed(head=16, last=1, write=1, bad=1, length=32, address=64)
USED = Packed(length=32, head=16)

Buffer = tuple[int, int, bool]  # address, length, the device writes it


@dataclass
class Returned:
    """A chain that the device has returned."""

    token: Any
    length: int


class SplitQueue:
    """The driver's half of a split virtqueue."""

    def __init__(
        self,
        memory: Memory,
        arena: Arena,
        function: int,
        rng: random.Random,
        size: int,
        start: int = 0,
        aligned: bool = False,
    ) -> None:
        self.memory, self.function, self.size, self._rng = memory, function, size, rng
        self.desc = arena.take(16 * size, 4096 if aligned else 16)
        self.avail = arena.take(6 + 2 * size, 4096 if aligned else 2)
        self.used = arena.take(6 + 8 * size, 4096 if aligned else 4)
        self.start = start & 0xFFFF
        self._free = list(range(size))
        if not aligned:
            rng.shuffle(self._free)
        self._chains: dict[int, tuple[list[int], Sequence[Buffer], Any]] = {}
        self.avail_index = self.last_used = self.start
        self._shown = self.start
        memory.write(function, self.desc, rng.randbytes(16 * size))  # free descriptors: any bytes
        memory.write_int(function, self.avail, 2, 0)
        memory.write_int(function, self.avail + 2, 2, self.start)
        memory.write_int(function, self.used, 2, 0)
        memory.write_int(function, self.used + 2, 2, self.start)
        # flags are the driver's to read only; index and elements are written by the device
        memory.allow(function, self.used + 2, 2)
        memory.allow(function, self.used + 4, 8 * size)

    @property
    def setup(self) -> int:
        """What the registers say about the queue (virtio_pkg::queue_t)."""
        return QUEUE.pack(
            desc=self.desc, driver=self.avail, device=self.used, size=self.size, start=self.start
        )

    @property
    def space(self) -> int:
        return len(self._free)

    @property
    def outstanding(self) -> int:
        return len(self._chains)

    def add(self, buffers: Sequence[Buffer], token: Any = None, flags: int = 0) -> int:
        """Puts a chain into the ring; the device sees it after `publish`."""
        places = [self._free.pop(0) for _ in buffers]
        for at, (place, (address, length, write)) in enumerate(zip(places, buffers, strict=True)):
            last = at == len(buffers) - 1
            following = self._rng.randrange(1 << 16) if last else places[at + 1]
            self.describe(
                place,
                address,
                length,
                (0 if last else NEXT) | (WRITE if write else 0) | flags,
                following,
            )
            if write:
                self.memory.allow(self.function, address, length)
        self._chains[places[0]] = (places, buffers, token)
        self.offer(places[0])
        return places[0]

    def describe(self, place: int, address: int, length: int, flags: int, following: int) -> None:
        self.memory.write(
            self.function,
            self.desc + 16 * place,
            struct.pack("<QIHH", address, length, flags, following),
        )

    def offer(self, head: int) -> None:
        slot = self.avail_index % self.size
        self.memory.write_int(self.function, self.avail + 4 + 2 * slot, 2, head)
        self.avail_index = (self.avail_index + 1) & 0xFFFF

    def publish(self) -> bool:
        """Shows the device what was added; whether there was something."""
        changed = self._shown != self.avail_index
        self._shown = self.avail_index
        self.memory.write_int(self.function, self.avail + 2, 2, self.avail_index)
        return changed

    def suppress(self, suppress: bool) -> None:
        """Sets or clears NO_INTERRUPT."""
        self.memory.write_int(self.function, self.avail, 2, int(suppress))

    @property
    def device_index(self) -> int:
        return self.memory.read_int(self.function, self.used + 2, 2)

    def collect(self) -> list[Returned]:
        """Chains that the device has returned since the last call."""
        found = []
        index = self.device_index
        assert (index - self.last_used) & 0xFFFF <= len(self._chains), "more returned than offered"
        while self.last_used != index:
            slot = self.last_used % self.size
            element = self.memory.read(self.function, self.used + 4 + 8 * slot, 8)
            head, length = struct.unpack("<II", element)
            assert head in self._chains, f"chain {head} was returned but not offered"
            places, buffers, token = self._chains.pop(head)
            for address, bytes_, write in buffers:
                if write:
                    self.memory.allow(self.function, address, bytes_, False)
            self._free.extend(places)
            if self._rng.random() < 0.1:
                self._rng.shuffle(self._free)
            assert length <= sum(each[1] for each in buffers if each[2])
            found.append(Returned(token, length))
            self.last_used = (self.last_used + 1) & 0xFFFF
        return found


class VirtioDriver:
    """A driver that binds to a function. Drivers of several functions share one `bar`."""

    def __init__(
        self, bench: Bench, memory: HostMemory, function: int = 0, bar: Bar | None = None
    ) -> None:
        self.bench, self.memory, self.function = bench, memory, function
        self.bar = bar or Bar(bench)
        self.irq = Interrupts(bench, function)
        self.arena = Arena(memory, function, bench.rng)
        self.queues: list[SplitQueue] = []

    async def get(self, name: str) -> int:
        return await self.bar.read(*COMMON[name], self.function)

    async def set(self, name: str, value: int) -> None:
        await self.bar.write(*COMMON[name], value, self.function)

    async def offered(self) -> int:
        found = 0
        for half in range(2):
            await self.set("device_feature_select", half)
            found |= await self.get("device_feature") << 32 * half
        return found

    async def negotiate(self, features: int) -> bool:
        await self.set("device_status", ACKNOWLEDGE)
        await self.set("device_status", ACKNOWLEDGE | DRIVER)
        for half in range(2):
            await self.set("driver_feature_select", half)
            await self.set("driver_feature", features >> 32 * half & 0xFFFFFFFF)
        await self.set("device_status", ACKNOWLEDGE | DRIVER | FEATURES_OK)
        return bool(await self.get("device_status") & FEATURES_OK)

    async def reset(self, limit: int = 20000) -> int:
        """Resets the function; the cycles that it takes. Afterwards it must not write."""
        began = self.bench.cycle
        await self.set("device_status", 0)
        for _ in range(limit):
            if await self.get("device_status") == 0:
                break
        else:
            raise AssertionError("the reset does not end")
        assert self.memory.idle, "the reset has ended, but accesses are under way"
        self.memory.forbid_all(self.function)
        self.queues.clear()
        return self.bench.cycle - began

    async def initialise(
        self,
        sizes: Sequence[int] = (256, 256),
        *,
        features: int = VERSION_1 | MAC_FEATURE,
        starts: Sequence[int] = (0, 0),
        aligned: bool = False,
    ) -> None:
        """Negotiates features and makes both queues."""
        assert await self.negotiate(features)
        self.queues = []
        for number, (size, start) in enumerate(zip(sizes, starts, strict=True)):
            queue = SplitQueue(
                self.memory, self.arena, self.function, self.bench.rng, size, start, aligned
            )
            self.queues.append(queue)
            await self.set("queue_select", number)
            await self.set("queue_size", size)
            assert await self.get("queue_size") == size
            await self.set("queue_msix_vector", number + 1)
            for name in ("desc", "driver", "device"):
                place = {"desc": queue.desc, "driver": queue.avail, "device": queue.used}[name]
                await self.set(f"queue_{name}", place)
            if start:
                await self.bar.write(POSITION + 4 * number, 4, start, self.function)
            await self.set("queue_enable", 1)
        await self.set("device_status", ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK)

    def kick(self, number: int) -> None:
        self.bar.post(NOTIFY + 4 * number, 2, number, self.function)


Split = Callable[[random.Random, int], list[int]]  # lengths of the buffers for some bytes


def whole(_: random.Random, length: int) -> list[int]:
    return [length]


def header_apart(_: random.Random, length: int) -> list[int]:
    return [HEADER_BYTES, length - HEADER_BYTES] if length > HEADER_BYTES else [length]


def random_split(most: int) -> Split:
    """Up to `most` buffers, some of them of few bytes, and rarely of none."""

    def split(rng: random.Random, length: int) -> list[int]:
        count = rng.choice((1, 1, 2, 2, 3, rng.randrange(1, most + 1)))
        count = min(count, most)
        cuts = sorted(
            min(length, rng.choice((rng.randrange(length + 1), rng.randrange(16), 64, 1024)))
            for _ in range(count - 1)
        )
        return [b - a for a, b in zip([0, *cuts], [*cuts, length], strict=True)]

    return split


class Traffic:
    """What a driver does with one queue: it adds chains, and collects them after an interrupt."""

    def __init__(
        self, driver: VirtioDriver, number: int, *, pace: float | None, polling: bool = False
    ) -> None:
        self.driver, self.number, self._polling = driver, number, polling
        self.queue = driver.queues[number]
        self.rng = driver.bench.rng
        self._pace = Pace(self.rng, pace)
        self._interrupted = False
        self._poll_left = 0
        self.stopped = False
        driver.irq.handlers[1 + number] = self._on_interrupt
        driver.bench.drivers.append(self)
        if polling:
            self.queue.suppress(True)

    def _on_interrupt(self) -> None:
        self._interrupted = True

    def stop(self) -> None:
        """The queue is gone: do nothing more."""
        self.stopped = True
        self.driver.irq.handlers[1 + self.number] = None
        self.driver.bench.drivers.remove(self)

    def reset(self) -> None:
        pass

    def sample(self) -> None:
        pass

    def drive(self) -> None:
        if self._polling:
            if self.rng.random() < 0.05:
                self._collect()
        elif self._poll_left:
            # As NAPI: no interrupts while the driver polls; it looks again when they are on.
            self._poll_left -= 1
            self._collect()
            if not self._poll_left:
                self.queue.suppress(False)
                if self.queue.device_index != self.queue.last_used:
                    self._poll_left = 5
                    self.queue.suppress(True)
        elif self._interrupted:
            self._interrupted = False
            self.queue.suppress(True)
            self._poll_left = self.rng.randrange(1, 40)
        if self._pace.active():
            added = self.fill()
            if added and self.queue.publish():
                self.driver.kick(self.number)

    def _collect(self) -> None:
        for returned in self.queue.collect():
            self.returned(returned)

    def fill(self) -> bool:
        raise NotImplementedError

    def returned(self, returned: Returned) -> None:
        raise NotImplementedError


class TransmitTraffic(Traffic):
    """Sends frames: `send` queues them, `expected` are those that must leave, in order."""

    def __init__(
        self,
        driver: VirtioDriver,
        *,
        split: Split | None = None,
        pace: float | None = None,
        polling: bool = False,
        batch: int = 8,
    ) -> None:
        super().__init__(driver, TRANSMIT, pace=pace, polling=polling)
        self._split = split or random_split(6)
        self._batch = batch
        self.waiting: deque[bytes] = deque()
        self.expected: list[Frame] = []
        self.completed = 0

    def send(self, data: bytes) -> None:
        self.waiting.append(data)
        self.expected.append(Frame(data))

    @property
    def idle(self) -> bool:
        return not self.waiting and not self.queue.outstanding

    def fill(self) -> bool:
        added = False
        for _ in range(self.rng.randrange(1, self._batch + 1)):
            if not self.waiting:
                break
            content = self.rng.randbytes(2) * 6 + self.waiting[0]  # the header may have any content
            parts = self._split(self.rng, len(content))
            if len(parts) > self.queue.space:
                parts = [len(content)]
            if len(parts) > self.queue.space:
                break
            self.waiting.popleft()
            buffers, at = [], 0
            for length in parts:
                address = self.driver.arena.take(length)
                self.queue.memory.write(self.queue.function, address, content[at : at + length])
                buffers.append((address, length, False))
                at += length
            self.queue.add(buffers)
            added = True
        return added

    def returned(self, returned: Returned) -> None:
        assert returned.length == 0
        self.completed += 1


class ReceiveTraffic(Traffic):
    """Offers buffers, and collects the frames that arrive in them."""

    def __init__(
        self,
        driver: VirtioDriver,
        *,
        split: Split | None = None,
        pace: float | None = None,
        polling: bool = False,
        length: int = 1612,
        limit: int = 1 << 30,
    ) -> None:
        super().__init__(driver, RECEIVE, pace=pace, polling=polling)
        self._split = split or random_split(5)
        self._length = length
        self.limit = limit  # chains to offer
        self.frames: list[Frame] = []
        self.failed = 0

    def fill(self) -> bool:
        added = False
        for _ in range(self.rng.randrange(1, 9)):
            if not self.limit:
                break
            parts = self._split(self.rng, self._length)
            if len(parts) > self.queue.space:
                parts = [sum(parts)]
            if len(parts) > self.queue.space:
                break
            self.limit -= 1
            buffers = [(self.driver.arena.take(each), each, True) for each in parts]
            self.queue.add(buffers, buffers)
            added = True
        return added

    def returned(self, returned: Returned) -> None:
        if returned.length == 0:
            self.failed += 1
            return
        content = b"".join(
            self.queue.memory.read(self.queue.function, address, length)
            for address, length, _ in returned.token
            if length
        )[: returned.length]
        assert content[:HEADER_BYTES] == HEADER
        self.frames.append(Frame(content[HEADER_BYTES:]))
