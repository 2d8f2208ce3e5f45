"""No chunk is lost or doubled, through exhaustion and back."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from packed import SLAB_RESPONSE, start

TOP = "slab_allocator_on_sram"
CHUNKS = (60, 50, 40, 30)
SIZES = {f"CHUNKS_{64 << each}": count for each, count in enumerate(CHUNKS)}
PARAMETERS = [
    {**SIZES, "PREFETCH": 8, "SRAM_LATENCY": 8},
    {**SIZES, "PREFETCH": 8, "SRAM_LATENCY": 1},  # free lists in on-chip RAM
]
REGIONS = []
for number, each in enumerate(CHUNKS):
    first = sum(count << size for size, count in enumerate(CHUNKS[:number]))
    REGIONS.append(range(first, first + (each << number), 1 << number))
CLASS_BIT, FREE_BIT = 30, 32


async def reset(dut: Any) -> None:
    await start(dut, seed=5, s_valid=0, s_request=0)


@cocotb.test()
async def chunks_are_neither_lost_nor_doubled(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut)
    in_use: list[list[int]] = [[], [], [], []]
    owned: list[set[int]] = [set(), set(), set(), set()]
    due: int | None = None  # class of the allocation whose response comes
    failures = operations = 0
    request: int | None = None
    chunk_class = freed = 0
    filling = True
    clk, ready, valid = dut.clk, dut.s_ready, dut.s_valid
    edge = RisingEdge(clk)
    valid.value = 1
    for cycle in range(130_000):
        if operations == 100_000:
            break
        if request is None:
            if cycle % 500 == 0:
                filling = rng.random() < 0.5
            chunk_class = rng.getrandbits(2)
            chunks = in_use[chunk_class]
            if chunks and rng.random() < (0.3 if filling else 0.7):
                index = rng.randrange(len(chunks))
                freed, chunks[index] = chunks[index], chunks[-1]
                chunks.pop()
                request = 1 << FREE_BIT | chunk_class << CLASS_BIT | freed
            else:
                request = chunk_class << CLASS_BIT
            dut.s_request.value = request
        await edge
        if due is not None:
            response = int(dut.s_response.value)
            chunk = response & ((1 << 30) - 1)
            if response >> 30:
                assert chunk in REGIONS[due]
                assert chunk not in owned[due], "doubled"
                owned[due].add(chunk)
                in_use[due].append(chunk)
            else:
                assert len(owned[due]) == CHUNKS[due], "lost"
                failures += 1
            due = None
        if ready.value:
            operations += 1
            if request >> FREE_BIT:
                owned[chunk_class].remove(freed)
            else:
                due = chunk_class
            request = None
    assert operations == 100_000
    assert failures > 500
    valid.value = 0
    await edge
    await edge
    if due is None:
        assert int(dut.in_use.value) == sum(len(each) << 32 * at for at, each in enumerate(owned))


@cocotb.test()
async def gaps_and_one_class_alone(dut: Any) -> None:
    """Allocates all of a class, frees all, several times: every chunk comes back."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut)
    for _ in range(6):
        chunks: set[int] = set()
        for _ in range(CHUNKS[1] + 3):
            response = await allocate(dut, 1, rng)
            if response["ok"]:
                assert response["chunk"] not in chunks
                chunks.add(response["chunk"])
        assert chunks == set(REGIONS[1])
        for chunk in rng.sample(sorted(chunks), len(chunks)):
            await give(dut, 1 << FREE_BIT | 1 << CLASS_BIT | chunk, rng)
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    assert int(dut.in_use.value) == 0
    assert not dut.lost_event.value


async def give(dut: Any, request: int, rng: random.Random) -> None:
    for _ in range(rng.randrange(3)):
        await RisingEdge(dut.clk)
    dut.s_valid.value = 1
    dut.s_request.value = request
    for _ in range(50):
        await RisingEdge(dut.clk)
        if dut.s_ready.value:
            break
    else:
        raise AssertionError("not accepted")
    dut.s_valid.value = 0


async def allocate(dut: Any, chunk_class: int, rng: random.Random) -> dict[str, int]:
    dut.s_tag.value = chunk_class
    await give(dut, chunk_class << CLASS_BIT, rng)
    await RisingEdge(dut.clk)
    assert dut.s_response_valid.value
    assert int(dut.s_response_tag.value) == chunk_class
    return SLAB_RESPONSE.unpack(int(dut.s_response.value))


@cocotb.test()
async def a_fresh_chunk_comes_before_a_freed_one(dut: Any) -> None:
    rng = random.Random(1)
    await reset(dut)
    first = (await allocate(dut, 0, rng))["chunk"]
    await give(dut, 1 << FREE_BIT | first, rng)
    others = [(await allocate(dut, 0, rng))["chunk"] for _ in range(CHUNKS[0] - 1)]
    assert first not in others
    assert (await allocate(dut, 0, rng)) == {"ok": 1, "chunk": first}
    assert not (await allocate(dut, 0, rng))["ok"]
