"""Registers: what software writes arrives, what it reads is what the card has."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from streams import Bench

TOP = "client_cache_registers"
STATUSES = 5
PARAMETERS = [
    {"FUNCTIONS": 3, "CONTROLLERS": 2, "STATUSES": STATUSES},
    {"FUNCTIONS": 1, "CONTROLLERS": 0, "STATUSES": STATUSES},
]
GLOBALS, COUNTERS, FUNCTION_STATUSES = 9, 23, 8
COMMAND = 28


class Bus:
    def __init__(self, dut: Any) -> None:
        self.dut, self.bench = dut, Bench(dut)
        self.functions = len(dut.promiscuous)
        for name in ("reg_address", "reg_write", "reg_wdata", "reg_read"):
            getattr(dut, name).value = 0
        rng = self.bench.rng
        for name in ("status", "counters", "epochs", "group_state", "function_status"):
            getattr(dut, name).value = rng.getrandbits(len(getattr(dut, name)))

    async def write(self, at: int, value: int) -> dict[str, int]:
        """The pulses of a write."""
        dut = self.dut
        dut.reg_address.value, dut.reg_wdata.value, dut.reg_write.value = at, value, 1
        await RisingEdge(dut.clk)
        pulses = {
            name: int(getattr(dut, name).value)
            for name in ("invalidate", "clear_flushes", "elapsed")
        }
        dut.reg_write.value = 0
        await RisingEdge(dut.clk)
        pulses["reconfigured"] = int(dut.reconfigured.value)
        await RisingEdge(dut.clk)
        assert not int(dut.reconfigured.value)
        return pulses

    async def read(self, at: int) -> int:
        self.dut.reg_address.value, self.dut.reg_read.value = at, 1
        await RisingEdge(self.dut.clk)
        self.dut.reg_read.value = 0
        await RisingEdge(self.dut.clk)
        return int(self.dut.reg_rdata.value)


@cocotb.test()
async def statuses_can_be_read(dut: Any) -> None:
    bus = Bus(dut)
    await bus.bench.start()

    def element(name: str, at: int) -> int:
        return int(getattr(dut, name).value) >> 32 * at & 0xFFFFFFFF

    for at in range(STATUSES):
        assert await bus.read(4 * (GLOBALS + at)) == element("status", at)
    assert await bus.read(4 * (GLOBALS + STATUSES)) == 0
    for function in range(bus.functions):
        base = 0x1000 + 0x100 * function
        for at in range(COUNTERS):
            assert await bus.read(base + 64 + 4 * at) == element(
                "counters", COUNTERS * function + at
            )
        assert await bus.read(base + 192) == element("epochs", function)
        assert await bus.read(base + 196) == element("group_state", function)
        for at in range(FUNCTION_STATUSES):
            assert await bus.read(base + 200 + 4 * at) == element(
                "function_status", FUNCTION_STATUSES * function + at
            )
    assert await bus.read(0x1000 + 0x100 * bus.functions + 64) == 0
    assert await bus.read(0x2000) == 0
    assert await bus.read(0x0100) == 0


@cocotb.test()
async def settings_arrive(dut: Any) -> None:
    bus = Bus(dut)
    await bus.bench.start()
    rng = bus.bench.rng
    for at in range(GLOBALS):
        value = rng.getrandbits(32) & ~7 if at == 7 else rng.getrandbits(32)
        pulses = await bus.write(4 * at, value)
        assert await bus.read(4 * at) == value
        assert pulses["reconfigured"] == (1 <= at <= 3), at
    await bus.write(0, 1)
    assert int(dut.cache_on.value)
    await bus.write(8, 12345)
    assert int(dut.memcached_port.value) == 12345
    widths = {0: 32, 1: 16, 3: 16, 4: 16, 5: 9, 7: 16, 8: 16}
    for function in range(bus.functions):
        base = 0x1000 + 0x100 * function
        wanted = {}
        for word, width in widths.items():
            wanted[word] = rng.getrandbits(width)
            pulses = await bus.write(base + 4 * word, wanted[word])
            assert pulses["reconfigured"] == (word in (2, 6, 7, 8))
        for word, value in wanted.items():
            assert await bus.read(base + 4 * word) == value
        mac = int(dut.mac.value) >> 48 * function & 0xFFFFFFFFFFFF
        assert mac == wanted[1] << 32 | wanted[0]
        for value, seen in ((0, 0), (bus.functions, function), (99, function)):
            await bus.write(base + 8, value)
            assert await bus.read(base + 8) == seen
        for value, seen in ((0, 0), (15, 15), (99, 15)):
            await bus.write(base + 24, value)
            assert await bus.read(base + 24) == seen


@cocotb.test()
async def commands_are_pulses(dut: Any) -> None:
    bus = Bus(dut)
    await bus.bench.start()
    for value, invalidate, clear, elapsed in (
        (1, 1, 0, 0),
        (2, 1, 1, 0),
        (4 * 77 + 3, 0, 0, 77),
        (0, 0, 0, 0),
    ):
        pulses = await bus.write(COMMAND, value)
        assert pulses == {
            "invalidate": invalidate,
            "clear_flushes": clear,
            "elapsed": elapsed,
            "reconfigured": 0,
        }
        assert not int(dut.elapsed.value)
