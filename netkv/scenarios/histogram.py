"""Latencies of a histogram of the engine, in microseconds."""

from __future__ import annotations

from netkv._engine import Histogram
from netkv.scenarios.results import Latency


def latency(histogram: Histogram) -> Latency:
    """Mean and percentiles in microseconds; without any latency, none."""
    if not histogram:
        return Latency()
    return Latency(
        mean=histogram.mean() / 1000,
        p50=histogram.at(50) / 1000,
        p95=histogram.at(95) / 1000,
        p99=histogram.at(99) / 1000,
        p999=histogram.at(99.9) / 1000,
    )
