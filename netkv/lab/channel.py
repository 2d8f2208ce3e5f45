"""The control channel between a switch and its controllers, which can be cut and restored.

Rules
-----
1. A cut stalls what goes over a connection and is answered: a table write that has not left waits,
   and so does the answer of one that has, until the channel is whole. TCP does the same: it sends
   again until it gets an acknowledgement.
2. What the switch sends by itself, and frames that are sent through it, are lost: packet-ins and
   digests, packet-outs. A switch does not keep them for a controller that it cannot reach, and a
   control plane has to live with the loss of any of them.
3. Nobody can connect while the channel is cut: a switch that restarts meanwhile is set up after.
"""

from __future__ import annotations

import asyncio


class ControlChannel:
    """One channel; it belongs to the rack and outlives controllers and switches."""

    def __init__(self) -> None:
        self.cuts = 0
        """How often it was cut so far."""
        self.lost = 0
        """Packets and digests that were lost on it."""
        self._whole = asyncio.Event()
        self._whole.set()

    @property
    def is_cut(self) -> bool:
        """Whether nothing passes."""
        return not self._whole.is_set()

    def cut(self) -> None:
        """From now on nothing passes."""
        if not self.is_cut:
            self.cuts += 1
            self._whole.clear()

    def heal(self) -> None:
        """From now on everything passes."""
        self._whole.set()

    async def whole(self) -> None:
        """Waits until it is not cut."""
        await self._whole.wait()

    def loses(self, since: int | None = None) -> bool:
        """Whether a packet is lost, and counts it: the channel is cut, or was since `cuts` was
        `since`."""
        lost = self.is_cut or (since is not None and since != self.cuts)
        self.lost += lost
        return lost
