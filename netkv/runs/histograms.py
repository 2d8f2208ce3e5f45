"""Latency histograms in nanoseconds (HDR, V2, deflated, base64): merging, percentiles, curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from netkv.errors import NetkvError
from netkv.scenarios.results import Latency


def decode(text: str) -> Any:
    """The `hdrh.histogram.HdrHistogram` in a text; raises `NetkvError` if it is damaged."""
    from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

    try:
        return HdrHistogram.decode(text.encode())
    except Exception as error:  # the package raises zlib.error, struct.error and others
        raise NetkvError(f"A stored latency histogram is damaged: {error}.") from error


def merge(texts: Iterable[str]) -> Any | None:
    """The sum of the histograms; None if there are none. Empty texts are ignored."""
    from hdrh.histogram import HdrHistogram

    parts = [decode(text) for text in texts if text]
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    # Three digits, up to an hour: the range of all parts.
    whole = HdrHistogram(1, 3_600_000_000_000, 3)
    for part in parts:
        whole.add(part)
    return whole


def latency(histogram: Any) -> Latency:
    """Mean and percentiles in microseconds."""
    if histogram is None or not histogram.get_total_count():
        return Latency()
    at = {p: histogram.get_value_at_percentile(p) / 1000 for p in (50, 95, 99, 99.9)}
    return Latency(
        mean=histogram.get_mean_value() / 1000,
        p50=at[50],
        p95=at[95],
        p99=at[99],
        p999=at[99.9],
    )


def distribution(histogram: Any) -> tuple[list[float], list[float]]:
    """The cumulative distribution: latencies in microseconds, and the share up to each of them."""
    total = histogram.get_total_count()
    points = list(_cumulative(histogram))
    return [value for value, _ in points], [until / total for _, until in points]


def _cumulative(histogram: Any) -> Iterator[tuple[float, int]]:
    """Recorded latencies in microseconds, rising, and the number of operations up to each.

    The package's own iterator visits the empty values too, which takes ten times as long.
    """
    until = 0
    for at, found in enumerate(histogram.counts[:]):  # a list: elements of the array are slow
        if found:
            until += found
            # The highest of the values that are counted together.
            yield (histogram.get_value_from_index(at + 1) - 1) / 1000, until


MAX_POINTS = 400
"""Points of a curve that a page draws."""


def count(histogram: Any | None) -> int:
    """The number of recorded operations."""
    return 0 if histogram is None else int(histogram.get_total_count())


def complement(histogram: Any | None, limit: int = MAX_POINTS) -> tuple[list[float], list[float]]:
    """The complementary cumulative distribution: latencies in microseconds, and the share above
    each of them. At most `limit` points, equally far apart on two logarithmic axes; the lowest and
    the highest latency are always among them.
    """
    total = count(histogram)
    if histogram is None or not total:
        return [], []
    points = [(value, (total - until) / total) for value, until in _cumulative(histogram)]
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
