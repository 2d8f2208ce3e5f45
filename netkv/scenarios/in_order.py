"""Actions that are carried out one after the other, beside other work."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable


class InOrder:
    """A sequence of actions: each begins when the one before has ended.

    An error ends the sequence; `check` raises it.
    """

    def __init__(self) -> None:
        self._last: asyncio.Task[None] | None = None

    def add(self, action: Callable[[], Awaitable[None]]) -> None:
        """Appends an action."""
        self._last = asyncio.create_task(self._after(self._last, action))

    @property
    def idle(self) -> bool:
        """Whether all actions have ended, or one of them with an error."""
        return self._last is None or self._last.done()

    def check(self) -> None:
        """Raises the error of an action."""
        if self._last is not None and self._last.done():
            self._last.result()

    async def cancel(self) -> None:
        """Ends the sequence; errors are dropped."""
        if self._last is not None:
            self._last.cancel()
            with contextlib.suppress(BaseException):
                await self._last

    @staticmethod
    async def _after(
        before: asyncio.Task[None] | None, action: Callable[[], Awaitable[None]]
    ) -> None:
        if before is not None:
            await before
        await action()
