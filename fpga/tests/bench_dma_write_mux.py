"""Writers share the write channels; bursts stay whole, and each writer gets its responses."""

from __future__ import annotations

from typing import Any

import cocotb
from host_memory import PAGE, WORD, HostMemory
from packed import join
from streams import Bench, Pace

TOP = "dma_write_mux"
PARAMETERS: list[dict[str, int]] = [{}, {"WRITERS": 2, "BURSTS": 4}]


class Writers:
    """Bursts of all writers, in order, and the responses that they get."""

    def __init__(self, bench: Bench, pace: float | None) -> None:
        self._bench, self._dut = bench, bench.dut
        self.count = len(bench.dut.s_valid)
        self.paces = [Pace(bench.rng, pace) for _ in range(2 * self.count)]
        # Address, kind, and words with their byte enables.
        self.wanted: list[list[tuple[int, int, list[tuple[int, int]]]]] = [
            [] for _ in range(self.count)
        ]
        self.granted: list[tuple[int, int]] = []  # writer and kind
        self.responses: list[tuple[int, int, int]] = []
        self.reset()
        bench.drivers.append(self)

    def reset(self) -> None:
        self._offered = self._data_offered = 0
        self._data: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        self._dut.s_valid.value = self._dut.s_data_valid.value = 0

    def drive(self) -> None:
        dut, addresses, beats, kinds = self._dut, [], [], []
        data, strobes, lasts = [], [], []
        for number in range(self.count):
            if self.wanted[number] and not self._data[number]:
                self._offered |= int(self.paces[number].active()) << number
            if self._data[number]:
                self._data_offered |= int(self.paces[self.count + number].active()) << number
            address, kind, words = (self.wanted[number] or [(0, 0, [(0, 0)])])[0]
            addresses.append(address)
            beats.append(len(words) - 1)
            kinds.append(kind)
            word = (self._data[number] or [(0, 0)])[0]
            data.append(word[0])
            strobes.append(word[1])
            lasts.append(int(len(self._data[number]) == 1))
        dut.s_valid.value, dut.s_data_valid.value = self._offered, self._data_offered
        dut.s_address.value, dut.s_beats.value = join(addresses, 64), join(beats, 8)
        dut.s_kind.value = join(kinds, 2)
        dut.s_data.value, dut.s_data_strobe.value = join(data, 512), join(strobes, 64)
        dut.s_data_last.value = join(lasts, 1)

    def sample(self) -> None:
        dut = self._dut
        taken = self._offered & int(dut.s_ready.value)
        data_taken = self._data_offered & int(dut.s_data_ready.value)
        assert taken & taken - 1 == data_taken & data_taken - 1 == 0
        for number in range(self.count):
            if data_taken >> number & 1:
                self._data[number].pop(0)
            if taken >> number & 1:
                _, kind, words = self.wanted[number].pop(0)
                self._data[number] = list(words)
                self.granted.append((number, kind))
        self._offered &= ~taken
        self._data_offered &= ~data_taken
        response = int(dut.response.value)
        if response:
            self.responses.append(
                (
                    response.bit_length() - 1,
                    int(dut.response_kind.value),
                    int(dut.response_error.value),
                )
            )


@cocotb.test()
@cocotb.parametrize(pace=[None, 1.0])
async def bursts_are_written_in_order(dut: Any, pace: float | None) -> None:
    bench = Bench(dut)
    memory = HostMemory(bench, partial=True, pace=pace)
    writers = Writers(bench, pace)
    await bench.start()
    rng = bench.rng
    expected: dict[int, bytes] = {}
    for number in range(writers.count):
        memory.map(0, number * PAGE, PAGE)
        memory.allow(0, number * PAGE, PAGE)
        content = bytearray(PAGE)
        for _ in range(60):
            count = rng.randrange(1, 9)
            at = rng.randrange(64 - count) * WORD
            bad = rng.random() < 0.1
            words = []
            for beat in range(count):
                low = rng.randrange(64)
                high = rng.randrange(low, 64)
                data = rng.randbytes(64)
                words.append((int.from_bytes(data, "little"), (1 << high + 1) - (1 << low)))
                place = at + beat * WORD
                if not bad:
                    content[place + low : place + high + 1] = data[low : high + 1]
            base = (100 if bad else number) * PAGE
            writers.wanted[number].append((base + at + rng.randrange(64), rng.randrange(3), words))
        expected[number] = bytes(content)
    bad_bursts = sum(each[0] >= 100 * PAGE for queue in writers.wanted for each in queue)
    total = 60 * writers.count
    await bench.until(lambda: len(writers.responses) == total, 30000)
    for number, whole in expected.items():
        assert memory.read(0, number * PAGE, PAGE) == whole
    assert [each[:2] for each in writers.responses] == writers.granted
    assert sum(each[2] for each in writers.responses) == bad_bursts
    await bench.step(2)
    assert int(dut.quiet.value) == 1
    assert memory.idle
    if pace == 1.0:
        head = [number for number, _ in writers.granted[: 20 * writers.count]]
        assert all(head.count(number) >= 15 for number in range(writers.count))
