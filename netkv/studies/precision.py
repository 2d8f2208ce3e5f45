"""`--until "SCHEME.METRIC within 2%"`: seeds are added until an interval is narrow enough.

The interval is that of the mean over seeds, with a confidence of 95%. An expression over several
schemes has a value for each seed, so what a seed does to all of them alike is not in its interval.
The condition holds if it does at every point of the sweep.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from netkv.errors import UsageError
from netkv.scenarios import thresholds
from netkv.scenarios.results import Interval, RunResult
from netkv.scenarios.statistics import interval
from netkv.scenarios.thresholds import Quantity
from netkv.studies import by_seed

LEAST = 3
"""Seeds from which on an interval is believed."""
_GROWTH = 2.0
"""A round has at most this many times the seeds of the one before."""
_FORM = re.compile(r"(.+?)\s+within\s+(\d+(?:\.\d+)?)\s*%")


@dataclass(frozen=True)
class Precision:
    """A condition of `--until`."""

    text: str
    quantity: Quantity
    within: float
    """Largest half width of the interval, as a share of the mean."""

    def intervals(self, runs: Iterable[RunResult]) -> dict[str, Interval]:
        """Point of the sweep → the interval there; points without a value are missing."""
        found = by_seed.values(self.quantity, runs)
        known = {point: interval(values) for point, values in found.items()}
        return {point: each for point, each in known.items() if each is not None}

    def wider(self, runs: Sequence[RunResult]) -> float | None:
        """How many times too wide the widest interval is; None if no interval is known."""
        found = self.intervals(runs)
        points = {thresholds.point_of(run) for run in runs}
        if not found or points != set(found):
            return None
        return max(self._width(each) for each in found.values())

    def following(self, seeds: int, wider: float, most: int) -> int:
        """How many seeds to have after so many, if intervals are so many times too wide."""
        wanted = math.ceil(seeds * min(wider**2, _GROWTH))
        return min(max(wanted, seeds + 1, LEAST), most)

    def _width(self, found: Interval) -> float:
        if found.ci95 is None or found.n < LEAST:
            return math.inf
        if found.ci95 == 0:
            return 0.0
        return found.ci95 / (self.within * abs(found.mean)) if found.mean else math.inf


def parse(text: str, schemes: Sequence[str]) -> Precision:
    """Reads a condition about these schemes; raises `UsageError`."""
    found = _FORM.fullmatch(text.strip())
    if found is None or float(found[2]) <= 0:
        raise UsageError(
            f"--until '{text}' is not understood. It should look like "
            f"{schemes[-1]}.throughput_ops within 2%; ratios of metrics are possible, too."
        )
    quantity = thresholds.compile_quantity(found[1])
    named = {scheme for scheme, _ in quantity.metrics()}
    if missing := named - set(schemes):
        raise UsageError(f"--until '{text}': '{missing.pop()}' is not a scheme of this scenario.")
    if not named:
        raise UsageError(f"--until '{text}' names no metric of a scheme.")
    return Precision(text.strip(), quantity, float(found[2]) / 100)
