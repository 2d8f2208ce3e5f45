"""The SRAM model: a fixed latency, and a random word when nothing is due."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from packed import start

TOP = "sram_model"
PARAMETERS = [{"LATENCY": 8, "ADDRESS_BITS": 5}, {"LATENCY": 1, "ADDRESS_BITS": 5}]


@cocotb.test()
async def words_come_after_the_latency(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    latency = int(dut.LATENCY.value)
    await start(dut, seed=7, enable=0, write=0, address=0, wdata=0)
    golden: dict[int, int] = {}
    due: list[int | None] = [None] * latency
    compared, noise = 0, set()
    for _ in range(3000):
        address = rng.randrange(32)
        enable, write = int(rng.random() < 0.8), int(rng.random() < 0.5)
        word = rng.getrandbits(32)
        dut.enable.value, dut.write.value = enable, write
        dut.address.value, dut.wdata.value = address, word
        await RisingEdge(dut.clk)
        wanted = due.pop(0)
        if wanted is None:
            noise.add(int(dut.rdata.value))
        else:
            assert int(dut.rdata.value) == wanted
            compared += 1
        due.append(golden.get(address) if enable and not write else None)
        if enable and write:
            golden[address] = word
    assert compared > 500
    assert len(noise) > 500
