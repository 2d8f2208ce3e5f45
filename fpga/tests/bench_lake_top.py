"""LaKe in the data path: registers, ways of frames through it, and its reset values."""

from __future__ import annotations

from typing import Any

import cocotb
import frames
import memcached
from bench_lake_module import SMALL
from cocotb.triggers import RisingEdge
from memcached import Operation, get
from streams import Bench, Frame, Sink, Source

TOP = "lake_top"
PARAMETERS = [{"PES": 2, "NETWORK_PORTS": 2, "FIFO_WORDS": 64, **SMALL}]
PORTS, HOST = 3, 2
MODE, OPTIONS, PE_MASK, MEMCACHED_PORT, SERVER_PORTS, LIFETIME = range(6)
COMMAND, IDENTITY, STATE, EPOCHS, RATE, ACCEPTED, DROPPED = range(9, 16)
REPLIED = 20
RECEIVED = 54  # of each port, then frames for it, then those that found no space


class Lab:
    def __init__(self, dut: Any, pace: float | None = None) -> None:
        self.dut, self.bench = dut, Bench(dut)
        self.source = Source(
            self.bench,
            "rx",
            lanes=PORTS,
            pace=pace,
            meta=lambda frame: len(frame.data),
            meta_bits=16,
            meta_name="meta_length",
        )
        self.sink = Sink(
            self.bench, "tx", lanes=PORTS, pace=pace, meta_bits=16, meta_name="meta_length"
        )
        for name in ("reg_write", "reg_read", "reg_address", "reg_wdata", "sram_rdata"):
            getattr(dut, name).value = 0
        dut.dram_ready.value = dut.dram_response_valid.value = 0

    async def start(self) -> None:
        await self.bench.start()
        for _ in range(100):
            if await self.read(STATE) & 1:
                break
            await self.bench.step(50)
        await self.write(LIFETIME, 1)
        await self.write(COMMAND, 1)
        await self.bench.step(300)

    async def write(self, word: int, value: int) -> None:
        self.dut.reg_address.value, self.dut.reg_wdata.value = 4 * word, value
        self.dut.reg_write.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.reg_write.value = 0
        await RisingEdge(self.dut.clk)

    async def read(self, word: int) -> int:
        self.dut.reg_address.value = 4 * word
        self.dut.reg_read.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.reg_read.value = 0
        await RisingEdge(self.dut.clk)
        return int(self.dut.reg_rdata.value)

    async def passes(self, port: int, data: bytes) -> tuple[int, bytes]:
        """The frame that comes out for this one, and its port."""
        before = [len(each) for each in self.sink.frames]
        self.source.send(Frame(data), port)
        await self.bench.until(lambda: self.sink.count > sum(before), 6000)
        (out,) = [at for at in range(PORTS) if len(self.sink.frames[at]) > before[at]]
        return out, self.sink.frames[out][-1].data


@cocotb.test()
async def registers_have_their_reset_values(dut: Any) -> None:
    lab = Lab(dut)
    await lab.bench.start()
    words = [await lab.read(word) for word in range(11)]
    assert words == [1, 0xF, 3, 11211, 1 << HOST, 20_000, 0, 0, 0, 0, 0x4C614B65]


@cocotb.test()
async def a_miss_goes_to_the_host_and_a_hit_back(dut: Any) -> None:
    lab = Lab(dut)
    await lab.start()
    query = frames.udp_frame(frames.datagram(get(b"key1", opaque=3).encode()))
    assert await lab.passes(1, query) == (HOST, query)
    value = Operation(memcached.GET, b"", bytes(4), b"value..1", 3, 9, magic=0x81)
    reply = frames.udp_frame(frames.datagram(value.encode()), response=True)
    assert await lab.passes(HOST, reply) == (1, reply)
    port, out = await lab.passes(1, query)
    assert port == 1
    assert memcached.decode(out[50:]) == [value]
    assert await lab.read(REPLIED) == 1
    assert [await lab.read(RECEIVED + each) for each in range(2 * PORTS)] == [0, 2, 1, 0, 2, 1]


@cocotb.test()
async def mode_off_is_a_plain_nic(dut: Any) -> None:
    lab = Lab(dut)
    await lab.start()
    await lab.write(MODE, 0)
    accepted = await lab.read(ACCEPTED)
    query = frames.udp_frame(frames.datagram(get(b"key1").encode()))
    for _ in range(2):
        assert await lab.passes(0, query) == (HOST, query)
    assert await lab.read(ACCEPTED) == accepted


@cocotb.test()
async def queries_never_hold_up_normal_frames(dut: Any) -> None:
    """No element is enabled: queries fill their FIFO and are dropped."""
    lab = Lab(dut, pace=1.0)
    await lab.start()
    await lab.write(PE_MASK, 0)
    query = frames.udp_frame(frames.datagram(get(b"key1").encode()))
    normal = [frames.ethernet(bytes([n]) * 50, ethertype=0x88B5) for n in range(20)]
    for data in normal:
        for _ in range(5):
            lab.source.send(Frame(query), 0)
        lab.source.send(Frame(data), 0)
    await lab.bench.until(lambda: lab.source.idle, 3000)
    await lab.bench.step(100)
    assert [each.data for each in lab.sink.frames[HOST]] == normal
    assert await lab.read(DROPPED) > 50
    await lab.write(PE_MASK, 1)
    waiting = await lab.read(ACCEPTED)
    await lab.bench.until(lambda: lab.sink.count == len(normal) + waiting, 6000)
