"""The values of runs in intervals that all series of a figure over time share.

A sample is about the time from the one before it to its own. Usually that is one interval; after a
gap it is several, and in long runs an interval has several samples. The intervals end at the fixed
times of the runs' samples. If there are too many of these, or the samples have other times, as
those of live runs of older versions do, the intervals have equal widths.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from netkv.metrics.metric import OverTime
from netkv.report.metrics import over_time
from netkv.runs.records import RunRecord
from netkv.scenarios import sample_times

MAX_INTERVALS = 1200
_TINY_S = 1e-9
_NEAR = 0.05
"""Share by which the distance of samples differs from a round number, because of the clock."""


@dataclass(frozen=True)
class Sampled:
    """A value, and the time that it is about."""

    begin: float
    end: float
    value: float


@dataclass(frozen=True)
class Grid:
    """Intervals from each edge to the next; they are numbered from 0."""

    edges: tuple[float, ...]
    """Seconds since the measured part began, in order; at least two."""

    @classmethod
    def of(cls, runs: Sequence[RunRecord]) -> Grid:
        """The grid for these runs: as fine as their samples, with at most `MAX_INTERVALS`."""
        fixed = _fixed_edges(runs)
        return cls(fixed if 2 <= len(fixed) <= MAX_INTERVALS + 1 else _equal_edges(runs))

    def interval(self, number: int) -> tuple[float, float]:
        """Begin and end of an interval."""
        return self.edges[number], self.edges[number + 1]

    def values(self, run: RunRecord, metric: str, over: OverTime | None) -> dict[int, float]:
        """The value of each interval for which it is known. `over`: how values are combined."""
        found: dict[int, list[tuple[Sampled, float]]] = {}
        for sampled in _samples(run, metric):
            first, after = self._nearest(sampled.begin), self._nearest(sampled.end)
            if first >= after:  # it is shorter than an interval
                first = self._containing((sampled.begin + sampled.end) / 2)
                after = first + 1
            whole = self.edges[after] - self.edges[first]
            for number in range(first, after):
                begin, end = self.interval(number)
                part = (end - begin) / whole if over == "sum" else 1.0
                found.setdefault(number, []).append((sampled, sampled.value * part))
        return {number: self._combined(number, parts, over) for number, parts in found.items()}

    def _combined(
        self, number: int, parts: Sequence[tuple[Sampled, float]], over: OverTime | None
    ) -> float:
        values = [value for _, value in parts]
        if len(values) == 1 or over == "last":
            return values[-1]
        if over == "sum":
            return math.fsum(values)
        if over == "worst":
            return max(values)
        begin, end = self.interval(number)
        lengths = [
            max(min(sampled.end, end) - max(sampled.begin, begin), _TINY_S) for sampled, _ in parts
        ]
        weighted = (value * length for value, length in zip(values, lengths, strict=True))
        return math.fsum(weighted) / math.fsum(lengths)

    def _containing(self, time: float) -> int:
        """The interval that has a time, or that is the nearest to it."""
        return min(max(bisect_right(self.edges, time) - 1, 0), len(self.edges) - 2)

    def _nearest(self, time: float) -> int:
        """The number of the nearest edge."""
        begin, end = self.interval(number := self._containing(time))
        return number + (time - begin >= end - time)


def _fixed_edges(runs: Sequence[RunRecord]) -> tuple[float, ...]:
    """The times at which such runs are sampled; none if samples have other times."""
    found: set[float] = set()
    for run in runs:
        if not (times := _column(run, "time")):
            continue
        edges = {_plain(time) for time in sample_times.edges(run.warmup, run.duration)}
        if not edges.issuperset(map(_plain, times)):
            return ()
        found |= edges
    return tuple(sorted(found))


def _equal_edges(runs: Sequence[RunRecord]) -> tuple[float, ...]:
    """Multiples of the usual distance of samples, or of a larger one."""
    samples = [
        each for run in runs for each in zip(_column(run, "time"), _lengths(run), strict=True)
    ]
    if not samples:
        return (0.0, 1.0)
    step = _nice(median([length for _, length in samples if length > 0] or [1.0]))
    span = max(time for time, _ in samples) - min(time for time, _ in samples)
    width = step * max(math.ceil(span / step / MAX_INTERVALS - _NEAR), 1)
    begin = math.floor(min(time - length for time, length in samples) / width + 0.5)
    end = math.ceil(max(time for time, _ in samples) / width - 0.5)
    return tuple(_plain(number * width) for number in range(begin, max(end, begin + 1) + 1))


def _plain(time: float) -> float:
    """A sum of decimal fractions without its last digits, which differ from the written number."""
    return round(time, 9)


def _samples(run: RunRecord, metric: str) -> list[Sampled]:
    times, values = _column(run, "time"), over_time(run, metric)
    if len(values) != len(times):
        return []
    return [
        Sampled(time - length, time, value)
        for time, length, value in zip(times, _lengths(run), values, strict=True)
        if value is not None
    ]


def _lengths(run: RunRecord) -> list[float]:
    times, lengths = _column(run, "time"), _column(run, "interval")
    if len(lengths) == len(times):
        return lengths
    return [1.0, *(after - before for before, after in pairwise(times))][: len(times)]


def _column(run: RunRecord, name: str) -> list[float]:
    return [float(value) for value in run.series.get(name, [])]


def _nice(step: float) -> float:
    """A distance of samples without the inaccuracy of clocks."""
    nice = float(f"{step:.1g}")
    return nice if abs(step - nice) <= _NEAR * nice else step
