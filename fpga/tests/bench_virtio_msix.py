"""Interrupts become messages; masked ones stay pending."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from packed import join, start

TOP = "virtio_msix"
PARAMETERS: list[dict[str, int]] = [{}]


class Table:
    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.messages: list[tuple[int, int]] = []

    async def start(self) -> None:
        await start(
            self.dut, bar_select=0, bar_write=0, bar_read=0, irq=0, enable=0, mask=0, m_ready=0
        )
        cocotb.start_soon(self._collect())

    async def _collect(self) -> None:
        rng = random.Random(cocotb.RANDOM_SEED)
        dut = self.dut
        while True:
            ready = rng.random() < 0.5
            dut.m_ready.value = int(ready)
            await RisingEdge(dut.clk)
            if ready and int(dut.m_valid.value):
                self.messages.append((int(dut.m_address.value), int(dut.m_data.value)))

    async def write(self, address: int, value: int) -> None:
        dut = self.dut
        dut.bar_select.value = dut.bar_write.value = 1
        dut.bar_address.value, dut.bar_wdata.value, dut.bar_strobe.value = address, value, 15
        await RisingEdge(dut.clk)
        dut.bar_select.value = dut.bar_write.value = 0

    async def read(self, address: int) -> int:
        dut = self.dut
        dut.bar_select.value = dut.bar_read.value = 1
        dut.bar_address.value = address
        await RisingEdge(dut.clk)
        dut.bar_select.value = dut.bar_read.value = 0
        await RisingEdge(dut.clk)
        return int(dut.bar_rdata.value)

    async def raise_(self, which: int) -> None:
        self.dut.irq.value = which
        await RisingEdge(self.dut.clk)
        self.dut.irq.value = 0
        for _ in range(30):
            await RisingEdge(self.dut.clk)


@cocotb.test()
async def interrupts_are_messages(dut: Any) -> None:
    table = Table(dut)
    await table.start()
    # Configuration: vector 2; both queues share vector 0.
    dut.irq_vector.value = join([2, 0, 0], 16)
    for vector in range(3):
        assert await table.read(0x8000 + 16 * vector + 12) == 1  # masked at first
        for word, value in enumerate((0xFEE00000 + 16 * vector, vector, 0x40 + vector, 0)):
            await table.write(0x8000 + 16 * vector + 4 * word, value)
            assert await table.read(0x8000 + 16 * vector + 4 * word) == value
    messages = [((vector << 32) + 0xFEE00000 + 16 * vector, 0x40 + vector) for vector in range(3)]
    await table.raise_(7)
    assert not table.messages  # MSI-X is not enabled
    dut.enable.value = 1
    await table.raise_(1)
    assert table.messages == [messages[2]]
    await table.raise_(2)
    await table.raise_(4)
    assert table.messages == [messages[2], messages[0], messages[0]]
    await table.raise_(7)
    assert table.messages[3:] == [messages[0], messages[2]]


@cocotb.test()
async def masked_interrupts_wait(dut: Any) -> None:
    table = Table(dut)
    await table.start()
    dut.irq_vector.value = join([0, 1, 0xFFFF], 16)
    dut.enable.value = 1
    for vector in range(2):
        await table.write(0x8000 + 16 * vector + 8, vector)
    await table.raise_(7)  # a queue without a vector has no interrupt
    assert await table.read(0x9000) == 3
    assert not table.messages
    await table.write(0x800C, 0)
    for _ in range(20):
        await RisingEdge(dut.clk)
    assert table.messages == [(0, 0)]
    assert await table.read(0x9000) == 2
    dut.mask.value = 1
    await table.write(0x801C, 0)
    await table.raise_(1)
    assert await table.read(0x9000) == 3
    assert len(table.messages) == 1
    dut.mask.value = 0
    for _ in range(20):
        await RisingEdge(dut.clk)
    assert table.messages[1:] == [(0, 0), (0, 1)]
    assert await table.read(0x9000) == 0
