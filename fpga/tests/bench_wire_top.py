"""Frames leave the wires whole and in order at the port of their wire, whatever stalls."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

TOP = "wire_top"
PARAMETERS = [{"NETWORK_PORTS": 4, "BYTES": 8}, {"NETWORK_PORTS": 1, "BYTES": 32}]

PORT_INPUTS = ("rx_valid", "rx_data", "rx_last", "rx_meta_length", "tx_ready")
MAX_CYCLES = 20_000


def partner(mode: int, port: int, ports: int) -> int:
    """The port that is wired to `port`."""
    if mode == 1 and port ^ 1 < ports:
        return port ^ 1
    if mode == 2 and port in (0, ports - 1):
        return ports - 1 - port
    return port


async def write(dut: Any, address: int, value: int) -> None:
    dut.reg_address.value = address
    dut.reg_wdata.value = value
    dut.reg_write.value = 1
    await RisingEdge(dut.clk)
    dut.reg_write.value = 0
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)


async def read(dut: Any, address: int) -> int:
    dut.reg_address.value = address
    dut.reg_read.value = 1
    await RisingEdge(dut.clk)
    dut.reg_read.value = 0
    await RisingEdge(dut.clk)
    return int(dut.reg_rdata.value)


async def start(dut: Any) -> tuple[int, int]:
    """Resets the module; its ports and the bytes of a word."""
    cocotb.start_soon(Clock(dut.clk, 5, "ns").start())
    for name in (*PORT_INPUTS, "reg_write", "reg_read", "reg_address", "reg_wdata"):
        getattr(dut, name).value = 0
    dut.seed.value = 77
    dut.rst.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    ports = len(dut.rx_valid)
    return ports, len(dut.rx_data) // ports // 8


@cocotb.test()
async def frames_leave_at_the_other_end(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    ports, size = await start(dut)
    total = [0] * ports
    for mode in (0, 1, 2):
        await write(dut, 0, mode)
        assert await read(dut, 0) == mode
        # Words of each port: data, whether it is the last, length of its frame.
        words: list[list[tuple[int, int, int]]] = [[] for _ in range(ports)]
        for port in range(ports):
            for _ in range(30):
                count = rng.randrange(1, 6)
                length = count * size - rng.randrange(size)
                for at in range(count):
                    words[port].append((rng.getrandbits(8 * size), at == count - 1, length))
                total[port] += 1
        sent = [0] * ports
        received: list[list[tuple[int, int, int]]] = [[] for _ in range(ports)]
        for _ in range(MAX_CYCLES):
            values = dict.fromkeys(PORT_INPUTS, 0)
            for port in range(ports):
                if sent[port] < len(words[port]):
                    data, last, length = words[port][sent[port]]
                    values["rx_valid"] |= 1 << port
                    values["rx_data"] |= data << (8 * size * port)
                    values["rx_last"] |= last << port
                    values["rx_meta_length"] |= length << (16 * port)
                values["tx_ready"] |= (rng.random() < 0.6) << port
            for name, value in values.items():
                getattr(dut, name).value = value
            await RisingEdge(dut.clk)
            taken = int(dut.rx_ready.value) & values["rx_valid"]
            left = int(dut.tx_valid.value) & values["tx_ready"]
            for port in range(ports):
                sent[port] += taken >> port & 1
                if left >> port & 1:
                    received[port].append(
                        (
                            int(dut.tx_data.value) >> (8 * size * port) & (1 << 8 * size) - 1,
                            int(dut.tx_last.value) >> port & 1,
                            int(dut.tx_meta_length.value) >> (16 * port) & 0xFFFF,
                        )
                    )
            if sum(map(len, received)) == sum(map(len, words)):
                break
        for name in PORT_INPUTS:
            getattr(dut, name).value = 0
        await RisingEdge(dut.clk)
        for port in range(ports):
            assert received[port] == words[partner(mode, port, ports)], (mode, port)
    for port in range(ports):
        assert await read(dut, 0x40 + 4 * port) == total[port]
    assert await read(dut, 4) == 77


@cocotb.test()
async def mode_waits_for_the_end_of_frames(dut: Any) -> None:
    ports, size = await start(dut)
    dut.tx_ready.value = (1 << ports) - 1
    dut.rx_valid.value = 1
    dut.rx_meta_length.value = 2 * size
    await RisingEdge(dut.clk)
    dut.rx_valid.value = 0
    await write(dut, 0, 2)
    assert await read(dut, 0) == 0, "port 0 is within a frame"
    dut.rx_valid.value = 1
    dut.rx_last.value = 1
    await RisingEdge(dut.clk)
    dut.rx_valid.value = 0
    for _ in range(3):
        await RisingEdge(dut.clk)
    assert await read(dut, 0) == 2
