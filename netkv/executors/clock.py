"""How far the clock of another machine is from this one's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Clock:
    """How far a clock is ahead of this one, in seconds."""

    offset: float
    within: float
    """The true offset differs by at most so much."""


def of_rounds(rounds: Iterable[tuple[float, float, float]]) -> Clock:
    """The clock that has answered: when each question left, what the answer said, and when it came,
    in seconds.

    An answer is from the middle of its round trip; the shortest one is the most exact, and half of
    it is how far off that may be.
    """
    begun, there, ended = min(rounds, key=lambda each: each[2] - each[0])
    return Clock(there - (begun + ended) / 2, (ended - begun) / 2)
