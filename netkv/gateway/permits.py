"""The limit of operations under way on the rack, for all clients together."""

from __future__ import annotations

import asyncio
from collections import deque


class Permits:
    """A number of permits, given out in the order in which they were asked for."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._free = capacity
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, wanted: int) -> int:
        """Waits for so many permits, or for all there are; returns how many to give back."""
        wanted = min(wanted, self._capacity)
        if not self._waiting and wanted <= self._free:
            self._free -= wanted
            return wanted
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.give_back(wanted)
            raise
        return wanted

    def give_back(self, count: int) -> None:
        """For who waits first."""
        self._free += count
        while self._waiting:
            wanted, turn = self._waiting[0]
            if not turn.cancelled():
                if wanted > self._free:
                    return
                self._free -= wanted
                turn.set_result(None)
            self._waiting.popleft()
