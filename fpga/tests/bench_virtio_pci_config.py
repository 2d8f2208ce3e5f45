"""A driver finds the registers by the capabilities, as Linux's virtio_pci_modern does."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from packed import start

TOP = "virtio_pci_config"
PARAMETERS: list[dict[str, int]] = [{}]

COMMON, NOTIFY, ISR, DEVICE, WINDOW = range(1, 6)


class Config:
    """Configuration accesses of 1, 2 or 4 bytes, and registers behind the window."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.registers = {4 * i: 0x11111111 * (i % 16) for i in range(1 << 14)}
        self.accesses: list[tuple[str, int, int]] = []

    async def start(self) -> None:
        await start(self.dut, cfg_write=0, cfg_read=0, irq_pin=0, bar_rdata=0)
        cocotb.start_soon(self._serve())

    async def _serve(self) -> None:
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            address, strobe = int(dut.bar_address.value), int(dut.bar_strobe.value)
            if int(dut.bar_write.value):
                data = int(dut.bar_wdata.value)
                old = self.registers[address & ~3]
                for lane in range(4):
                    if strobe >> lane & 1:
                        old = old & ~(255 << 8 * lane) | data & 255 << 8 * lane
                self.registers[address & ~3] = old
                self.accesses.append(("write", address, strobe))
            if int(dut.bar_read.value):
                dut.bar_rdata.value = self.registers[address & ~3]
                self.accesses.append(("read", address, strobe))

    async def read(self, address: int, size: int = 4) -> int:
        dut = self.dut
        dut.cfg_address.value = address & ~3
        dut.cfg_read.value = 1
        await RisingEdge(dut.clk)
        dut.cfg_read.value = 0
        cycles = 0
        while not int(dut.cfg_rvalid.value):
            await RisingEdge(dut.clk)
            cycles += 1
            assert cycles < 5
        found = int(dut.cfg_rdata.value) >> 8 * (address & 3) & (1 << 8 * size) - 1
        await RisingEdge(dut.clk)
        return found

    async def write(self, address: int, value: int, size: int = 4) -> None:
        dut = self.dut
        lane = address & 3
        dut.cfg_address.value = address & ~3
        dut.cfg_write.value = 1
        dut.cfg_strobe.value = ((1 << size) - 1) << lane
        dut.cfg_wdata.value = value << 8 * lane
        await RisingEdge(dut.clk)
        dut.cfg_write.value = 0
        await RisingEdge(dut.clk)


async def capabilities(config: Config) -> dict[int, list[int]]:
    """Places of the capabilities by id; the list ends."""
    assert await config.read(0x06, 2) >> 4 & 1
    found: dict[int, list[int]] = {}
    place = await config.read(0x34, 1)
    for _ in range(48):
        if not place:
            return found
        assert place >= 0x40
        assert place % 4 == 0
        found.setdefault(await config.read(place, 1), []).append(place)
        place = await config.read(place + 1, 1)
    raise AssertionError("the capabilities do not end")


@cocotb.test()
async def a_driver_finds_the_registers(dut: Any) -> None:
    config = Config(dut)
    await config.start()
    assert await config.read(0, 2) == 0x1AF4
    assert await config.read(2, 2) == 0x1040 + 1  # network device, not transitional
    assert await config.read(8, 1) >= 1  # revision
    assert await config.read(9, 3) == 0x020000
    assert await config.read(0x2C, 2) == 0x1AF4
    assert await config.read(0x2E, 2) >= 0x40
    found = await capabilities(config)
    places: dict[int, tuple[int, int, int]] = {}
    for place in found[0x09]:
        kind, length = await config.read(place + 3, 1), await config.read(place + 2, 1)
        bar = await config.read(place + 4, 1)
        offset, size = await config.read(place + 8), await config.read(place + 12)
        assert length >= 16
        assert bar == 0
        assert kind not in places
        places[kind] = place, offset, size
    assert places[COMMON][1:] == (0x0000, 64)
    assert places[ISR][1:] == (0x1000, 1)
    assert places[DEVICE][1:] == (0x2000, 8)
    assert places[NOTIFY][1:] == (0x3000, 8)
    assert await config.read(places[NOTIFY][0] + 16) == 4
    assert await config.read(places[NOTIFY][0] + 2, 1) == 20
    assert await config.read(places[WINDOW][0] + 2, 1) == 20
    (msix,) = found[0x11]
    assert await config.read(msix + 2, 2) & 0x7FF == 2  # three vectors
    assert await config.read(msix + 4) == 0x8000
    assert await config.read(msix + 8) == 0x9000


@cocotb.test()
async def bar_has_64_kib(dut: Any) -> None:
    config = Config(dut)
    await config.start()
    await config.write(0x10, 0xFFFFFFFF)
    await config.write(0x14, 0xFFFFFFFF)
    low, high = await config.read(0x10), await config.read(0x14)
    assert low & 0xF == 4  # memory, 64 bits, not prefetchable
    assert (~((high << 32 | low) & ~0xF) + 1) & (1 << 64) - 1 == 1 << 16
    for address in range(0x18, 0x28, 4):
        await config.write(address, 0xFFFFFFFF)
        assert await config.read(address) == 0
    await config.write(0x10, 0xFEDC1234)
    await config.write(0x14, 0x00000012)
    assert int(dut.bar_base.value) == 0x12FEDC0000


@cocotb.test()
async def bits_of_command_and_msix(dut: Any) -> None:
    config = Config(dut)
    await config.start()
    assert [int(dut.memory_enable.value), int(dut.bus_master.value)] == [0, 0]
    await config.write(4, 0x0006, 2)
    assert [int(dut.memory_enable.value), int(dut.bus_master.value)] == [1, 1]
    dut.irq_pin.value = 1
    await RisingEdge(dut.clk)
    assert int(dut.intx.value) == 1
    assert await config.read(6, 2) >> 3 & 1
    await config.write(5, 0x04, 1)  # one byte: interrupt disable, the rest stays
    assert int(dut.intx.value) == 0
    assert await config.read(4, 2) == 0x0406
    await config.write(5, 0x00, 1)
    (msix,) = (await capabilities(config))[0x11]
    await config.write(msix + 2, 0xC000, 2)
    assert [int(dut.msix_enable.value), int(dut.msix_mask.value), int(dut.intx.value)] == [1, 1, 0]
    await config.write(0x3C, 0x5A, 1)
    assert await config.read(0x3C, 2) == 0x015A
    await config.write(0, 0, 4)
    assert await config.read(0) == 0x10411AF4


@cocotb.test()
async def window_reaches_the_registers(dut: Any) -> None:
    config = Config(dut)
    await config.start()
    (place,) = [
        each for each in (await capabilities(config))[0x09] if await config.read(each + 3, 1) == 5
    ]
    for offset, size in ((0x14, 1), (0x17, 1), (0x1A, 2), (0x2001, 1), (0x3004, 2), (0x24, 4)):
        await config.write(place + 4, 0, 1)
        await config.write(place + 8, offset)
        await config.write(place + 12, size)
        before = config.registers[offset & ~3]
        value = 0xA5C3F017 & (1 << 8 * size) - 1
        await config.write(place + 16, value, size)
        shift = 8 * (offset & 3)
        mask = (1 << 8 * size) - 1 << shift
        assert config.registers[offset & ~3] == before & ~mask | value << shift
        assert await config.read(place + 16, size) == value
        assert [each[:2] for each in config.accesses[-2:]] == [("write", offset), ("read", offset)]
    # What is not allowed has no effect: an odd length, another BAR, an address that is not aligned.
    count = len(config.accesses)
    for bar, offset, size in ((0, 0, 3), (1, 0, 4), (0, 2, 4), (0, 1, 2), (0, 0x10000, 4)):
        await config.write(place + 4, bar, 1)
        await config.write(place + 8, offset)
        await config.write(place + 12, size)
        await config.write(place + 16, 0xFFFFFFFF)
        await config.read(place + 16)
    assert len(config.accesses) == count
