"""Latency histograms in nanoseconds (HDR, V2, deflated, base64): decoding, merging, percentiles."""

from __future__ import annotations

from collections.abc import Iterable
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
    latencies: list[float] = []
    shares: list[float] = []
    for item in histogram.get_recorded_iterator():
        latencies.append(item.value_iterated_to / 1000)
        shares.append(item.total_count_to_this_value / total)
    return latencies, shares
