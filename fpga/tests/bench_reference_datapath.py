"""The reference design forwards as a NIC and as a switch, at line rate."""

from __future__ import annotations

from typing import Any

import cocotb
import frames
from cocotb.triggers import RisingEdge
from streams import Bench, Frame, Sink, Source, random_length

TOP = "reference_datapath"
PARAMETERS = [{"NETWORK_PORTS": 4}]
PORTS, HOST = 5, 4


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
        for name in ("seed", "reg_write", "reg_read", "reg_address", "reg_wdata"):
            getattr(dut, name).value = 0

    async def start(self, *, switch: bool) -> None:
        await self.bench.start()
        self.dut.reg_write.value = 1
        self.dut.reg_wdata.value = int(switch)
        await RisingEdge(self.dut.clk)
        self.dut.reg_write.value = 0

    async def register(self, word: int) -> int:
        self.dut.reg_address.value = 4 * word
        self.dut.reg_read.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.reg_read.value = 0
        await RisingEdge(self.dut.clk)
        return int(self.dut.reg_rdata.value)

    def frame(self, target: bytes, port: int, payload: int | None = None) -> Frame:
        rng = self.bench.rng
        length = random_length(rng) % 1500 if payload is None else payload
        # The first byte of the payload names the port.
        data = bytes([port]) + rng.randbytes(length)
        return Frame(frames.ethernet(data, source=station(port), destination=target))

    async def arrive(self, expected: list[list[Frame]], limit: int) -> None:
        """Waits for these frames at the ports; the order holds for each pair of ports."""
        total = sum(map(len, expected))
        await self.bench.until(lambda: self.sink.count == total, limit)
        await self.bench.step(20)
        for port in range(PORTS):
            for source in range(PORTS):
                assert [f for f in self.sink.frames[port] if f.data[14] == source] == [
                    f for f in expected[port] if f.data[14] == source
                ], f"from port {source} to {port}"
            self.sink.frames[port].clear()


def station(port: int) -> bytes:
    return bytes([2, 0, 0, 0, 0, port])


@cocotb.test()
async def nic(dut: Any) -> None:
    lab = Lab(dut)
    await lab.start(switch=False)
    expected: list[list[Frame]] = [[] for _ in range(PORTS)]
    for port in range(4):
        for _ in range(10):
            frame = lab.frame(station(HOST), port)
            lab.source.send(frame, port)
            expected[HOST].append(frame)
    await lab.arrive(expected, 20000)
    expected = [[] for _ in range(PORTS)]
    for number in range(30):
        target = number % 6
        frame = lab.frame(frames.BROADCAST_MAC if target >= 4 else station(target), HOST)
        lab.source.send(frame, HOST)
        for port in range(4) if target >= 4 else [target]:
            expected[port].append(frame)
    await lab.arrive(expected, 20000)
    assert [await lab.register(1 + port) for port in range(PORTS)] == [10, 10, 10, 10, 30]
    assert await lab.register(1 + PORTS + HOST) == 40
    assert [await lab.register(1 + 2 * PORTS + port) for port in range(PORTS)] == [0] * PORTS


async def teach(lab: Lab) -> None:
    """The switch learns all stations: each sends to all."""
    for port in range(PORTS):
        frame = lab.frame(frames.BROADCAST_MAC, port)
        lab.source.send(frame, port)
        await lab.arrive([[frame] if other != port else [] for other in range(PORTS)], 2000)


@cocotb.test()
async def switch(dut: Any) -> None:
    lab = Lab(dut)
    await lab.start(switch=True)
    await teach(lab)
    expected: list[list[Frame]] = [[] for _ in range(PORTS)]
    for port in range(PORTS):
        for _ in range(15):
            target = lab.bench.rng.randrange(PORTS + 1)
            known = target < PORTS
            frame = lab.frame(station(target) if known else frames.BROADCAST_MAC, port)
            lab.source.send(frame, port)
            for other in [target] if known else range(PORTS):
                if other != port:
                    expected[other].append(frame)
    await lab.arrive(expected, 30000)


@cocotb.test()
async def minimal_frames_of_all_ports_at_one_word_a_cycle(dut: Any) -> None:
    lab = Lab(dut, pace=1.0)
    await lab.start(switch=True)
    await teach(lab)
    each = 60
    expected: list[list[Frame]] = [[] for _ in range(PORTS)]
    for port in range(PORTS):
        for _ in range(each):
            target = (port + 1) % PORTS
            frame = lab.frame(station(target), port, payload=20)
            lab.source.send(frame, port)
            expected[target].append(frame)
    # 2 words a frame. Four ports of 10GbE at 200 MHz bring 0.6 words a cycle, this is all of it.
    start = lab.bench.cycle
    await lab.arrive(expected, 2 * each * PORTS + 20)
    assert lab.bench.cycle - start <= 2 * each * PORTS + 40


@cocotb.test()
async def reset_in_frames_leaves_nothing(dut: Any) -> None:
    lab = Lab(dut)
    await lab.start(switch=False)
    for _ in range(6):
        for port in range(PORTS):
            lab.source.send(lab.frame(frames.BROADCAST_MAC, port), port)
        await lab.bench.step(lab.bench.rng.randrange(10, 120))
        await lab.bench.reset()
        for received in lab.sink.frames:
            received.clear()
        frame = lab.frame(station(HOST), 2)
        lab.source.send(frame, 2)
        await lab.arrive([[], [], [], [], [frame]], 3000)
