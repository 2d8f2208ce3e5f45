"""Windows at any offset hold what was written, and wrap at the end of the buffer."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

TOP = "window_buffer"
PARAMETERS = [{"WORDS": 64}, {"WORDS": 4}, {"WORDS": 8, "BYTES": 64}]


@cocotb.test()
async def windows_are_what_was_written(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    size = len(dut.window) // 8
    words = (1 << len(dut.read_offset)) // size
    rows = words // 2
    row_bits = len(dut.write_row) // 2
    memory = bytearray(rng.randbytes(size * words))
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.read.value = 0
    dut.show.value = 1

    async def write(banks: int, even_row: int, odd_row: int, even: bytes, odd: bytes) -> None:
        dut.write.value = banks
        dut.write_row.value = odd_row << row_bits | even_row
        dut.write_data.value = int.from_bytes(even + odd, "little")
        await RisingEdge(dut.clk)

    for row in range(rows):
        at = 2 * size * row
        await write(
            3, row, row, bytes(memory[at : at + size]), bytes(memory[at + size : at + 2 * size])
        )
    expected = None
    for _ in range(600):
        reads = rng.random() < 0.7
        offset = rng.randrange(size * words)
        dut.read.value = int(reads)
        dut.read_offset.value = offset
        banks = rng.choice((0, 0, 1, 2, 3))
        even_row, odd_row = rng.randrange(rows), rng.randrange(rows)
        even, odd = rng.randbytes(size), rng.randbytes(size)
        await write(banks, even_row, odd_row, even, odd)
        # The window of the last read, until the next one; a read does not see a write beside it.
        if expected is not None:
            assert int(dut.window.value).to_bytes(size, "little") == expected
        if reads:
            expected = bytes((memory + memory)[offset : offset + size])
        if banks & 1:
            memory[2 * size * even_row : (2 * even_row + 1) * size] = even
        if banks & 2:
            memory[(2 * odd_row + 1) * size : 2 * (odd_row + 1) * size] = odd
