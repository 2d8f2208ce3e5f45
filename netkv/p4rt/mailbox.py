"""A bounded queue with an end: what both sides of a stream hand messages through."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

Message = TypeVar("Message")


class Mailbox(Generic[Message]):
    """Messages of one asyncio loop, in order, until it is closed."""

    def __init__(self, limit: int) -> None:
        """`limit` is how many messages `offer` lets wait."""
        self._limit = limit
        self._messages: deque[Message] = deque()
        self._ready = asyncio.Event()
        self._closed = False
        self._error: Exception | None = None

    def put(self, message: Message) -> None:
        """Queue a message that must not be lost."""
        if not self._closed:
            self._messages.append(message)
            self._ready.set()

    def offer(self, message: Message) -> bool:
        """Queue a message unless too many wait; returns whether it was queued."""
        if self._closed or len(self._messages) >= self._limit:
            return False
        self.put(message)
        return True

    def close(self, error: Exception | None = None) -> None:
        """End after what is queued, with an error if given; only the first call counts."""
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
