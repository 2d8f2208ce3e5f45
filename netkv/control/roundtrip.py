"""The retransmission timeout, estimated from round-trip times.

The estimate is TCP's (Jacobson 1988, RFC 6298): smoothed round trip plus four times its smoothed
deviation, but at least twice the round trip. Karn's rule holds: a repeated message gives no sample,
because the answered copy is not known. Until another message gives a sample, new messages have the
timeout of the repeated one.
"""

from dataclasses import dataclass

from netkv.control.base import MILLISECOND, Nanoseconds

LATEST = 16
"""Limit of the timeout of a new message, as a multiple of `Timeouts.longest` (see `late`)."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Bounds of the timeout, in nanoseconds.

    `first`: the timeout before the first sample. `shortest`: the minimum, however fast replies are;
    it must cover delays outside the network, such as a busy controller. `longest`: the maximum,
    however often a message was repeated.
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
        """The bounds for hosts and links that are `factor` (at least 1) times as slow.

        `shortest` stays the same, since it covers delays of the controller.
        """
        return Timeouts(round(self.first * factor), self.shortest, round(self.longest * factor))


class RoundTrip:
    """The timeout of one kind of request."""

    def __init__(self, bounds: Timeouts) -> None:
        self._bounds = bounds
        self._mean: Nanoseconds | None = None
        self._deviation: Nanoseconds = 0
        self.timeout = bounds.first
        """The timeout of a new message."""

    def sample(self, took: Nanoseconds) -> None:
        """Add the round-trip time of a message that was sent once."""
        if self._mean is None:
            self._mean = took
            self._deviation = took // 2
        else:
            self._deviation += (abs(took - self._mean) - self._deviation) // 4
            self._mean += (took - self._mean) // 8
        # Replies from a steadily growing queue show no deviation, but a message that enters the
        # queue now waits longer than those that are answered now.
        wait = self._mean + max(4 * self._deviation, self._mean)
        self.timeout = max(wait, self._bounds.shortest)

    def back_off(self, waited: Nanoseconds) -> Nanoseconds:
        """A message has had no reply within `waited`; returns its next timeout."""
        wait = min(2 * waited, max(waited, self._bounds.longest))
        self.timeout = max(self.timeout, wait)
        return wait

    def late(self, waited: Nanoseconds) -> None:
        """A repeated message was answered; `waited` is its last timeout.

        If that was the longest timeout, replies may take longer than it. Then every message would
        be repeated before its reply arrives, so new messages get a longer timeout.
        """
        if waited >= self._bounds.longest:
            self.timeout = max(self.timeout, min(2 * waited, LATEST * self._bounds.longest))
