"""Functions share host memory: each keeps its own addresses, and none waits for ever."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
from host_memory import PAGE, WORD, HostMemory
from packed import join
from streams import Bench, Pace

TOP = "dma_arbiter"
PARAMETERS = [{"FUNCTIONS": 4}, {"FUNCTIONS": 1}]


class Masters:
    """An AXI4 master for each function: bursts of reads and writes."""

    def __init__(self, bench: Bench, pace: float | None) -> None:
        dut = bench.dut
        self._bench, self._dut = bench, dut
        self.count = len(dut.s_axi_arvalid)
        names = ("ar", "aw", "w", "r", "b")
        self.paces = {name: [Pace(bench.rng, pace) for _ in range(self.count)] for name in names}
        # Reads: address, words, id. Writes: the same with data.
        self.reads: list[deque[tuple[int, int, int]]] = [deque() for _ in range(self.count)]
        self.writes: list[deque[tuple[int, list[tuple[int, int]], int]]] = [
            deque() for _ in range(self.count)
        ]
        self.read_words: list[list[tuple[int, int, int]]] = [[] for _ in range(self.count)]
        self.responses: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        self.granted: list[int] = []  # functions of reads
        self.reset()
        bench.drivers.append(self)

    def reset(self) -> None:
        self._data: list[deque[tuple[int, int, int]]] = [deque() for _ in range(self.count)]
        self._ar = self._aw = self._w = self._r = self._b = 0
        for name in ("arvalid", "awvalid", "wvalid", "rready", "bready"):
            getattr(self._dut, f"s_axi_{name}").value = 0

    def drive(self) -> None:
        dut, every = self._dut, range(self.count)
        self._r = self._b = 0
        for number in every:
            if self.reads[number]:
                self._ar |= int(self.paces["ar"][number].active()) << number
            if self.writes[number]:
                self._aw |= int(self.paces["aw"][number].active()) << number
            if self._data[number]:
                self._w |= int(self.paces["w"][number].active()) << number
            self._r |= int(self.paces["r"][number].active()) << number
            self._b |= int(self.paces["b"][number].active()) << number
        reads = [(self.reads[n] or [(0, 1, 0)])[0] for n in every]
        writes = [(self.writes[n] or [(0, [(0, 0)], 0)])[0] for n in every]
        words = [(self._data[n] or [(0, 0, 0)])[0] for n in every]
        dut.s_axi_arvalid.value, dut.s_axi_awvalid.value = self._ar, self._aw
        dut.s_axi_araddr.value = join([each[0] for each in reads], 64)
        dut.s_axi_arlen.value = join([each[1] - 1 for each in reads], 8)
        dut.s_axi_arid.value = join([each[2] for each in reads], 8)
        dut.s_axi_awaddr.value = join([each[0] for each in writes], 64)
        dut.s_axi_awlen.value = join([len(each[1]) - 1 for each in writes], 8)
        dut.s_axi_awid.value = join([each[2] for each in writes], 8)
        for channel in ("ar", "aw"):
            getattr(dut, f"s_axi_{channel}size").value = join([6] * self.count, 3)
            getattr(dut, f"s_axi_{channel}burst").value = join([1] * self.count, 2)
        dut.s_axi_wvalid.value = self._w
        dut.s_axi_wdata.value = join([each[0] for each in words], 512)
        dut.s_axi_wstrb.value = join([each[1] for each in words], 64)
        dut.s_axi_wlast.value = join([each[2] for each in words], 1)
        dut.s_axi_rready.value, dut.s_axi_bready.value = self._r, self._b

    def sample(self) -> None:
        dut = self._dut
        ar = self._ar & int(dut.s_axi_arready.value)
        aw = self._aw & int(dut.s_axi_awready.value)
        w = self._w & int(dut.s_axi_wready.value)
        r = self._r & int(dut.s_axi_rvalid.value)
        b = self._b & int(dut.s_axi_bvalid.value)
        for number in range(self.count):
            if w >> number & 1:
                self._data[number].popleft()
            if ar >> number & 1:
                self.reads[number].popleft()
                self.granted.append(number)
            if aw >> number & 1:
                _, words, _ = self.writes[number].popleft()
                last = len(words) - 1
                self._data[number].extend((*each, int(i == last)) for i, each in enumerate(words))
            if r >> number & 1:
                self.read_words[number].append(
                    (
                        int(dut.s_axi_rid.value) >> 8 * number & 255,
                        int(dut.s_axi_rdata.value),
                        int(dut.s_axi_rresp.value),
                    )
                )
            if b >> number & 1:
                self.responses[number].append(
                    (
                        int(dut.s_axi_bid.value) >> 8 * number & 255,
                        int(dut.s_axi_bresp.value) >> 2 * number & 3,
                    )
                )
        self._ar &= ~ar
        self._aw &= ~aw
        self._w &= ~w


@cocotb.test()
@cocotb.parametrize(pace=[None, 0.8])
async def functions_have_their_own_memory(dut: Any, pace: float | None) -> None:
    bench = Bench(dut)
    rng = bench.rng
    count = len(dut.s_axi_arvalid)
    memory = HostMemory(bench, functions=count, pace=pace, user=True)
    masters = Masters(bench, pace)
    await bench.start()
    reads: list[list[tuple[int, int, int]]] = [[] for _ in range(count)]
    contents, responses = [], []
    for number in range(count):
        # The same addresses in each function, with other bytes.
        memory.map(number, 0, 2 * PAGE)
        memory.allow(number, PAGE, PAGE)
        memory.write(number, 0, rng.randbytes(PAGE))
        content, answers = bytearray(PAGE), []
        for _ in range(50):
            words, id_ = rng.randrange(1, 17), rng.randrange(16)
            at = rng.randrange(64 - words) * WORD
            if rng.random() < 0.1:
                masters.reads[number].append((99 * PAGE, words, id_))
                reads[number] += [(id_, -1, 2)] * words
            else:
                masters.reads[number].append((at, words, id_))
                for beat in range(words):
                    word = memory.read_int(number, at + beat * WORD, WORD)
                    reads[number].append((id_, word, 0))
            data = rng.randbytes(words * WORD)
            bad = rng.random() < 0.1
            split = [
                (int.from_bytes(data[i * WORD : (i + 1) * WORD], "little"), (1 << 64) - 1)
                for i in range(words)
            ]
            masters.writes[number].append(((99 if bad else 1) * PAGE + at, split, id_))
            answers.append((id_, 2 if bad else 0))
            if not bad:
                content[at : at + len(data)] = data
        contents.append(bytes(content))
        responses.append(answers)
    await bench.until(
        lambda: (
            [len(each) for each in masters.read_words] == [len(each) for each in reads]
            and all(len(each) == 50 for each in masters.responses)
        ),
        60000,
    )
    for number in range(count):
        found = [
            (id_, -1 if response else word, response)
            for id_, word, response in masters.read_words[number]
        ]
        assert found == reads[number]
        assert masters.responses[number] == responses[number]
        assert memory.read(number, PAGE, PAGE) == contents[number]


@cocotb.test()
async def bandwidth_is_shared(dut: Any) -> None:
    """While all functions read, each has its turn; one alone has all of the bandwidth."""
    bench = Bench(dut)
    count = len(dut.s_axi_arvalid)
    memory = HostMemory(bench, functions=count, pace=1.0, user=True)
    masters = Masters(bench, 1.0)
    await bench.start()
    for number in range(count):
        memory.map(number, 0, PAGE)
        masters.reads[number].extend([(0, 4, 1)] * 50)
    began = bench.cycle
    await bench.until(lambda: all(len(each) == 200 for each in masters.read_words), 5000)
    assert (bench.cycle - began) / (200 * count) < 1.2
    head = masters.granted[: 30 * count]
    assert all(29 <= head.count(number) <= 31 for number in range(count))
