"""Random draws from a seed that are the same on every machine and with every Python version."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")


class RandomDraw:
    """A source of random draws. It uses only `random.Random.random`, since the other methods may
    change between Python versions."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def chance(self, share: float) -> bool:
        """True in `share` of all draws."""
        return self._random.random() < share

    def between(self, low: float, high: float, digits: int = 3) -> float:
        """Uniform from `low` to `high`, rounded for readers."""
        return round(low + (high - low) * self._random.random(), digits)

    def scale(self, low: float, high: float) -> float:
        """Log-uniform from `low` to `high`, rounded to three significant digits."""
        drawn = low * math.exp(math.log(high / low) * self._random.random())
        return float(f"{drawn:.3g}")

    def count(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + int((high - low + 1) * self._random.random())

    def scale_count(self, low: int, high: int) -> int:
        """A log-uniform whole number from `low` to `high`, both included."""
        return min(
            max(int(low * math.exp(math.log((high + 1) / low) * self._random.random())), low), high
        )

    def one(self, options: Sequence[_T]) -> _T:
        """One of the options."""
        return options[int(self._random.random() * len(options))]

    def seed(self) -> int:
        """A seed for another generator."""
        return int(self._random.random() * (1 << 31))
