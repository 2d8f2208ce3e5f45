"""How long to wait for a reply: what replies took so far, and how much that varied.

The estimate is TCP's (Jacobson 1988, RFC 6298): smoothed round trip plus four times its smoothed
deviation, but at least twice the round trip. Karn's rule holds: a message that was repeated gives
no sample, since the answered copy is unknown; until another gives one, new messages wait as
long as the repeated one does.
"""

from dataclasses import dataclass

from netkv.control.base import MILLISECOND, Nanoseconds

LATEST = 16
"""A new message may wait so many times as long as a repeated one at most, if replies need that."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Bounds of the wait for a reply, in nanoseconds.

    `first`: before anything was measured. `shortest`: however fast replies are; it must cover what
    is not the network's doing, such as a controller that is busy. `longest`: of any wait, however
    often a message was repeated.
    """

    first: Nanoseconds = 20 * MILLISECOND
    shortest: Nanoseconds = 2 * MILLISECOND
    longest: Nanoseconds = 500 * MILLISECOND

    def __post_init__(self) -> None:
        if not 0 < self.shortest <= self.first <= self.longest:
            raise ValueError(
                f"Time-outs of {self.shortest} (shortest), {self.first} (first) and {self.longest} "
                "ns (longest): they must be above 0 and in this order."
            )

    def scaled(self, factor: float) -> "Timeouts":
        """For hosts and links that take `factor` times as long, and the controller as before.

        `factor` is at least 1. The shortest wait stays: it is the controller's own.
        """
        return Timeouts(round(self.first * factor), self.shortest, round(self.longest * factor))


class RoundTrip:
    """The wait for replies of one kind."""

    def __init__(self, bounds: Timeouts) -> None:
        self._bounds = bounds
        self._mean: Nanoseconds | None = None
        self._deviation: Nanoseconds = 0
        self.timeout = bounds.first
        """How long to wait for the reply to a new message."""

    def sample(self, took: Nanoseconds) -> None:
        """The reply to a message that was sent once took so long."""
        if self._mean is None:
            self._mean = took
            self._deviation = took // 2
        else:
            self._deviation += (abs(took - self._mean) - self._deviation) // 4
            self._mean += (took - self._mean) // 8
        # A queue that grows steadily shows no deviation from one reply to the next, but a message
        # that joins it now waits longer than those whose replies come now.
        wait = self._mean + max(4 * self._deviation, self._mean)
        self.timeout = max(wait, self._bounds.shortest)

    def back_off(self, waited: Nanoseconds) -> Nanoseconds:
        """A message has waited in vain; returns how long it waits next."""
        wait = min(2 * waited, max(waited, self._bounds.longest))
        self.timeout = max(self.timeout, wait)
        return wait

    def late(self, waited: Nanoseconds) -> None:
        """A message was answered that had been repeated, the last time to wait so long.

        If it was repeated at the longest interval, then that may be shorter than replies take, and
        no message would ever be answered before it is repeated.
        """
        if waited >= self._bounds.longest:
            self.timeout = max(self.timeout, min(2 * waited, LATEST * self._bounds.longest))
