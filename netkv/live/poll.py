"""Polling of a node that may not answer in time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from netkv.model.nodes import NodeError

ANSWER_S = 0.25
"""Seconds that a sample waits for the answers of nodes."""


@dataclass(frozen=True)
class Answer:
    """An answer of a node."""

    at: float
    """When it came, on the monotonic clock."""
    counts: dict[str, Any]


class Poll:
    """A command that is sent to a node again and again.

    Rules
    -----
    1. At most one command is unanswered, so a node that hangs gets no queue of them.
    2. No answer is lost: one that comes when nobody waits for it is returned by the next call.
       (The load generator counts from one answer to the next.)
    """

    def __init__(self, send: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        self._send = send
        self._sent: asyncio.Task[Answer] | None = None

    async def answers(self, within: float) -> list[Answer]:
        """The answers since the last call; the last one is new, if it comes within so many seconds.

        Raises `NodeError` if the node does not run, or refuses the command.
        """
        found = self._late()
        if self._sent is None:
            self._sent = asyncio.create_task(self._answer())
            # Nobody may wait for it any more.
            self._sent.add_done_callback(lambda it: it.cancelled() or it.exception())
        await asyncio.wait({self._sent}, timeout=within)
        if not self._sent.done():
            return found
        newest, self._sent = self._sent, None
        try:
            return [*found, newest.result()]
        except NodeError:
            if found:
                return found
            raise

    async def _answer(self) -> Answer:
        counts = await self._send()
        return Answer(time.monotonic(), counts)

    def _late(self) -> list[Answer]:
        """The answer that came after the last call. An error is that of an earlier process."""
        if self._sent is None or not self._sent.done():
            return []
        late, self._sent = self._sent, None
        return [] if late.cancelled() or late.exception() is not None else [late.result()]
