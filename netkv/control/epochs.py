"""Statistics epochs: their numbers, and when the next one begins.

The switch takes an epoch only if it is ahead of its own, so a controller must
not begin below an epoch of those before it. The number is therefore the clock's: whole epochs that
have passed, and 1. A controller that begins an epoch within one that has begun already (after its
restart, or a restart of the switch) goes on with that one. This does no harm: its counts are
of this very epoch, and a key that was reported in it is reported again in the next.

A switch that got no epoch for more than 32,767 of them takes the next for an old one.
"""

from netkv.control.base import Nanoseconds

LAST = 0xFFFF


class Epochs:
    """The current epoch, 1 to 65,535; 0 before the first."""

    def __init__(self, length: Nanoseconds) -> None:
        """`length` of an epoch."""
        self._length = length
        self.current = 0
        self.ends: Nanoseconds | None = None
        """When the next one begins; None while there is none."""

    def begin(self, now: Nanoseconds) -> int:
        """The epoch of this time begins; returns its number."""
        self.current = now // self._length % LAST + 1
        self.ends = now + self._length
        return self.current

    def pause(self) -> None:
        """The switch has lost everything: no epoch ends until one is begun."""
        self.ends = None
