"""Values over repeats: sums, and means with their 95% confidence interval (Student's t)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

from netkv.metrics import Metric
from netkv.scenarios.results import Interval, RunFigures
from netkv.scenarios.values import of_run


@lru_cache(maxsize=256)
def student_t(probability: float, degrees: int) -> float:
    """The quantile of Student's t distribution: t with P(T <= t) = `probability`.

    `probability` lies in (0.5, 1), `degrees` of freedom are at least 1.
    """
    if not 0.5 < probability < 1 or degrees < 1:
        raise ValueError("probability must lie in (0.5, 1) and degrees be at least 1")
    low, high = 0.0, 1.0
    while _student_cdf(high, degrees) < probability:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if _student_cdf(middle, degrees) < probability:
            low = middle
        else:
            high = middle
        if high - low <= 1e-12 * high:
            break
    return (low + high) / 2


def _student_cdf(t: float, degrees: int) -> float:
    """P(T <= t) for t >= 0, by the finite trigonometric sums for integer degrees of freedom
    (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    theta = math.atan(t / math.sqrt(degrees))
    cosine = math.cos(theta)
    if degrees % 2:
        term, total = cosine, 0.0
        for k in range(1, (degrees - 1) // 2 + 1):
            total += term
            term *= cosine * cosine * (2 * k) / (2 * k + 1)
        inside = 2 / math.pi * (theta + math.sin(theta) * total)
    else:
        term, total = 1.0, 0.0
        for k in range(1, degrees // 2 + 1):
            total += term
            term *= cosine * cosine * (2 * k - 1) / (2 * k)
        inside = math.sin(theta) * total
    return 0.5 + inside / 2


def interval(values: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Mean and half width of its confidence interval; None without values.

    The half width of a single value is None.
    """
    n = len(values)
    if n == 0:
        return None
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean=mean, ci95=None, n=1)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    half = student_t((1 + confidence) / 2, n - 1) * math.sqrt(variance / n)
    return Interval(mean=mean, ci95=half, n=n)


def all_of(verdicts: Iterable[bool | None]) -> bool | None:
    """Whether all verdicts are true. None if one is unknown and none is false, or without any."""
    known = list(verdicts)
    if any(verdict is False for verdict in known):
        return False
    return None if not known or None in known else True


def over_repeats(metric: Metric, runs: Sequence[RunFigures]) -> Interval | int | bool | None:
    """A metric over runs with the same settings (`OverRepeats`).

    Sums and conditions include failed runs; means do not. None includes cancelled runs.
    """
    runs = [run for run in runs if run.status != "cancelled"]
    if metric.repeats == "all":
        return all_of(getattr(run, metric.name) for run in runs)
    if metric.repeats == "sum":
        counts = [of_run(metric, run) for run in runs]
        known = [int(count) for count in counts if count is not None]
        return sum(known) if runs and len(known) == len(counts) else None
    values = (of_run(metric, run) for run in runs if run.status == "done")
    return interval([value for value in values if value is not None])
