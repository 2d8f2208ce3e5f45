"""Merges and decodes latency histograms of the engine (HDR, V2, deflated, base64; nanoseconds)."""

from __future__ import annotations

from typing import Any

from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from netkv.scenarios.results import Latency

_HIGHEST = 3_600_000_000_000
"""An hour, in nanoseconds."""
_DIGITS = 3


class Histogram:
    """A histogram that others are added to."""

    def __init__(self) -> None:
        self._counts: Any = HdrHistogram(1, _HIGHEST, _DIGITS)

    def add(self, encoded: str) -> None:
        """Adds an encoded histogram; an empty string adds nothing."""
        if encoded:
            self._counts.decode_and_add(encoded)

    def encode(self) -> str:
        """The sum, in the same encoding."""
        encoded: bytes = self._counts.encode()
        return encoded.decode("ascii")

    def latency(self) -> Latency:
        """Mean and percentiles in microseconds."""
        if self._counts.get_total_count() == 0:
            return Latency()

        def at(percentile: float) -> float:
            return float(self._counts.get_value_at_percentile(percentile)) / 1000

        return Latency(
            mean=float(self._counts.get_mean_value()) / 1000,
            p50=at(50),
            p95=at(95),
            p99=at(99),
            p999=at(99.9),
        )
