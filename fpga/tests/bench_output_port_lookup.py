"""The lookup learns addresses and sets destinations as a NIC and as a switch."""

from __future__ import annotations

from typing import Any

import cocotb
import frames
from streams import Bench, Frame, Sink, Source, random_length, valid_without_ready

TOP = "output_port_lookup"
PARAMETERS = [{"NETWORK_PORTS": 4, "ENTRIES": 64}, {"NETWORK_PORTS": 2, "ENTRIES": 8, "BYTES": 64}]

NIC, SWITCH = 0, 1


class Model:
    """What the module does, as a table in Python."""

    def __init__(self, network_ports: int, entries: int) -> None:
        self.network = (1 << network_ports) - 1
        self.host = 1 << network_ports
        self._entries = entries
        self._table: dict[bytes, int] = {}  # in the order of learning

    def destination(self, frame: Frame, forwarding: int) -> int:
        target, source = frame.data[:6], frame.data[6:12]
        whole = len(frame.data) >= 14
        known = self._table.get(target, 0) if whole else 0
        if whole and not frame.destination and not source[0] & 1:
            if source not in self._table and len(self._table) == self._entries:
                del self._table[next(iter(self._table))]
            self._table[source] = frame.source
        if frame.destination:
            return frame.destination
        if forwarding == SWITCH:
            return (known or self.network | self.host) & ~frame.source
        if frame.source & self.network:
            return self.host
        return known & self.network or self.network


class Lab:
    def __init__(self, dut: Any, forwarding: int, pace: float | None = None) -> None:
        self.bench = Bench(dut)
        width = len(dut.s_data) // 8
        self.ports = int(dut.NETWORK_PORTS.value) + 1
        self.model = Model(self.ports - 1, int(dut.ENTRIES.value))
        self.source = Source(self.bench, width=width, pace=pace, beside=["s_drop_eligible"])
        self.sink = Sink(self.bench, width=width, pace=pace, beside=["m_drop_eligible"])
        self.forwarding = forwarding
        dut.forwarding.value = forwarding

    async def check(self, sent: list[Frame]) -> list[int]:
        """Passes frames, compares them with the model; their destinations."""
        self.sink.frames[0].clear()
        for frame in sent:
            self.source.send(frame)
        await self.bench.until(lambda: self.sink.count == len(sent), 400 * len(sent))
        expected = [self.model.destination(frame, self.forwarding) for frame in sent]
        for frame, got, destination in zip(sent, self.sink.frames[0], expected, strict=True):
            assert (got.data, got.source) == (frame.data, frame.source)
            assert got.destination == destination, (frame.data[:12].hex(), frame.source)
            assert got.beside["m_drop_eligible"] == frame.beside["s_drop_eligible"]
        return expected

    def frame(self, target: int, source: int, port: int, **fields: int) -> Frame:
        rng = self.bench.rng
        data = frames.ethernet(
            rng.randbytes(random_length(rng) % 300),
            destination=mac(target),
            source=mac(source),
            padded=False,
        )
        beside = {"s_drop_eligible": rng.getrandbits(1)}
        return Frame(data, 1 << port, fields.get("destination", 0), beside)


def mac(number: int) -> bytes:
    return frames.BROADCAST_MAC if number < 0 else (0x0200_0000_0000 + number).to_bytes(6, "big")


async def random_traffic(dut: Any, forwarding: int) -> None:
    lab = Lab(dut, forwarding)
    await lab.bench.start()
    rng = lab.bench.rng
    addresses = int(dut.ENTRIES.value) * 3 // 2
    for stations in (addresses // 3, addresses):
        sent = []
        for _ in range(150):
            # Stations move, so a table entry changes its port; some addresses are not learned.
            source = rng.randrange(stations)
            port = source % lab.ports if rng.random() < 0.9 else rng.randrange(lab.ports)
            target = rng.choice((rng.randrange(stations), source, addresses + 5, -1))
            set_already = rng.getrandbits(lab.ports) if rng.random() < 0.15 else 0
            if rng.random() < 0.05:
                source = -1
            sent.append(lab.frame(target, source, port, destination=set_already))
        sent += [
            Frame(rng.randbytes(n), 1 << n % lab.ports, 0, {"s_drop_eligible": 0})
            for n in (1, 5, 11, 12, 13)
        ]
        await lab.check(sent)


@cocotb.test()
async def random_traffic_as_nic(dut: Any) -> None:
    await random_traffic(dut, NIC)


@cocotb.test()
async def random_traffic_as_switch(dut: Any) -> None:
    await random_traffic(dut, SWITCH)


@cocotb.test()
async def replies_of_lake_are_not_learned(dut: Any) -> None:
    lab = Lab(dut, SWITCH)
    await lab.bench.start()
    host = lab.ports - 1
    # The host speaks; then LaKe answers in its name at port 0; then a client sends to the host.
    found = await lab.check(
        [lab.frame(1, 9, host), lab.frame(1, 9, 0, destination=1), lab.frame(9, 1, 0)]
    )
    assert found == [lab.model.network, 1, lab.model.host]


@cocotb.test()
async def one_word_a_cycle(dut: Any) -> None:
    lab = Lab(dut, SWITCH, pace=1.0)
    await lab.bench.start()
    width = len(dut.s_data) // 8
    sent = []
    for i in range(150):
        data = frames.ethernet(b"", destination=mac(i % 7), source=mac(i % 9))
        sent.append(Frame(data, 1 << i % lab.ports, 0, {"s_drop_eligible": 0}))
    start = lab.bench.cycle
    await lab.check(sent)
    assert lab.bench.cycle - start <= len(sent) * -(-60 // width) + 5


@cocotb.test()
async def reset_forgets_addresses_and_frames(dut: Any) -> None:
    lab = Lab(dut, SWITCH)
    await lab.bench.start()
    for _ in range(5):
        await lab.check([lab.frame(1, 2, 0), lab.frame(2, 1, 1)])
        lab.source.send(lab.frame(5, 6, 0))
        await lab.bench.until(lambda: lab.source.in_frame or lab.source.idle, 200)
        await lab.bench.reset()
        lab.sink.frames[0].clear()
        lab.source.send(lab.frame(5, 6, 0, destination=1))
        await valid_without_ready(lab.bench, lab.sink)
        await lab.bench.until(lambda: lab.sink.count == 1, 1000)
        lab.model = Model(lab.ports - 1, int(dut.ENTRIES.value))
        await lab.check([lab.frame(2, 7, 1), lab.frame(1, 8, 0)])
