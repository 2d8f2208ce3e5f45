"""Entries from the source of a program, read and changed by P4Runtime."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from finsy.proto import p4r

from netkv import _engine
from netkv.p4rt import p4info
from netkv.p4rt.client import ControllerError, P4RuntimeClient
from netkv.p4rt.entities import Call, Names, Ternary, insert
from netkv.p4rt.server import P4RuntimeServer

GOLDEN = Path(__file__).parents[1] / "golden"


@asynccontextmanager
async def running(program: str) -> AsyncIterator[tuple[P4RuntimeClient, _engine.Switch, Names]]:
    """A program of tests/golden on a switch, with a server and a client that is primary."""
    bundle = _engine.compile_p4(str(GOLDEN / f"{program}.p4"))
    switch = _engine.Switch(bundle)
    server = P4RuntimeServer(switch)
    await server.start()
    try:
        async with P4RuntimeClient(server.address) as client:
            await client.set_pipeline(bundle)
            yield client, switch, Names(p4info.from_bundle(bundle))
    finally:
        await server.stop()


async def entries(client: P4RuntimeClient) -> list[p4r.TableEntry]:
    """All entries, by descending priority."""
    found = [
        each.table_entry async for each in client.read(p4r.Entity(table_entry=p4r.TableEntry()))
    ]
    return sorted(found, key=lambda entry: -entry.priority)


def argument(entry: p4r.TableEntry) -> int:
    """The argument of the entry's action."""
    return int.from_bytes(entry.action.action.params[0].value, "big")


@pytest.mark.parametrize(
    ("program", "order", "priorities", "is_const"),
    [
        ("prio", [3, 2, 1], [3, 2, 1], True),
        ("prio2", [1, 2, 3], [30, 20, 10], False),
        # In this source the smallest number wins; in P4Runtime the largest wins.
        ("prio3", [3, 2, 1], [21, 11, 1], False),
    ],
)
async def test_priorities_of_source_entries_can_be_read(
    program: str, order: list[int], priorities: list[int], is_const: bool
) -> None:
    """With `@priority`, `priority =` and `largest_priority_wins`, the winner has the largest."""
    async with running(program) as (client, _, _):
        found = await entries(client)
        assert [argument(entry) for entry in found] == order
        assert [entry.priority for entry in found] == priorities
        assert {entry.is_const for entry in found} == {is_const}


async def test_priorities_of_source_and_controller_are_compared() -> None:
    async with running("prio2") as (client, switch, names):
        table, ours = "I.t", {"h.b.k": Ternary(3, 0xFF)}
        assert switch.process(0, b"\x03\x00") == [(1, b"\x03\x01")]
        below = names.table_entry(table, ours, Call("I.r", {"v": 9}), priority=29)
        await client.write([insert(below)])
        assert switch.process(0, b"\x03\x00") == [(1, b"\x03\x01")]
        above = names.table_entry(table, ours, Call("I.r", {"v": 8}), priority=31)
        await client.write([insert(above)])
        assert switch.process(0, b"\x03\x00") == [(1, b"\x03\x08")]


async def test_const_entries_with_priority_cannot_be_changed() -> None:
    async with running("prio") as (client, _, names):
        entry = names.table_entry(
            "I.t", {"h.b.k": Ternary(1, 1)}, Call("I.r", {"v": 9}), priority=9
        )
        with pytest.raises(ControllerError, match="const entries"):
            await client.write([insert(entry)])
