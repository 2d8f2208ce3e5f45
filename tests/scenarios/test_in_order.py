"""Events of a live run are carried out one after the other, beside the samples."""

from __future__ import annotations

import asyncio

import pytest

from netkv.errors import UsageError
from netkv.scenarios.in_order import InOrder
from tests.waiting import settle


async def test_each_action_begins_when_the_one_before_has_ended() -> None:
    order: list[str] = []
    gate = asyncio.Event()

    async def slow() -> None:
        await gate.wait()
        order.append("first")

    async def fast() -> None:
        order.append("second")

    actions = InOrder()
    actions.add(slow)
    actions.add(fast)
    await settle()
    assert order == []
    assert not actions.idle
    gate.set()
    await settle()
    assert order == ["first", "second"]
    assert actions.idle
    actions.check()


async def test_error_of_an_action_ends_the_sequence() -> None:
    done: list[str] = []

    async def fails() -> None:
        raise UsageError("The node 'switch' is running already.")

    async def follows() -> None:
        done.append("follows")

    actions = InOrder()
    actions.add(fails)
    actions.add(follows)
    await settle()
    assert actions.idle
    with pytest.raises(UsageError, match="running already"):
        actions.check()
    assert done == []


async def test_actions_are_cancelled_with_their_run() -> None:
    actions = InOrder()
    actions.add(asyncio.Event().wait)  # type: ignore[arg-type]  # its result is not used
    actions.add(asyncio.Event().wait)  # type: ignore[arg-type]
    await actions.cancel()
    assert actions.idle
