"""Both caches reach their region in order, and get their own responses."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from packed import LINE_REQUEST, start

TOP = "dram_arbiter"
PARAMETERS = [{"HASH_BASE": 1000, "DATA_BASE": 5000, "TAG_BITS": 3}]
BASES = {"hash": 1000, "data": 5000}


@cocotb.test()
async def requests_keep_their_order_and_responses_their_cache(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut, hash_valid=0, data_valid=0, dram_ready=0, dram_response_valid=0)
    current: dict[str, tuple[int, dict[str, int]] | None] = {"hash": None, "data": None}
    expected: dict[str, deque[Any]] = {name: deque() for name in BASES}
    passed = {"hash": 0, "data": 0}
    for _ in range(4000):
        for name in BASES:
            if current[name] is None and rng.random() < 0.7:
                fields = {"write": rng.randrange(2), "address": rng.randrange(4000)}
                fields["data"] = rng.getrandbits(512)
                current[name] = (rng.randrange(5), fields)
                getattr(dut, f"{name}_request").value = LINE_REQUEST.pack(**fields)
                getattr(dut, f"{name}_tag").value = current[name][0]
            getattr(dut, f"{name}_valid").value = int(current[name] is not None)
        dut.dram_ready.value = int(rng.random() < 0.7)
        answer = rng.random() < 0.5
        tag, line = rng.randrange(16), rng.getrandbits(512)
        dut.dram_response_valid.value = int(answer)
        dut.dram_response_tag.value = tag
        dut.dram_response.value = line
        await RisingEdge(dut.clk)
        assert int(dut.hash_response_valid.value) == int(answer and tag < 8)
        assert int(dut.data_response_valid.value) == int(answer and tag >= 8)
        if answer:
            assert int(dut.response_tag.value) == tag & 7
            assert int(dut.response.value) == line
        for name in BASES:
            if current[name] is not None and getattr(dut, f"{name}_ready").value:
                expected[name].append(current[name])
                current[name] = None
        if dut.dram_valid.value and dut.dram_ready.value:
            got = int(dut.dram_tag.value)
            name = "data" if got >= 8 else "hash"
            tag, fields = expected[name].popleft()
            fields["address"] += BASES[name]
            assert (got & 7, LINE_REQUEST.unpack(int(dut.dram_request.value))) == (tag, fields)
            passed[name] += 1
    assert min(passed.values()) > 1000
    assert abs(passed["hash"] - passed["data"]) < 200
