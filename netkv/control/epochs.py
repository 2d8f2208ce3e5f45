"""Statistics epochs: their numbers, and when the next one begins.

The switch accepts an epoch only if it is newer than its current one, so a controller must begin
above all epochs of its predecessors. The number is therefore derived from the clock: the number of
whole epochs that have passed, plus 1. A controller or switch that restarts within an epoch
continues that epoch. This is harmless: the counts belong to that epoch, and a key that was reported
in it is reported again in the next.

If a switch gets no epoch for more than 32,767 epochs, it treats the next one as old.
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
        """Begin the epoch of this time; returns its number."""
        self.current = now // self._length % LAST + 1
        self.ends = now + self._length
        return self.current

    def pause(self) -> None:
        """The switch has lost its state: no epoch ends until the next `begin`."""
        self.ends = None
