"""The limit of concurrent operations on the rack, for all clients together."""

from __future__ import annotations

import asyncio
from collections import deque


class Permits:
    """A semaphore that grants several permits at once, in the order of the requests."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._free = capacity
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, wanted: int) -> int:
        """Wait for permits, at most the capacity; returns the number to give back."""
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
        """Release permits, and grant them to waiting tasks in order."""
        self._free += count
        while self._waiting:
            wanted, turn = self._waiting[0]
            if not turn.cancelled():
                if wanted > self._free:
                    return
                self._free -= wanted
                turn.set_result(None)
            self._waiting.popleft()
