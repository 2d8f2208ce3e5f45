"""Pauses of delayed flushes against a model, and what finds no timer."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from packed import start

TOP = "flush_timers"
PARAMETERS = [{"TIMERS": 4}, {"TIMERS": 8}]
SECOND = 4
MARGIN = 3
MAX_DELAY = 30 * 86_400
TIMERS = 4  # of the smaller one
NEVER = 31  # accuracy of clocks that are right


async def reset(dut: Any, accuracy: int = NEVER) -> None:
    await start(
        dut,
        passed=0,
        second=SECOND,
        accuracy=accuracy,
        wall_write=0,
        wall_time=0,
        clear=0,
        s_valid=0,
        s_delay=0,
    )


async def flush(dut: Any, delay: int) -> bool:
    """A flush passes; whether it is timed."""
    dut.s_valid.value, dut.s_delay.value = 1, delay
    await RisingEdge(dut.clk)
    timed = bool(dut.s_timed.value)
    dut.s_valid.value = 0
    await RisingEdge(dut.clk)
    return timed


async def second(dut: Any, count: int = 1) -> None:
    """Seconds pass, one or all at once."""
    dut.passed.value = count * SECOND
    await RisingEdge(dut.clk)
    dut.passed.value = 0
    for _ in range(count + 2):
        await RisingEdge(dut.clk)


async def set_wall(dut: Any, time: int) -> None:
    dut.wall_write.value, dut.wall_time.value = 1, time
    await RisingEdge(dut.clk)
    dut.wall_write.value = 0
    await RisingEdge(dut.clk)


async def pauses(dut: Any, seconds: int) -> list[int]:
    """The seconds from now in which there is a pause."""
    found = []
    for at in range(seconds):
        if dut.pause.value:
            found.append(at)
        await second(dut)
    return found


@cocotb.test()
async def pause_is_around_the_end_of_the_delay(dut: Any) -> None:
    await reset(dut)
    for delay in (1, 3, 4, 10):
        assert await flush(dut, delay)
        first = max(0, delay - MARGIN)
        assert await pauses(dut, 20) == list(range(first, delay + MARGIN + 1))


@cocotb.test()
async def accuracy_widens_the_pause_by_a_part_of_the_delay(dut: Any) -> None:
    for accuracy, error in ((0, 16), (1, 8), (2, 4), (4, 1), (5, 0)):
        await reset(dut, accuracy)
        assert await flush(dut, 16)
        first, last = max(0, 16 - error - MARGIN), 16 + error + MARGIN
        assert await pauses(dut, 40) == list(range(first, last + 1)), accuracy


@cocotb.test()
async def time_of_day_counts_if_it_is_known(dut: Any) -> None:
    await reset(dut)
    assert await flush(dut, MAX_DELAY), "the longest delay"
    assert not await flush(dut, MAX_DELAY + 1), "a time of day"
    await second(dut, 5)
    await set_wall(dut, 1_000_000_000)
    await second(dut, 7)
    assert int(dut.wall_now.value) == 1_000_000_007
    assert await flush(dut, 1_000_000_020)
    assert await pauses(dut, 20) == list(range(13 - MARGIN, 13 + MARGIN + 1))
    assert await flush(dut, 999_999_999), "it is over"
    assert await pauses(dut, 10) == list(range(MARGIN + 1))


@cocotb.test()
async def clock_that_jumps_leaves_no_gap(dut: Any) -> None:
    """Seconds are counted one in a cycle: until then there is a pause."""
    await reset(dut)
    assert await flush(dut, 50)
    dut.passed.value = 50 * SECOND
    await RisingEdge(dut.clk)
    dut.passed.value = 0
    await RisingEdge(dut.clk)
    for _ in range(60):
        assert dut.pause.value
        await RisingEdge(dut.clk)


@cocotb.test()
async def seconds_that_pass_one_by_one_make_no_pause(dut: Any) -> None:
    await reset(dut)
    assert await flush(dut, 50)
    for _ in range(20 * SECOND):
        dut.passed.value = 1
        await RisingEdge(dut.clk)
        dut.passed.value = 0
        for _ in range(3):
            await RisingEdge(dut.clk)
            assert not dut.pause.value


@cocotb.test()
async def pauses_that_meet_share_a_timer(dut: Any) -> None:
    await reset(dut)
    for delay in (100, 107, 100, 93):
        assert await flush(dut, delay)
    assert int(dut.under_way.value) == 1
    assert await flush(dut, 1000)
    assert int(dut.under_way.value) == 2
    assert await pauses(dut, 120) == list(range(93 - MARGIN, 107 + MARGIN + 1))
    assert int(dut.under_way.value) == 1


@cocotb.test()
async def flush_without_a_timer_is_refused(dut: Any) -> None:
    await reset(dut)
    count = 0
    while await flush(dut, 100 * (count + 1)):
        count += 1
    assert count in (TIMERS, 2 * TIMERS)
    assert await flush(dut, 100)
    dut.clear.value = 1
    await RisingEdge(dut.clk)
    dut.clear.value = 0
    await RisingEdge(dut.clk)
    assert int(dut.under_way.value) == 0
    assert await flush(dut, 100_000)


@cocotb.test()
async def every_moment_of_a_flush_is_in_a_pause(dut: Any) -> None:
    """Random delays at random times; flushes that are refused have none."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut)
    wanted: set[int] = set()
    for now in range(300):
        if rng.random() < 0.1:
            delay = rng.choice((1, 2, 5, 20, 60))
            if await flush(dut, delay):
                wanted |= set(range(max(now, now + delay - MARGIN), now + delay + MARGIN + 1))
        assert bool(dut.pause.value) == (now in wanted), now
        await second(dut)
