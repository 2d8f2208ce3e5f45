"""The clock of a run: the wall's, or a rack's own."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What a run needs of time, in seconds."""

    def now(self) -> float:
        """Seconds since any moment; never runs backwards."""

    def time(self) -> float:
        """What events and samples of the rack are stamped with."""

    async def sleep(self, seconds: float) -> None:
        """Lets time pass."""


class WallClock:
    """Real time."""

    def now(self) -> float:
        """See `Clock`."""
        return time.monotonic()

    def time(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """See `Clock`."""
        await asyncio.sleep(seconds)
