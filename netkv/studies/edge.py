"""The edge of a condition along a range: how far it holds.

Rules
-----
1. The first values are both ends, so it is known at which one the condition holds. If it holds at
   both or at neither, there is no edge to find.
2. Each round divides the part between the last value up to which it holds and the next one. With
   several values in a round, as many as can be executed at a time, that takes fewer rounds.
3. Counted from the end at which it holds, the edge is before the first value at which it does not,
   whatever holds beyond. Values beyond are told (`islands`): the condition is not monotonic, or a
   seed of it is unlucky.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from netkv.studies.axes import Range


@dataclass
class Edge:
    """The search for an edge. Call `following`, then `told`, until `over`."""

    range: Range
    within: float
    """Largest distance of the two values around the edge, as a share of the larger one."""
    held: dict[float, bool] = field(default_factory=dict)
    """Value → whether the condition holds there."""

    def following(self, count: int) -> list[float]:
        """The next values to try, about `count` of them."""
        if not self.held:
            inner = [self.range.at(at / (count - 1)) for at in range(1, count - 1)]
            return list(dict.fromkeys([self.range.at(0), *inner, self.range.at(1)]))
        first, second = sorted(map(self.range.share, self._around()))
        step = (second - first) / (count + 1)
        tried = [self.range.at(first + at * step) for at in range(1, count + 1)]
        return [value for value in dict.fromkeys(tried) if value not in self.held]

    def told(self, held: Mapping[float, bool]) -> None:
        """Takes whether the condition holds at values."""
        self.held |= held

    @property
    def holds_at_low(self) -> bool:
        """Whether it holds at the low end of the range."""
        return self.held[self.range.at(0)]

    @property
    def exists(self) -> bool:
        """Whether it holds at one end and not at the other."""
        return self.holds_at_low != self.held[self.range.at(1)]

    @property
    def bracket(self) -> tuple[float, float]:
        """The last value at which it holds, and the first at which it does not."""
        return self._around()

    @property
    def islands(self) -> list[float]:
        """Values beyond the edge at which it holds."""
        _, beyond = self._around()
        return [
            value
            for value in self._from_held_end()
            if self.held[value] and self._is_after(value, beyond)
        ]

    def over(self) -> bool:
        """Whether the edge is known well enough, or there is none."""
        if not self.held:
            return False
        if not self.exists:
            return True
        near, far = self._around()
        close = abs(far - near) <= self.within * max(abs(near), abs(far))
        return close or not self.following(1)

    def _around(self) -> tuple[float, float]:
        values = self._from_held_end()
        beyond = next(at for at, value in enumerate(values) if not self.held[value])
        return values[beyond - 1], values[beyond]

    def _from_held_end(self) -> list[float]:
        return sorted(self.held, reverse=not self.holds_at_low)

    def _is_after(self, value: float, other: float) -> bool:
        return value > other if self.holds_at_low else value < other
