"""Latency histograms of stored runs: merging, and the curves of figures."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

from netkv._engine import Histogram
from netkv.errors import NetkvError


def decode(text: str) -> Histogram:
    """The histogram in a text; raises `NetkvError` if it is damaged."""
    try:
        return Histogram(text)
    except ValueError as error:
        raise NetkvError(f"A stored latency histogram is damaged: {error}.") from error


def merge(texts: Iterable[str]) -> Histogram | None:
    """The sum of the histograms; None if there are none. Empty texts are ignored."""
    parts = [decode(text) for text in texts if text]
    if not parts:
        return None
    whole = Histogram()
    for part in parts:
        whole.add(part)
    return whole


def distribution(histogram: Histogram) -> tuple[list[float], list[float]]:
    """The cumulative distribution: latencies in microseconds, and the share up to each of them."""
    total, points = len(histogram), histogram.points()
    return [value / 1000 for value, _ in points], [until / total for _, until in points]


MAX_POINTS = 400
"""Points of a curve that a page draws."""


def complement(
    histogram: Histogram | None, limit: int = MAX_POINTS
) -> tuple[list[float], list[float]]:
    """The complementary cumulative distribution: latencies in microseconds, and the share above
    each of them. At most `limit` points, equally far apart on two logarithmic axes; the lowest and
    the highest latency are always among them.
    """
    if not histogram:
        return [], []
    total = len(histogram)
    points = [(value / 1000, (total - until) / total) for value, until in histogram.points()]
    if len(points) > limit:
        points = _thinned(points, limit)
    return [value for value, _ in points], [above for _, above in points]


def _thinned(points: list[tuple[float, float]], limit: int) -> list[tuple[float, float]]:
    """Points whose distances along the curve, on logarithmic axes, are at least a step."""
    steps = [0.0]
    for (value, above), (then, later) in pairwise(points):
        right = math.log(then / value) if value > 0 else 0.0
        steps.append(right + (math.log(above / later) if later > 0 else 0.0))
    step = sum(steps) / (limit - 2)
    kept, walked = [points[0]], 0.0
    for point, length in zip(points[1:-1], steps[1:-1], strict=True):
        walked += length
        if walked >= step:
            kept.append(point)
            walked = 0.0
    return [*kept, points[-1]]
