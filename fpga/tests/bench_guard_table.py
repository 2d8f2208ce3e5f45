"""Versions and inflight mutations against a model, with a clock that wraps."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from packed import GUARD_ACK, GUARD_MUTATE, GUARD_READ, GUARD_REQUEST, GUARD_RESPONSE, start

TOP = "guard_table"
PARAMETERS = [{"INDEX_BITS": 4, "MARGIN": 3, "TAG_BITS": 3}]
MARGIN, LIFETIME = 3, 100
WRAP = 1 << 32


class Model:
    def __init__(self) -> None:
        self.entries: dict[int, list[int]] = {}  # version, inflight, uncacheable, time

    def apply(self, now: int, command: int, index: int, expiring: int) -> dict[str, int]:
        entry = self.entries.setdefault(index, [0, 0, 0, 0])
        if now - entry[3] > LIFETIME + MARGIN:
            entry[1] = 0
        if command == GUARD_MUTATE:
            entry[0] = (entry[0] + 1) % (1 << 24)
            entry[1] = min(entry[1] + 1, 255)
            entry[2] |= expiring
            entry[3] = now
        elif command == GUARD_ACK and 0 < entry[1] < 255:
            entry[1] -= 1
        return {"version": entry[0], "inflight": entry[1], "uncacheable": entry[2]}


async def reset(dut: Any, now: int) -> None:
    await start(dut, now=now % WRAP, lifetime=LIFETIME, s_valid=0)
    for _ in range(40):
        if dut.s_ready.value:
            break
        await RisingEdge(dut.clk)


async def command(dut: Any, code: int, index: int, expiring: int = 0) -> dict[str, int]:
    dut.s_valid.value = 1
    dut.s_request.value = GUARD_REQUEST.pack(command=code, index=index, expiring=expiring)
    await RisingEdge(dut.clk)
    dut.s_valid.value = 0
    await RisingEdge(dut.clk)
    assert dut.s_response_valid.value
    return GUARD_RESPONSE.unpack(int(dut.s_response.value))


@cocotb.test()
async def commands_agree_with_the_model(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    now = WRAP - 3000
    await reset(dut, now)
    model = Model()
    due: tuple[int, int, int, int, int] | None = None
    compared = expired = 0
    hot = 0
    for _ in range(12000):
        hot = rng.randrange(16) if rng.random() < 0.02 else hot
        now += rng.choices((0, 1, 60), (0.7, 0.297, 0.003))[0]
        dut.now.value = now % WRAP
        valid = rng.random() < 0.8
        index = hot if rng.random() < 0.6 else rng.randrange(16)
        code = rng.choice((GUARD_READ, GUARD_MUTATE, GUARD_MUTATE, GUARD_ACK, GUARD_ACK))
        expiring, tag = int(rng.random() < 0.001), rng.randrange(5)
        dut.s_valid.value = int(valid)
        dut.s_request.value = GUARD_REQUEST.pack(command=code, index=index, expiring=expiring)
        dut.s_tag.value = tag
        await RisingEdge(dut.clk)
        assert dut.s_ready.value
        assert int(dut.s_response_valid.value) == int(due is not None)
        if due is not None:
            was = model.entries.get(due[1], [0, 0, 0, 0])[1]
            wanted = model.apply(now, *due[:3])
            got = GUARD_RESPONSE.unpack(int(dut.s_response.value))
            assert got == wanted, (now, due)
            assert int(dut.s_response_tag.value) == due[3]
            expired += was > 1 and wanted["inflight"] <= 1 and was - wanted["inflight"] > 1
            compared += 1
        due = (code, index, expiring, tag) if valid else None
    assert now > WRAP
    assert compared > 9000
    assert expired > 5


@cocotb.test()
async def inflight_saturates_until_it_expires(dut: Any) -> None:
    await reset(dut, 1000)
    for _ in range(300):
        got = await command(dut, GUARD_MUTATE, 3)
    assert got == {"version": 300, "inflight": 255, "uncacheable": 0}
    for _ in range(300):
        got = await command(dut, GUARD_ACK, 3)
    assert got["inflight"] == 255
    dut.now.value = 1000 + LIFETIME + MARGIN
    assert (await command(dut, GUARD_READ, 3))["inflight"] == 255
    dut.now.value = 1000 + LIFETIME + MARGIN + 1
    assert (await command(dut, GUARD_READ, 3))["inflight"] == 0
    assert (await command(dut, GUARD_ACK, 3))["inflight"] == 0
    got = await command(dut, GUARD_MUTATE, 3, expiring=1)
    assert got == {"version": 301, "inflight": 1, "uncacheable": 1}
    assert (await command(dut, GUARD_MUTATE, 3))["uncacheable"] == 1
    assert (await command(dut, GUARD_READ, 4)) == {"version": 0, "inflight": 0, "uncacheable": 0}


@cocotb.test()
async def an_expired_mutation_stays_expired_after_a_whole_turn_of_the_clock(dut: Any) -> None:
    await reset(dut, 500)
    await command(dut, GUARD_MUTATE, 5)
    dut.now.value = 500 + LIFETIME + MARGIN + 1
    for _ in range(16 * 40):  # the sweep passes
        await RisingEdge(dut.clk)
    dut.now.value = 510  # of the next turn
    assert (await command(dut, GUARD_READ, 5)) == {"version": 1, "inflight": 0, "uncacheable": 0}
