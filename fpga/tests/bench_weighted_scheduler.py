"""Shares of ports by weights and frame lengths, and rate limits."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from streams import Bench

TOP = "weighted_scheduler"
PARAMETERS = [{"PORTS": 4}, {"PORTS": 1}]


class Ports:
    """Ports with frames of random lengths; each frame takes a cycle for 64 bytes."""

    def __init__(self, dut: Any, lengths: list[tuple[int, int]]) -> None:
        self.dut, self.bench = dut, Bench(dut)
        self.rng: random.Random = self.bench.rng
        self.lengths = lengths
        self.active = [True] * len(lengths)
        self.next = [self.rng.randint(*each) for each in lengths]
        self.sent = [0] * len(lengths)
        self.frames = [0] * len(lengths)
        self.left = 0
        self.idle = 0
        dut.enable.value = dut.accept.value = 0

    def set(self, name: str, values: list[int]) -> None:
        getattr(self.dut, name).value = sum(each << 16 * at for at, each in enumerate(values))

    async def run(self, cycles: int) -> None:
        dut = self.dut
        for _ in range(cycles):
            dut.request.value = sum(each << at for at, each in enumerate(self.active))
            self.set("length", self.next)
            dut.enable.value = dut.accept.value = int(self.left == 0)
            await self.bench.step()
            grant = int(dut.grant.value)
            assert grant & (grant - 1) == 0
            if self.left:
                assert grant == 0
                self.left -= 1
                continue
            if not grant:
                self.idle += 1
                continue
            port = grant.bit_length() - 1
            assert self.active[port]
            self.sent[port] += self.next[port]
            self.frames[port] += 1
            self.left = (self.next[port] - 1) // 64
            self.next[port] = self.rng.randint(*self.lengths[port])


@cocotb.test()
async def bytes_are_shared_by_weight(dut: Any) -> None:
    if len(dut.request) == 1:
        return
    ports = Ports(dut, [(60, 100), (60, 1514), (1000, 9216), (300, 300)])
    ports.set("weight", [1000, 2000, 4000, 1000])
    ports.set("rate", [0] * 4)
    await ports.bench.start()
    await ports.run(60000)
    total = sum(ports.sent)
    shares = [8 * each / total for each in ports.sent]
    dut._log.warning(f"shares {[round(each, 3) for each in shares]}, {ports.idle} cycles idle")
    for share, wanted in zip(shares, (1, 2, 4, 1), strict=True):
        assert abs(share - wanted) < 0.06 * wanted
    assert ports.idle < 0.1 * 60000


@cocotb.test()
async def idle_ports_cost_nothing(dut: Any) -> None:
    count = len(dut.request)
    ports = Ports(dut, [(64, 64)] * count)
    ports.set("weight", [6400] * count)
    ports.set("rate", [0] * count)
    await ports.bench.start()
    ports.active = [at == count - 1 for at in range(count)]
    await ports.run(2000)
    assert ports.frames[-1] > 1950
    # Nothing is saved up for the time after it.
    ports.active = [True] * count
    ports.frames = [0] * count
    await ports.run(4000)
    assert max(ports.frames) < 1.2 * min(ports.frames)


@cocotb.test()
async def small_weights_serve_long_frames(dut: Any) -> None:
    count = len(dut.request)
    ports = Ports(dut, [(9216, 9216)] * count)
    ports.set("weight", [20] + [100] * (count - 1))
    ports.set("rate", [0] * count)
    await ports.bench.start()
    await ports.run(40000)
    assert min(ports.frames) >= 1


@cocotb.test()
async def rate_bounds_a_port_and_leaves_the_rest_to_others(dut: Any) -> None:
    count = len(dut.request)
    ports = Ports(dut, [(1000, 1000)] * count)
    ports.set("weight", [4096] * count)
    ports.set("rate", [4096] + [0] * (count - 1))
    await ports.bench.start()
    cycles = 50000
    await ports.run(cycles)
    assert 0.97 < (ports.sent[0] - 16384) / (4096 / 1024 * cycles) < 1.03
    if count > 1:
        assert sum(ports.sent) > 0.9 * 64 * cycles * 1000 / 1024
