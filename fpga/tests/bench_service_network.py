"""A request reaches the service once and in its PE's order; a response reaches its PE."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from packed import join, start

TOP = "service_network"
PARAMETERS = [
    {"PES": 5, "REQUEST_BITS": 33, "RESPONSE_BITS": 32},
    {"PES": 1, "REQUEST_BITS": 32, "RESPONSE_BITS": 32},
]
POSTED = 1 << 31  # a request without response


async def reset(dut: Any) -> int:
    await start(dut, pe_valid=0, pe_request=0, ready=0, response_valid=0, response=0)
    return len(dut.pe_valid.value)


@cocotb.test()
async def requests_and_responses_find_their_way(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    pes = await reset(dut)
    current: list[int | None] = [None] * pes
    number = [0] * pes
    waiting: list[int | None] = [None] * pes  # the request whose response is outstanding
    expected: list[deque[int]] = [deque() for _ in range(pes)]  # accepted, not yet at the service
    answers: list[tuple[int, int, int]] = []  # cycle, tag, response
    served = 0
    for cycle in range(6000):
        eager = rng.random() < 0.9
        for pe in range(pes):
            if current[pe] is None and waiting[pe] is None and rng.random() < 0.5:
                posted = POSTED if rng.random() < 0.3 else 0
                current[pe] = posted | pe << 24 | number[pe]
                number[pe] += 1
        dut.pe_valid.value = sum(1 << pe for pe in range(pes) if current[pe] is not None)
        dut.pe_request.value = join([each or 0 for each in current], len(dut.pe_request) // pes)
        dut.ready.value = int(eager and rng.random() < 0.8)
        due = next((each for each in answers if each[0] <= cycle), None)
        dut.response_valid.value = int(due is not None)
        if due is not None:
            answers.remove(due)
            dut.response_tag.value = due[1]
            dut.response.value = due[2]
        await RisingEdge(dut.clk)
        ready = int(dut.pe_ready.value)
        back = int(dut.pe_response_valid.value)
        for pe in range(pes):
            if back >> pe & 1:
                assert waiting[pe] is not None
                assert int(dut.pe_response.value) == waiting[pe] ^ 0x5555
                waiting[pe] = None
            if current[pe] is not None and ready >> pe & 1:
                expected[pe].append(current[pe])
                if not current[pe] & POSTED:
                    waiting[pe] = current[pe]
                current[pe] = None
        if dut.valid.value and dut.ready.value:
            pe = int(dut.tag.value)
            request = int(dut.request.value)
            assert request == expected[pe].popleft()
            served += 1
            if not request & POSTED:
                answers.append((cycle + rng.randrange(1, 20), pe, request ^ 0x5555))
    assert served > 500
    assert all(len(each) <= 1 for each in expected)


@cocotb.test()
async def every_pe_gets_its_share(dut: Any) -> None:
    pes = await reset(dut)
    dut.pe_valid.value = (1 << pes) - 1
    dut.ready.value = 1
    taken = [0] * pes
    for _ in range(100 * pes + 2):
        await RisingEdge(dut.clk)
        if dut.valid.value:
            taken[int(dut.tag.value)] += 1
    assert sum(taken) >= 100 * pes
    assert max(taken) - min(taken) <= 1
