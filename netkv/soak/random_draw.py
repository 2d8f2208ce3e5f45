"""Draws from a seed that are the same on every machine and with every Python."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")


class RandomDraw:
    """A source of draws. Only `random.Random.random` is used: the rest may change with Python."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def chance(self, share: float) -> bool:
        """True in `share` of all draws."""
        return self._random.random() < share

    def between(self, low: float, high: float, digits: int = 3) -> float:
        """Uniform from `low` to `high`, rounded for readers."""
        return round(low + (high - low) * self._random.random(), digits)

    def scale(self, low: float, high: float) -> float:
        """Every order of magnitude from `low` to `high` is equally likely; three digits of it."""
        drawn = low * math.exp(math.log(high / low) * self._random.random())
        return float(f"{drawn:.3g}")

    def count(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + int((high - low + 1) * self._random.random())

    def scale_count(self, low: int, high: int) -> int:
        """As `scale`, a whole number, both ends included."""
        return min(
            max(int(low * math.exp(math.log((high + 1) / low) * self._random.random())), low), high
        )

    def one(self, options: Sequence[_T]) -> _T:
        """One of them."""
        return options[int(self._random.random() * len(options))]

    def seed(self) -> int:
        """A seed for another generator."""
        return int(self._random.random() * (1 << 31))
