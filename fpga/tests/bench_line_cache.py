"""A read returns what the last write before it has stored, whatever hits, fills and conflicts."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from packed import LINE_REQUEST, start

TOP = "line_cache"
PARAMETERS = [{"LINES": 16, "TAGS": 5}]
ADDRESSES = [index + (key << 4) for index in range(6) for key in (0, 1, 3 << 20)]


class Memory:
    """The DRAM: in order for one line, out of order otherwise."""

    def __init__(self, dut: Any, rng: random.Random, *, latency: int = 30) -> None:
        self.dut, self.rng, self.latency = dut, rng, latency
        self.lines: dict[int, int] = {}
        self.answers: list[tuple[int, int, int]] = []  # cycle, tag, line
        self.reads = self.writes = self.cycle = 0

    def line(self, address: int) -> int:
        return self.lines.get(address, address * 0x1_0001)

    def drive(self, eagerness: float = 0.7) -> None:
        dut = self.dut
        dut.m_ready.value = int(self.rng.random() < eagerness)
        due = next((each for each in self.answers if each[0] <= self.cycle), None)
        dut.m_response_valid.value = int(due is not None)
        if due is not None:
            self.answers.remove(due)
            dut.m_response_tag.value = due[1]
            dut.m_response.value = due[2]

    def sample(self) -> None:
        self.cycle += 1
        dut = self.dut
        if not (dut.m_valid.value and dut.m_ready.value):
            return
        request = LINE_REQUEST.unpack(int(dut.m_request.value))
        if request["write"]:
            self.lines[request["address"]] = request["data"]
            self.writes += 1
        else:
            when = self.cycle + self.rng.randrange(1, self.latency)
            self.answers.append((when, int(dut.m_tag.value), self.line(request["address"])))
            self.reads += 1


async def reset(dut: Any) -> None:
    await start(dut, enable=1, s_valid=0, m_ready=0, m_response_valid=0)


async def access(dut: Any, memory: Memory, tag: int, **fields: int) -> tuple[int | None, int]:
    """One request alone. Returns the line that is read, and the cycles until it came."""
    dut.s_valid.value = 1
    dut.s_tag.value = tag
    dut.s_request.value = LINE_REQUEST.pack(**fields)
    accepted: int | None = None
    for cycle in range(200):
        memory.drive(1.0)
        await RisingEdge(dut.clk)
        memory.sample()
        if accepted is None and dut.s_ready.value:
            accepted = cycle
            dut.s_valid.value = 0
            if fields["write"]:
                return None, 0
        elif dut.s_response_valid.value:
            assert accepted is not None
            return int(dut.s_response.value), cycle - accepted
    raise AssertionError("no response")


@cocotb.test()
async def reads_see_the_last_write(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut)
    memory = Memory(dut, rng)
    golden: dict[int, int] = {}
    expected: dict[int, int] = {}  # tag -> line
    answered = hits = fills = 0
    request: dict[str, int] | None = None
    tag = 0
    enable = 1
    for _ in range(12000):
        if rng.random() < 0.002:
            enable ^= 1
            dut.enable.value = enable
        if request is None and rng.random() < 0.8:
            tag = rng.randrange(5)
            write = int(rng.random() < 0.3)
            if write or tag not in expected:
                request = {"write": write, "address": rng.choice(ADDRESSES)}
                request["data"] = rng.getrandbits(64) << 448 | rng.getrandbits(64)
                dut.s_request.value = LINE_REQUEST.pack(**request)
                dut.s_tag.value = tag
        dut.s_valid.value = int(request is not None)
        memory.drive()
        await RisingEdge(dut.clk)
        hits += int(dut.hit_event.value)
        fills += int(dut.fill_event.value)
        if dut.s_response_valid.value:
            assert int(dut.s_response.value) == expected.pop(int(dut.s_response_tag.value))
            answered += 1
        if request is not None and dut.s_ready.value:
            address = request["address"]
            if request["write"]:
                golden[address] = request["data"]
            else:
                expected[tag] = golden.get(address, address * 0x1_0001)
            request = None
        memory.sample()
    assert answered > 1000
    assert hits > 200
    assert fills > 200
    assert hits + memory.reads - answered in range(6)


@cocotb.test()
async def a_hit_takes_one_cycle_and_no_dram(dut: Any) -> None:
    await reset(dut)
    memory = Memory(dut, random.Random(1))
    line, _ = await access(dut, memory, 0, write=0, address=7)
    assert line == memory.line(7)
    line, latency = await access(dut, memory, 1, write=0, address=7)
    assert (line, latency, memory.reads) == (memory.line(7), 1, 1)
    await access(dut, memory, 1, write=1, address=8, data=5)
    line, latency = await access(dut, memory, 2, write=0, address=8)
    assert line == 5
    assert memory.reads == 1
    dut.enable.value = 0
    line, _ = await access(dut, memory, 2, write=0, address=8)
    assert line == 5
    assert memory.reads == 2


@cocotb.test()
async def a_write_forbids_the_fill_of_an_older_read(dut: Any) -> None:
    await reset(dut)
    memory = Memory(dut, random.Random(1), latency=2)
    await access(dut, memory, 0, write=0, address=1)  # the cache is cleared by now
    old = memory.line(9)
    for fields in ({"write": 0, "address": 9}, {"write": 1, "address": 9, "data": 77}):
        dut.s_valid.value = 1
        dut.s_tag.value = fields["write"]
        dut.s_request.value = LINE_REQUEST.pack(**fields)
        for _ in range(5):
            dut.m_ready.value = 1
            await RisingEdge(dut.clk)
            if dut.s_ready.value:
                break
    dut.s_valid.value = 0
    for _ in range(5):
        await RisingEdge(dut.clk)
    memory.lines[9] = 77
    dut.m_response_valid.value = 1  # the response to the read passes the write
    dut.m_response_tag.value = 0
    dut.m_response.value = old
    await RisingEdge(dut.clk)
    assert int(dut.s_response.value) == old
    dut.m_response_valid.value = 0
    line, _ = await access(dut, memory, 2, write=0, address=9)
    assert line == 77


@cocotb.test()
async def a_hit_passes_a_miss(dut: Any) -> None:
    await reset(dut)
    memory = Memory(dut, random.Random(1))
    await access(dut, memory, 0, write=1, address=3, data=33)
    dut.s_valid.value = 1
    order = []
    for tag, address in ((0, 4), (1, 3)):
        dut.s_tag.value = tag
        dut.s_request.value = LINE_REQUEST.pack(write=0, address=address)
        dut.s_valid.value = 1
        dut.m_ready.value = 1
        for _ in range(5):
            await RisingEdge(dut.clk)
            if dut.s_response_valid.value:
                order.append(int(dut.s_response_tag.value))
            if dut.s_ready.value:
                break
    dut.s_valid.value = 0
    for _ in range(5):
        await RisingEdge(dut.clk)
        if dut.s_response_valid.value:
            order.append(int(dut.s_response_tag.value))
    assert order == [1]
