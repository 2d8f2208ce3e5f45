"""Samples of a live run that lie on one side of an event, also on a busy machine."""

from __future__ import annotations

from netkv.scenarios.results import RunResult

LATE_S = 1.0
"""A busy machine may take a sample this long after its time, or an event after it is told."""


def throughput(run: RunResult, begin: float, end: float) -> list[float]:
    """Rates of the samples that lie wholly in [begin, end], in operations/s.

    A busy machine is late with an event, so times are those that the run tells.
    """
    series = run.series
    spans = zip(series["time"], series["interval"], series["throughput_ops"], strict=True)
    return [rate for time, interval, rate in spans if begin <= time - interval and time <= end]
