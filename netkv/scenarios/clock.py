"""The clock of a run: the wall clock, or the virtual time of a rack."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """The interface of a clock; times are in seconds."""

    def now(self) -> float:
        """Monotonic time since an arbitrary moment."""

    def time(self) -> float:
        """The time of events and samples of the rack."""

    async def sleep(self, seconds: float) -> None:
        """Waits for `seconds` of this clock."""


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
