"""Frames go whole, in order, to elements that are enabled and idle; none starves."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from packed import start

TOP = "pe_dispatcher"
PARAMETERS = [{"PES": 5}, {"PES": 1}]


@cocotb.test()
async def every_frame_gets_one_idle_element(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    pes = len(dut.enabled)
    await start(dut, enabled=0, s_valid=0, s_last=0, m_ready=0)
    work = [0] * pes  # cycles until an element takes frames again
    taken = [0] * pes
    words_left = owner = 0
    receiving = False
    enabled = (1 << pes) - 1
    frames = starved = offered = 0
    for _ in range(4000):
        if rng.random() < 0.02:
            enabled = rng.getrandbits(pes)
        if not offered and rng.random() < 0.8:
            offered = 1
            if not words_left:
                words_left = rng.randrange(1, 6)
        ready = sum(1 << pe for pe in range(pes) if not work[pe])
        if receiving and rng.random() < 0.3:
            ready &= ~(1 << owner)  # an element may pause in a frame
        dut.enabled.value = enabled
        dut.s_valid.value, dut.s_last.value = offered, int(words_left == 1)
        dut.m_ready.value = ready
        await ReadOnly()
        valid, dispatch = int(dut.m_valid.value), int(dut.dispatch.value)
        usable = ready & enabled
        if receiving:
            assert valid == offered << owner, "a frame stays with its element"
            assert dispatch == 0
            assert int(dut.s_ready.value) == ready >> owner & 1
            passes = offered and ready >> owner & 1
        else:
            assert int(dut.starved.value) == int(bool(offered) and not usable)
            starved += int(dut.starved.value)
            passes = bool(offered) and bool(usable)
            assert dispatch == valid, "the first word of a frame"
            if passes:
                assert valid.bit_count() == 1
                assert valid & usable
                owner = valid.bit_length() - 1
                taken[owner] += 1
                frames += 1
            else:
                assert valid == 0
        await RisingEdge(dut.clk)
        work = [max(0, each - 1) for each in work]
        if passes:
            offered = 0
            words_left -= 1
            receiving = words_left > 0
            if not receiving:
                work[owner] = rng.randrange(1, 30)
    assert frames > 40 * pes
    assert starved > 50
    assert min(taken) * 3 > max(taken), "round robin"
