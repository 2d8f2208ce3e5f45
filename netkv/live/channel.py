"""The control channel between a switch and its controllers, which can be cut and restored.

Rules
-----
1. A cut delays table writes and their answers until the channel is restored, as TCP does with
   retransmissions.
2. Packet-ins, digests and packet-outs are lost during a cut. A switch does not store them for an
   unreachable controller, and control planes must tolerate the loss of any of them.
3. No connection is possible during a cut: a switch that restarts meanwhile is set up afterwards.
"""

from __future__ import annotations

import asyncio


class ControlChannel:
    """One channel; it belongs to the rack and outlives controllers and switches."""

    def __init__(self) -> None:
        self.cuts = 0
        """Number of cuts so far."""
        self.lost = 0
        """Number of packets and digests lost on it."""
        self._connected = asyncio.Event()
        self._connected.set()

    @property
    def is_cut(self) -> bool:
        """Whether the channel is cut."""
        return not self._connected.is_set()

    def cut(self) -> None:
        """Cuts the channel."""
        if not self.is_cut:
            self.cuts += 1
            self._connected.clear()

    def heal(self) -> None:
        """Restores the channel."""
        self._connected.set()

    async def connected(self) -> None:
        """Waits until the channel is not cut."""
        await self._connected.wait()

    def loses(self, since: int | None = None) -> bool:
        """Whether a packet is lost; counts it. It is lost if the channel is cut, or was cut after
        `cuts` had the value `since`."""
        if self._connected.is_set() and (since is None or since == self.cuts):
            return False
        self.lost += 1
        return True
