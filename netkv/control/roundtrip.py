"""The retransmission timeout, estimated from round-trip times.

The estimate is TCP's (Jacobson 1988, RFC 6298): smoothed round trip plus four times its smoothed
deviation, but at least twice the round trip. Karn's rule holds: a repeated message gives no sample,
because the answered copy is not known. Until another message gives a sample, new messages have the
timeout of the repeated one. The engine implements it (`engine/python/src/control`).
"""

from dataclasses import dataclass

from netkv._engine import RoundTrip
from netkv.control.base import MILLISECOND, Nanoseconds

__all__ = ["RoundTrip", "Timeouts"]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Bounds of the timeout, in nanoseconds.

    `first`: the timeout before the first sample. `shortest`: the minimum, however fast replies are;
    it must cover delays outside the network, such as a busy controller. `longest`: up to
    which repetitions double the wait; new messages wait longer if replies take longer.
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
