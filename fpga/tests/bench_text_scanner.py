"""Lines that may change items, anywhere in a datagram, against a model."""

from __future__ import annotations

import random
import re
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

TOP = "text_scanner"
PARAMETERS = [{"BYTES": 32}, {"BYTES": 64}]
PAYLOAD = 50
COMMANDS = (
    *(b"set k 0 0 1\r\nx", b"add k", b"replace k", b"append k", b"prepend k", b"cas k"),
    *(b"incr k", b"decr k", b"delete k", b"touch k", b"gat 1 k", b"gats 1 k", b"flush_all"),
    *(b"ms k", b"md k", b"ma k", b"mg k"),
)
HARMLESS = (
    b"get k",
    b"gets k",
    b"stats",
    b"version",
    b"verbosity",
    b"mn",
    b"xset k",
    b"SET k",
    b"",
)
_CHANGES = re.compile(rb"(?:^|[\n ])(?:set|add|rep|app|pre|cas|inc|dec|del|tou|gat|flu|m[sdag] )")


def expected(text: bytes) -> bool:
    return b"\n" in text and _CHANGES.search(text) is not None


async def scan(dut: Any, text: bytes) -> bool:
    frame = random.Random(1).randbytes(PAYLOAD - 8).replace(b"\n", b"x") + b"\nset k 0\n"[:8] + text
    width = len(dut.data) // 8
    for at in range(0, len(frame), width):
        dut.take.value = 1
        dut.first.value = at == 0
        dut.data.value = int.from_bytes(frame[at : at + width].ljust(width, b"\0"), "little")
        await RisingEdge(dut.clk)
    dut.take.value = 0
    await RisingEdge(dut.clk)
    return bool(dut.changes.value)


async def reset(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 5, "ns").start())
    dut.take.value = dut.first.value = dut.data.value = 0
    dut.payload.value = PAYLOAD
    for _ in range(3):
        await RisingEdge(dut.clk)


@cocotb.test()
async def each_command_is_found_at_every_place(dut: Any) -> None:
    await reset(dut)
    for command in COMMANDS:
        for before in (b"", b"  ", b"get a\r\n", b"\n", *(b"x" * n + b"\n" for n in range(24, 90))):
            assert await scan(dut, before + command + b"\r\n"), (before, command)
        assert not await scan(dut, command.partition(b"\n")[0]), "without a line feed"


@cocotb.test()
async def other_lines_change_nothing(dut: Any) -> None:
    await reset(dut)
    for line in HARMLESS:
        for before in (b"", b"get a\r\n", b"x" * 40 + b"\n"):
            assert not await scan(dut, before + line + b"\r\n"), (before, line)


@cocotb.test()
async def random_texts_agree_with_the_model(dut: Any) -> None:
    await reset(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    for _ in range(1500):
        parts = [
            rng.choice((*COMMANDS, *HARMLESS, b"\n", b" ", b"\r\n", b"s", b"se", rng.randbytes(9)))
            for _ in range(rng.randrange(1, 9))
        ]
        text = b"".join(parts) + b"\r\n"
        assert await scan(dut, text) == expected(text), text
