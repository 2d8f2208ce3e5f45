"""Downsampling of long runs that keeps the worst values.

Neighbouring intervals of a phase are joined into one. `Metric.time` determines how the values of a
metric are combined; for latency percentiles, the joined interval has the worst value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from netkv.runs.series import Columns
from netkv.schemes import metric_table

MAX_POINTS = 1200
"""Points of a trace that a browser can redraw several times a second."""


@dataclass(frozen=True)
class _Bucket:
    """Neighbouring intervals of a phase."""

    rows: slice
    intervals: Sequence[float]
    """Their lengths in seconds."""


_Join: TypeAlias = Callable[[Sequence[Any], _Bucket], Any]
"""Combines the values of the intervals of a bucket."""


def downsample(columns: Columns, limit: int = MAX_POINTS) -> Columns:
    """At most `limit` intervals for the whole run; the same columns if there are no more."""
    if limit < 1:
        raise ValueError("limit must be at least 1")
    phases = columns["phase"]
    if len(phases) <= limit:
        return columns
    # The last bucket of each phase may be partly filled.
    size = math.ceil(len(phases) / max(1, limit - len(set(phases))))
    buckets = [
        _Bucket(slice(first, last), columns["interval"][first:last])
        for first, last in _bounds(phases, size)
    ]
    return {name: _joined(name, column, buckets) for name, column in columns.items()}


def _bounds(phases: Sequence[str], size: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each bucket."""
    first = 0
    for at in range(1, len(phases) + 1):
        if at == len(phases) or at - first == size or phases[at] != phases[first]:
            yield first, at
            first = at


def _joined(name: str, column: Sequence[Any], buckets: Sequence[_Bucket]) -> list[Any]:
    join = _OTHERS.get(name) or _of_metric(name)
    return [join(column[bucket.rows], bucket) for bucket in buckets]


def _of_metric(name: str) -> _Join:
    """How the values of a metric are combined. For a metric that this version does not know, the
    joined interval has the last value."""
    metric = metric_table.find(name)
    match metric.time if metric is not None else None:
        case "rate" | "ratio":
            return _mean
        case "sum":
            return _sum
        case "worst":
            return _worst
        case _:
            return _last


def _mean(values: Sequence[float | None], bucket: _Bucket) -> float | None:
    known = [
        (value, interval)
        for value, interval in zip(values, bucket.intervals, strict=True)
        if value is not None
    ]
    seconds = math.fsum(interval for _, interval in known)
    if not seconds:
        return None
    return math.fsum(value * interval for value, interval in known) / seconds


def _sum(values: Sequence[float | None], _bucket: _Bucket) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _worst(values: Sequence[float | None], _bucket: _Bucket) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _last(values: Sequence[Any], _bucket: _Bucket) -> Any:
    return values[-1]


def _length(values: Sequence[float], _bucket: _Bucket) -> float:
    return math.fsum(values)


def _servers(values: Sequence[Sequence[float | None]], bucket: _Bucket) -> list[float | None]:
    return [
        _mean([load[at] if at < len(load) else None for load in values], bucket)
        for at in range(len(values[-1]))
    ]


def _switches(values: Sequence[Mapping[str, float]], bucket: _Bucket) -> dict[str, float]:
    return {
        switch: _mean([rates.get(switch) for rates in values], bucket) or 0.0
        for switch in values[-1]
    }


_OTHERS: dict[str, _Join] = {
    "time": _last,
    "phase": _last,
    "interval": _length,
    "server_load": _servers,
    "control_plane_mib_per_s_by_switch": _switches,
}
"""Columns that are no metrics."""
