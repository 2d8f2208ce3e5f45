"""Readers share the read channels fairly, and each gets its own words."""

from __future__ import annotations

from typing import Any

import cocotb
from host_memory import PAGE, WORD, HostMemory
from streams import Bench, Pace

TOP = "dma_read_mux"
PARAMETERS: list[dict[str, int]] = [{}, {"READERS": 2}]


class Readers:
    """Requests of all readers, and the responses that they get."""

    def __init__(self, bench: Bench, pace: float | None) -> None:
        self._bench, self._dut = bench, bench.dut
        self.count = len(bench.dut.s_valid)
        self.paces = [Pace(bench.rng, pace) for _ in range(self.count)]
        self.wanted: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        self.granted: list[int] = []
        self.words = [0] * self.count
        self.errors = [0] * self.count
        self.requested = 0  # words
        self.quiet_cycles = 0
        self.reset()
        bench.drivers.append(self)

    def reset(self) -> None:
        self._offered = 0
        self._dut.s_valid.value = 0

    def drive(self) -> None:
        addresses = beats = 0
        for number in range(self.count):
            if not self._offered >> number & 1 and self.wanted[number]:
                self._offered |= int(self.paces[number].active()) << number
        for number in range(self.count):
            if self._offered >> number & 1:
                address, words = self.wanted[number][0]
                addresses |= address << 64 * number
                beats |= words - 1 << 8 * number
        self._dut.s_valid.value = self._offered
        self._dut.s_address.value, self._dut.s_beats.value = addresses, beats

    def sample(self) -> None:
        quiet = int(self._dut.quiet.value)
        assert quiet == int(self.requested == sum(self.words))
        self.quiet_cycles += quiet
        taken = self._offered & int(self._dut.s_ready.value)
        assert taken & taken - 1 == 0, "two grants at once"
        for number in range(self.count):
            if taken >> number & 1:
                self.requested += self.wanted[number].pop(0)[1]
                self.granted.append(number)
        self._offered &= ~taken
        response = int(self._dut.response.value)
        assert response & response - 1 == 0
        for number in range(self.count):
            if response >> number & 1:
                self.words[number] += 1
                self.errors[number] += int(self._dut.response_error.value)


@cocotb.test()
@cocotb.parametrize(pace=[None, 1.0])
async def each_reader_gets_its_words(dut: Any, pace: float | None) -> None:
    bench = Bench(dut)
    memory = HostMemory(bench, partial=True, pace=pace)
    readers = Readers(bench, pace)
    await bench.start()
    rng = bench.rng
    memory.map(0, 0, 8 * PAGE)
    expected, errors = [0] * readers.count, [0] * readers.count
    for number in range(readers.count):
        for _ in range(60):
            words = rng.randrange(1, 17)
            address = rng.randrange(12) * PAGE + rng.randrange(PAGE - 16 * WORD)
            readers.wanted[number].append((address, words))
            expected[number] += words
            errors[number] += words if address >= 8 * PAGE else 0
    await bench.until(lambda: readers.words == expected, 30000)
    assert readers.errors == errors
    await bench.step(3)
    assert int(dut.quiet.value) == 1
    if pace == 1.0:
        # Each reader has its turn while all of them want to read.
        head = readers.granted[: 20 * readers.count]
        assert {head.count(number) for number in range(readers.count)} <= {19, 20, 21}


@cocotb.test()
async def quiet_means_that_nothing_is_under_way(dut: Any) -> None:
    bench = Bench(dut)
    memory = HostMemory(bench, partial=True, read_cycles=30)
    readers = Readers(bench, 0.1)
    await bench.start()
    memory.map(0, 0, PAGE)
    for number in range(readers.count):
        readers.wanted[number] = [(64 * number, 3)] * 10
    await bench.until(lambda: sum(readers.words) == 30 * readers.count, 20000)
    await bench.step(3)
    assert 0 < readers.quiet_cycles < bench.cycle
