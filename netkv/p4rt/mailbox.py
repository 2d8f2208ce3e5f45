"""A bounded queue with an end, for messages of both sides of a stream."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

from netkv.p4rt.errors import Code, RpcError

RESERVE = 1024
"""Pending messages beyond the limit that must not be lost. With more of them, the receiver does not
read, and the mailbox is closed."""

Message = TypeVar("Message")


class Mailbox(Generic[Message]):
    """Messages of one asyncio loop, in order, until it is closed."""

    def __init__(self, limit: int) -> None:
        """`offer` queues up to `limit` messages."""
        self._limit = limit
        self._messages: deque[Message] = deque()
        self._ready = asyncio.Event()
        self._closed = False
        self._error: Exception | None = None

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def first(self) -> Message | None:
        """The next message, if there is one."""
        return self._messages[0] if self._messages else None

    def drop_first(self) -> None:
        """Removes the next message; there must be one."""
        self._messages.popleft()

    def put(self, message: Message) -> None:
        """Queue a message that must not be lost; close the mailbox if too many are pending."""
        if self._closed:
            return
        if len(self._messages) >= self._limit + RESERVE:
            text = f"{len(self._messages)} messages are pending: the stream is not read"
            self.close(RpcError(Code.RESOURCE_EXHAUSTED, text))
            return
        self._messages.append(message)
        self._ready.set()

    def offer(self, message: Message, room: int | None = None) -> bool:
        """Queue a message unless `room` (None: `limit`) are pending; returns whether it did."""
        if self._closed or len(self._messages) >= (self._limit if room is None else room):
            return False
        self.put(message)
        return True

    def close(self, error: Exception | None = None) -> None:
        """End after the queued messages, with an error if given; further calls have no effect."""
        if not self._closed:
            self._closed = True
            self._error = error
            self._ready.set()

    async def get(self) -> Message | None:
        """The next message; None at the end. Raises the error that it was closed with."""
        while not self._messages:
            if self._closed:
                if self._error is not None:
                    raise self._error
                return None
            self._ready.clear()
            await self._ready.wait()
        return self._messages.popleft()

    async def get_all(self) -> list[Message]:
        """All messages that wait, at least one; none at the end. Raises as `get` does."""
        first = await self.get()
        if first is None:
            return []
        messages = [first, *self._messages]
        self._messages.clear()
        return messages
