"""Drivers for benches: sources and sinks of our streams of frames, with random back-pressure.

A `Bench` owns clock and reset and moves all its drivers, cycle by cycle; every wait is bounded in
cycles. Many streams of a module that are packed into one array of signals are the lanes of one
driver.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

MAX_FRAME = 1600


@dataclass(frozen=True)
class Frame:
    """A frame with its metadata, as net_pkg::meta_t has them, and signals that go beside it."""

    data: bytes
    source: int = 0
    destination: int = 0
    beside: Mapping[str, int] = field(default_factory=dict, compare=False, hash=False)

    @property
    def meta(self) -> int:
        return len(self.data) << 16 | self.source << 8 | self.destination


class Driver(Protocol):
    """What moves with each clock cycle of a bench."""

    def sample(self) -> None: ...

    def drive(self) -> None: ...

    def reset(self) -> None: ...


class Bench:
    """Clock, reset and drivers of a module under test."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.cycle = 0
        self.drivers: list[Driver] = []

    async def start(self) -> None:
        """Start the clock and reset the module. Call it after the drivers are made."""
        cocotb.start_soon(Clock(self.dut.clk, 5, "ns").start())
        await self.reset()

    async def reset(self, cycles: int = 2) -> None:
        """Reset the module. Drivers forget frames that are under way or in a queue."""
        self.dut.rst.value = 1
        for _ in range(cycles):
            await RisingEdge(self.dut.clk)
            self.cycle += 1
        for driver in self.drivers:
            driver.reset()
        await RisingEdge(self.dut.clk)
        self.dut.rst.value = 0

    async def step(self, cycles: int = 1) -> None:
        for _ in range(cycles):
            for driver in self.drivers:
                driver.drive()
            await RisingEdge(self.dut.clk)
            self.cycle += 1
            for driver in self.drivers:
                driver.sample()

    async def until(self, condition: Callable[[], bool], limit: int) -> None:
        """Step until the condition holds.

        Raises:
            AssertionError: it does not hold within `limit` cycles.
        """
        for _ in range(limit):
            if condition():
                return
            await self.step()
        assert condition(), f"the condition does not hold within {limit} cycles"


class Pace:
    """Decides in which cycles a driver is active. Its probability changes in random phases."""

    def __init__(self, rng: random.Random, pace: float | None) -> None:
        self._rng = rng
        self.fixed = pace
        self._pace = 1.0
        self._left = 0

    def active(self) -> bool:
        if self.fixed is not None:
            return self.fixed >= 1 or self._rng.random() < self.fixed
        if not self._left:
            self._left = self._rng.randrange(1, 60)
            self._pace = self._rng.choice((0.1, 0.5, 0.9, 1.0))
        self._left -= 1
        return self._rng.random() < self._pace


def words_of(length: int, width: int) -> int:
    return -(-length // width)


class Source:
    """Sends frames into the stream `prefix`.

    Args:
        bench: what moves it.
        prefix: of the names of the signals.
        lanes: how many streams the signals hold.
        width: bytes of a word.
        pace: the probability of a word in a cycle; None: random phases.
        beside: names of further signals that go with each word of a frame.
        meta: makes the value of the metadata.
        meta_name: of the signal of the metadata, behind the prefix.
    """

    def __init__(
        self,
        bench: Bench,
        prefix: str = "s",
        *,
        lanes: int = 1,
        width: int = 32,
        pace: float | None = None,
        beside: Sequence[str] = (),
        meta: Callable[[Frame], int] = lambda frame: frame.meta,
        meta_bits: int = 32,
        meta_name: str = "meta",
    ) -> None:
        def signal(name: str) -> Any:
            return getattr(bench.dut, f"{prefix}_{name}")

        self._valid, self._ready = signal("valid"), signal("ready")
        self._data, self._last, self._meta = signal("data"), signal("last"), signal(meta_name)
        self._beside = [(name, getattr(bench.dut, name)) for name in beside]
        self._width, self._lanes = width, lanes
        self._rng = bench.rng
        self._meta_of, self._meta_bits = meta, meta_bits
        self.paces = [Pace(bench.rng, pace) for _ in range(lanes)]
        self.queues: list[deque[Frame]] = [deque() for _ in range(lanes)]
        self._words: list[deque[tuple[int, int]]] = [deque() for _ in range(lanes)]
        self._frames: list[Frame | None] = [None] * lanes
        self.sent = [0] * lanes  # whole frames
        self.stalls = 0  # cycles in which a word waited
        self.reset()
        bench.drivers.append(self)

    def send(self, frame: Frame, lane: int = 0) -> None:
        self.queues[lane].append(frame)

    @property
    def idle(self) -> bool:
        """Every frame has been taken."""
        return not any(self.queues) and not any(self._words)

    @property
    def in_frame(self) -> bool:
        """A frame has begun and has not ended."""
        return any(
            frame is not None and 0 < len(words) < words_of(len(frame.data), self._width)
            for frame, words in zip(self._frames, self._words, strict=True)
        )

    def reset(self) -> None:
        for lane in range(self._lanes):
            self.queues[lane].clear()
            self._words[lane].clear()
        self._offered = self._driven = 0  # the second is what the signal has
        self._valid.value = 0
        self._values = [0, 0, 0]  # of data, last and meta

    def drive(self) -> None:
        offered, changed = self._offered, False
        for lane in range(self._lanes):
            words = self._words[lane]
            if offered >> lane & 1 or not (words or self.queues[lane]):
                continue
            if not self.paces[lane].active():
                continue
            if not words:
                self._begin(lane, self.queues[lane].popleft())
            frame = self._frames[lane]
            assert frame is not None
            data, last = words[0]
            for index, (value, bits) in enumerate(
                ((data, 8 * self._width), (last, 1), (self._meta_of(frame), self._meta_bits))
            ):
                mask = (1 << bits) - 1 << lane * bits
                self._values[index] = self._values[index] & ~mask | value << lane * bits
            for name, handle in self._beside:
                handle.value = frame.beside[name]
            offered |= 1 << lane
            changed = True
        if changed:
            self._data.value, self._last.value, self._meta.value = self._values
        self._offered = offered
        if offered != self._driven:
            self._driven = offered
            self._valid.value = offered

    def _begin(self, lane: int, frame: Frame) -> None:
        self._frames[lane] = frame
        count = words_of(len(frame.data), self._width)
        # The bytes behind the end of a frame may have any value.
        padded = frame.data + self._rng.randbytes(count * self._width - len(frame.data))
        for i in range(count):
            word = padded[i * self._width : (i + 1) * self._width]
            self._words[lane].append((int.from_bytes(word, "little"), int(i == count - 1)))

    def sample(self) -> None:
        if not self._offered:
            return
        ready = int(self._ready.value)
        if self._offered & ~ready:
            self.stalls += 1
        taken = self._offered & ready
        for lane in range(self._lanes):
            if taken >> lane & 1:
                _, last = self._words[lane].popleft()
                self.sent[lane] += last
        self._offered &= ~taken


class Sink:
    """Takes frames from the stream `prefix` and checks the rules of streams.

    A word that waits does not change or disappear, and metadata are the same with each word of a
    frame and agree with its length.

    Args:
        shared: the lanes have `valid` and `ready` each, and share data, last and meta.
        beside: names of further signals that go with each word of a frame; not with lanes.
        meta_bits: of the metadata: 32, or 16 if they are the length only.
        meta_name: of the signal of the metadata, behind the prefix.
    """

    def __init__(
        self,
        bench: Bench,
        prefix: str = "m",
        *,
        lanes: int = 1,
        width: int = 32,
        pace: float | None = None,
        shared: bool = False,
        beside: Sequence[str] = (),
        meta_bits: int = 32,
        meta_name: str = "meta",
    ) -> None:
        def signal(name: str) -> Any:
            return getattr(bench.dut, f"{prefix}_{name}")

        self._bench = bench
        self._valid, self._ready = signal("valid"), signal("ready")
        self._data, self._last, self._meta = signal("data"), signal("last"), signal(meta_name)
        self._beside = [(name, getattr(bench.dut, name)) for name in beside]
        self._prefix, self._width, self._lanes, self._shared = prefix, width, lanes, shared
        self._meta_bits = meta_bits
        self.paces = [Pace(bench.rng, pace) for _ in range(lanes)]
        self.frames: list[list[Frame]] = [[] for _ in range(lanes)]
        self.cycles: list[list[int]] = [[] for _ in range(lanes)]  # of the last words
        self.words = 0
        self._parts: list[list[bytes]] = [[] for _ in range(lanes)]
        self._first: list[Any] = [None] * lanes
        self._waiting: list[Any] = [None] * lanes
        self.reset()
        bench.drivers.append(self)

    @property
    def count(self) -> int:
        return sum(map(len, self.frames))

    def reset(self) -> None:
        for lane in range(self._lanes):
            self._parts[lane].clear()
            self._waiting[lane] = None
        self._accepts = 0
        self.offered = False  # a word, in the last cycle
        self._ready.value = 0

    def drive(self) -> None:
        accepts = 0
        for lane in range(self._lanes):
            accepts |= self.paces[lane].active() << lane
        if accepts != self._accepts:
            self._accepts = accepts
            self._ready.value = accepts

    def sample(self) -> None:
        valid = int(self._valid.value)
        self.offered = valid != 0
        for lane in range(self._lanes):
            if self._waiting[lane] is not None:
                assert valid >> lane & 1, f"{self._prefix}_valid[{lane}] fell before ready"
        if not valid:
            return
        data, last, meta = int(self._data.value), int(self._last.value), int(self._meta.value)
        beside = {name: int(handle.value) for name, handle in self._beside}
        for lane in range(self._lanes):
            if not valid >> lane & 1:
                continue
            place = 0 if self._shared else lane
            bits = 8 * self._width
            word = (
                data >> place * bits & (1 << bits) - 1,
                last >> place & 1,
                meta >> place * self._meta_bits & (1 << self._meta_bits) - 1,
                beside,
            )
            waited = self._waiting[lane]
            assert waited is None or waited == word, f"{self._prefix}: a waiting word changed"
            if self._accepts >> lane & 1:
                self._waiting[lane] = None
                self._take(lane, *word)
            else:
                self._waiting[lane] = word

    def _take(self, lane: int, data: int, last: int, meta: int, beside: dict[str, int]) -> None:
        parts = self._parts[lane]
        if not parts:
            self._first[lane] = (meta, beside)
        assert self._first[lane] == (meta, beside), f"{self._prefix}: metadata changed in a frame"
        parts.append(data.to_bytes(self._width, "little"))
        self.words += 1
        length = meta >> 16 if self._meta_bits == 32 else meta
        ends = len(parts) >= words_of(length, self._width)
        assert bool(last) == ends, f"{self._prefix}_last with word {len(parts)} of {length} bytes"
        if last:
            source, destination = (meta >> 8 & 255, meta & 255) if self._meta_bits == 32 else (0, 0)
            frame = Frame(b"".join(parts)[:length], source, destination, beside)
            self.frames[lane].append(frame)
            self.cycles[lane].append(self._bench.cycle)
            parts.clear()


def random_length(rng: random.Random) -> int:
    """1 to 1600 bytes; short frames and the lengths around whole words are common."""
    if rng.random() < 0.5:
        return rng.randrange(1, 200)
    if rng.random() < 0.3:
        return max(1, 32 * rng.randrange(1, 51) + rng.randrange(-1, 2)) % MAX_FRAME + 1
    return rng.randrange(1, MAX_FRAME + 1)


def random_frame(
    rng: random.Random, source: int | None = None, destination: int | None = None, **beside: int
) -> Frame:
    """A frame of random length and bytes."""
    return Frame(
        rng.randbytes(random_length(rng)),
        rng.randrange(256) if source is None else source,
        rng.randrange(256) if destination is None else destination,
        beside,
    )


async def valid_without_ready(bench: Bench, sink: Sink, limit: int = 200) -> None:
    """Checks that the module offers a word while no reader is ready.

    Call it with a frame in the queue of a source. It leaves the sink as it was.
    """
    paces = [pace.fixed for pace in sink.paces]
    for pace in sink.paces:
        pace.fixed = 0.0
    await bench.until(lambda: sink.offered, limit)
    for pace, before in zip(sink.paces, paces, strict=True):
        pace.fixed = before
