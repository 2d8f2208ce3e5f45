"""Emu as a design: replies leave where requests came from; registers."""

from __future__ import annotations

from typing import Any

import cocotb
import frames
import memcached
from cocotb.triggers import RisingEdge
from memcached import Operation, get, store
from streams import Bench, Frame, Sink, Source

TOP = "emu_top"
PARAMETERS = [{"NETWORK_PORTS": 2, "ENTRIES": 32}]
PORTS = 3
OPTIONS, UDP_PORT, MAC_LOW, MAC_HIGH, ADDRESS = range(5)
HITS, MISSES, STORES, DELETES, DROPPED, CORRUPT = range(5, 11)


class Lab:
    def __init__(self, dut: Any) -> None:
        self.dut, self.bench = dut, Bench(dut)
        self.source = Source(
            self.bench,
            "rx",
            lanes=PORTS,
            meta=lambda frame: len(frame.data),
            meta_bits=16,
            meta_name="meta_length",
        )
        self.sink = Sink(self.bench, "tx", lanes=PORTS, meta_bits=16, meta_name="meta_length")
        for name in ("seed", "reg_write", "reg_read", "reg_address", "reg_wdata"):
            getattr(dut, name).value = 0

    async def read(self, word: int) -> int:
        self.dut.reg_address.value, self.dut.reg_read.value = 4 * word, 1
        await RisingEdge(self.dut.clk)
        self.dut.reg_read.value = 0
        await RisingEdge(self.dut.clk)
        return int(self.dut.reg_rdata.value)


@cocotb.test()
async def replies_leave_where_requests_came_from(dut: Any) -> None:
    lab = Lab(dut)
    await lab.bench.start()
    await lab.bench.step(50)
    assert [await lab.read(each) for each in (OPTIONS, UDP_PORT)] == [1, 11211]
    golden = memcached.Server()
    rng = lab.bench.rng
    expected: list[list[Operation]] = [[] for _ in range(PORTS)]
    for number in range(60):
        key = rng.choice((b"key1", b"other"))
        operation = rng.choice(
            (get(key, opaque=number), store(key, b"%d" % number), Operation(memcached.DELETE, key))
        )
        answer = golden.answer(operation)
        assert answer is not None
        port = rng.randrange(PORTS)
        expected[port].append(answer)
        lab.source.send(Frame(frames.udp_frame(frames.datagram(operation.encode()))), port)
        # One at a time: the order is that of the model.
        await lab.bench.until(lambda count=number + 1: lab.sink.count == count, 2000)
    for port in range(PORTS):
        found = [memcached.decode(each.data[50:])[0] for each in lab.sink.frames[port]]
        assert found == expected[port]
    counts = [await lab.read(each) for each in (HITS, MISSES, STORES, DELETES, DROPPED)]
    assert sum(counts) <= 60
    assert counts[0] > 5
    assert counts[2] > 5
    lab.source.send(Frame(frames.arp()), 1)
    await lab.bench.step(100)
    assert await lab.read(DROPPED) == counts[4] + 1
    assert lab.sink.count == 60
