"""The table against dictionaries of heads, keys and lines."""

from __future__ import annotations

from typing import Any

import cocotb
from packed import Packed
from streams import Bench

TOP = "kv_table"
PARAMETERS = [
    {"INDEX_BITS": 3, "KEY_BYTES": 64, "VALUE_BYTES": 512},
    {"INDEX_BITS": 4, "KEY_BYTES": 16, "VALUE_BYTES": 320},
    {"INDEX_BITS": 2, "KEY_BYTES": 8, "VALUE_BYTES": 64},
]
HEAD = Packed(
    valid=1,
    pending=1,
    group=3,
    server_address=32,
    server_port=16,
    key_length=8,
    value_length=16,
    value_sum=16,
    flags=32,
    cas=64,
    epoch=48,
    stored_time=48,
    store_id=32,
)


@cocotb.test()
async def reads_give_what_was_written(dut: Any) -> None:
    bench = Bench(dut)
    rng = bench.rng
    enables = ("read", "head_write", "key_write", "value_read", "value_write")
    for name in enables:
        getattr(dut, name).value = 0
    await bench.start()
    entries = 1 << len(dut.index)
    await bench.until(lambda: bool(dut.initialized.value), entries + 5)
    parameters = next(each for each in PARAMETERS if 1 << each["INDEX_BITS"] == entries)
    count = parameters["VALUE_BYTES"] // 64
    heads = dict.fromkeys(range(entries), 0)
    keys: dict[int, int] = {}
    values: dict[tuple[int, int], int] = {}
    expected: dict[str, int | None] = {"head": None, "key": None, "value": None}
    assert len(dut.head) == HEAD.width
    for _ in range(3000):
        chosen = {name: int(rng.random() < 0.4) for name in enables}
        index, read_line, write_line = (
            rng.randrange(entries),
            rng.randrange(count),
            rng.randrange(count),
        )
        head, key, value = (
            rng.getrandbits(len(each)) for each in (dut.head_data, dut.key_data, dut.value_data)
        )
        for name, active in chosen.items():
            getattr(dut, name).value = active
        dut.index.value, dut.read_line.value, dut.write_line.value = index, read_line, write_line
        dut.head_data.value, dut.key_data.value, dut.value_data.value = head, key, value
        await bench.step()
        for name, wanted in expected.items():
            if wanted is not None:
                assert int(getattr(dut, name).value) == wanted, name
        # A read gives what was there before the write beside it.
        if chosen["read"]:
            expected["head"], expected["key"] = heads[index], keys.get(index)
        if chosen["value_read"]:
            expected["value"] = values.get((index, read_line))
        if chosen["head_write"]:
            heads[index] = head
        if chosen["key_write"]:
            keys[index] = key
        if chosen["value_write"]:
            values[index, write_line] = value


@cocotb.test()
async def reset_makes_all_entries_invalid(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    entries = 1 << len(dut.index)
    for name in ("read", "key_write", "value_read", "value_write"):
        getattr(dut, name).value = 0
    await bench.until(lambda: bool(dut.initialized.value), entries + 5)
    dut.head_write.value, dut.head_data.value = 1, HEAD.pack(valid=1)
    for index in range(entries):
        dut.index.value = index
        await bench.step()
    dut.head_write.value = 0
    await bench.reset()
    await bench.until(lambda: bool(dut.initialized.value), entries + 5)
    dut.read.value = 1
    for index in range(entries):
        dut.index.value = index
        await bench.step(2)
        assert not int(dut.head.value)
