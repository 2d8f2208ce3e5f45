"""Polls of nodes that do not answer in time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from netkv.live.poll import Poll
from netkv.model.nodes import NodeError
from tests.waiting import PATIENCE_S, settle


class SlowNode:
    """A node that answers each command when it is told to."""

    def __init__(self) -> None:
        self.commands: list[asyncio.Future[dict[str, Any]]] = []

    async def send(self) -> dict[str, Any]:
        command: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.commands.append(command)
        return await command

    async def answer(self, counts: dict[str, Any]) -> None:
        self.commands[-1].set_result(counts)
        await settle()


async def counts_of(poll: Poll, within: float = 0.01) -> list[dict[str, Any]]:
    return [answer.counts for answer in await poll.answers(within)]


async def test_node_that_hangs_gets_one_command() -> None:
    node = SlowNode()
    poll = Poll(node.send)
    for _ in range(3):
        assert await counts_of(poll) == []
    assert len(node.commands) == 1


async def test_answer_in_time_is_returned() -> None:
    async def send() -> dict[str, Any]:
        return {"served": 7}

    assert await counts_of(Poll(send), PATIENCE_S) == [{"served": 7}]


async def test_late_answer_is_returned_before_the_next_one() -> None:
    node = SlowNode()
    poll = Poll(node.send)
    assert await counts_of(poll) == []
    await node.answer({"completed": 1})
    both = asyncio.create_task(counts_of(poll, within=PATIENCE_S))
    await settle()
    await node.answer({"completed": 2})
    assert await both == [{"completed": 1}, {"completed": 2}]


async def test_late_answer_is_not_kept_for_a_second_one() -> None:
    node = SlowNode()
    poll = Poll(node.send)
    assert await counts_of(poll) == []
    await node.answer({"completed": 1})
    assert await counts_of(poll) == [{"completed": 1}]
    await node.answer({"completed": 2})
    assert await counts_of(poll) == [{"completed": 2}]


async def test_error_of_an_earlier_process_is_dropped() -> None:
    node = SlowNode()
    poll = Poll(node.send)
    assert await counts_of(poll) == []
    node.commands[0].set_exception(NodeError("The node 'client' was killed."))
    await settle()
    assert await counts_of(poll) == []
    node.commands[1].set_exception(NodeError("The node 'client' was killed."))
    with pytest.raises(NodeError, match="was killed"):
        await poll.answers(PATIENCE_S)
