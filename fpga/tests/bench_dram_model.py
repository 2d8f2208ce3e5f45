"""The DRAM model: latencies of the paper, idle and under load; a read sees each earlier write."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from packed import start

TOP = "dram_model"
LINES = 1024
PARAMETERS = [{"LINES": LINES, "TAG_BITS": 8}]
IDLE, LOADED = 23, 130  # cycles of 5 ns: 115 ns and 650 ns


async def run(
    dut: Any, rng: random.Random, *, cycles: int, rate: float, writes: float
) -> list[int]:
    """Random traffic; compares each line that is read. Returns the latencies of the reads."""
    golden: dict[int, int] = {}
    due: dict[int, tuple[int, int | None]] = {}  # tag -> cycle, line
    free = list(range(256))
    latencies: list[int] = []
    current: tuple[int, int, int, int] | None = None
    accepted = 0
    for cycle in range(cycles):
        if current is None and free and rng.random() < rate:
            write = int(rng.random() < writes)
            current = write, rng.randrange(LINES), rng.getrandbits(64), rng.choice(free)
            dut.write.value, dut.address.value, dut.wdata.value, dut.tag.value = current
        dut.valid.value = int(current is not None)
        await RisingEdge(dut.clk)
        if dut.response_valid.value:
            tag = int(dut.response_tag.value)
            since, wanted = due.pop(tag)
            free.append(tag)
            latencies.append(cycle - since)
            if wanted is not None:
                assert int(dut.response_rdata.value) == wanted
        if current is not None and dut.ready.value:
            write, address, data, tag = current
            accepted += 1
            if write:
                golden[address] = data
            else:
                due[tag] = cycle, golden.get(address)
                free.remove(tag)
            current = None
    print(f"{accepted / cycles:.3f} requests a cycle", end=", ")
    return latencies


def show(name: str, latencies: list[int]) -> None:
    ordered = sorted(latencies)
    marks = {each: ordered[int(len(ordered) * each / 1000)] for each in (0, 500, 900, 990, 999)}
    histogram = sorted(Counter(each // 10 * 10 for each in latencies).items())
    mean = sum(latencies) / len(latencies)
    print(f"{name}: {len(latencies)} reads, mean {mean:.1f}, max {ordered[-1]}, per mille {marks}")
    print("  ", " ".join(f"{low}-{low + 9}:{count}" for low, count in histogram))


@cocotb.test()
async def an_idle_read_takes_115_ns(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut, seed=cocotb.RANDOM_SEED & 0xFFFF, valid=0)
    latencies = await run(dut, rng, cycles=12000, rate=0.01, writes=0.2)
    show("idle", latencies)
    assert min(latencies) == IDLE
    assert sorted(latencies)[len(latencies) * 8 // 10] <= IDLE + 1
    assert max(latencies) <= LOADED


@cocotb.test()
async def full_random_load_takes_up_to_650_ns(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut, seed=cocotb.RANDOM_SEED & 0xFFFF, valid=0)
    latencies = await run(dut, rng, cycles=12000, rate=1.0, writes=0.0)
    show("loaded", latencies)
    assert min(latencies) >= IDLE
    assert LOADED - 15 <= max(latencies) <= LOADED + 20


@cocotb.test()
async def a_read_sees_the_write_before_it(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut, seed=3, valid=0)

    class Few(random.Random):
        def randrange(self, *_: Any) -> int:  # type: ignore[override]
            return rng.choice((1, 2, 17, 33, 900))

    latencies = await run(dut, Few(2), cycles=6000, rate=0.9, writes=0.5)
    assert len(latencies) > 200
    assert min(latencies) >= IDLE


@cocotb.test()
async def the_seed_decides_the_latencies(dut: Any) -> None:
    runs = []
    for seed in (1, 1, 2):
        await start(dut, seed=seed, valid=0)
        runs.append(await run(dut, random.Random(1), cycles=1500, rate=0.3, writes=0.2))
    assert runs[0] == runs[1] != runs[2]
