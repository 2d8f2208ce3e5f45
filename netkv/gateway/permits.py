"""How many operations the rack is asked for at once, by all clients together."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator


class Permits:
    """A number of permits, given out in the order in which they were asked for."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._free = capacity
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def taken(self) -> int:
        """How many are out."""
        return self.capacity - self._free

    @contextlib.asynccontextmanager
    async def held(self, wanted: int) -> AsyncIterator[None]:
        """Waits for so many permits, but for no more than there are, and gives them back."""
        wanted = min(wanted, self.capacity)
        if self._waiting or wanted > self._free:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append((wanted, turn))
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():
                    self._give_back(wanted)
                raise
        else:
            self._free -= wanted
        try:
            yield
        finally:
            self._give_back(wanted)

    def _give_back(self, count: int) -> None:
        self._free += count
        while self._waiting:
            wanted, turn = self._waiting[0]
            if not turn.cancelled():
                if wanted > self._free:
                    return
                self._free -= wanted
                turn.set_result(None)
            self._waiting.popleft()
