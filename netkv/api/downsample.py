"""Downsampling of long runs that keeps the worst values.

Neighbouring intervals of a phase are joined into one. `Metric.time` determines how the values of a
metric are combined; for latency percentiles, the joined interval has the worst value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from netkv import metrics
from netkv.metrics import Value
from netkv.scenarios.results import Latency, RunSample

MAX_POINTS = 1200
"""Points of a trace that a browser can redraw several times a second."""


def downsample(samples: Sequence[RunSample], limit: int = MAX_POINTS) -> list[RunSample]:
    """At most `limit` samples for the whole run; the same samples if there are no more."""
    if limit < 1:
        raise ValueError("limit must be at least 1")
    if len(samples) <= limit:
        return list(samples)
    phases = len({sample.phase for sample in samples})
    # The last bucket of each phase may be partly filled.
    size = math.ceil(len(samples) / max(1, limit - phases))
    return [_join(bucket) for bucket in _buckets(samples, size)]


def _buckets(samples: Sequence[RunSample], size: int) -> Iterator[list[RunSample]]:
    bucket: list[RunSample] = []
    for sample in samples:
        if bucket and (len(bucket) == size or bucket[0].phase != sample.phase):
            yield bucket
            bucket = []
        bucket.append(sample)
    if bucket:
        yield bucket


def _join(bucket: list[RunSample]) -> RunSample:
    last = bucket[-1]
    servers = len(last.server_load)
    measured = [sample.values() for sample in bucket]
    return RunSample(
        time=last.time,
        phase=last.phase,
        interval=math.fsum(sample.interval for sample in bucket),
        latency_us=Latency(
            mean=_mean(bucket, [sample.latency_us.mean for sample in bucket]),
            p50=_worst([sample.latency_us.p50 for sample in bucket]),
            p95=_worst([sample.latency_us.p95 for sample in bucket]),
            p99=_worst([sample.latency_us.p99 for sample in bucket]),
            p999=_worst([sample.latency_us.p999 for sample in bucket]),
        ),
        server_load=[
            _mean(bucket, [s.server_load[i] if i < len(s.server_load) else None for s in bucket])
            or 0.0
            for i in range(servers)
        ],
        control_plane_mib_per_s_by_switch={
            switch: _mean(bucket, [s.control_plane_mib_per_s_by_switch.get(switch) for s in bucket])
            or 0.0
            for switch in last.control_plane_mib_per_s_by_switch
        },
        **{
            name: _metric(bucket, name, [values.get(name) for values in measured])
            for name in last.values()
        },
    )


def _metric(bucket: list[RunSample], name: str, values: list[Any]) -> Value:
    """The value of a metric in the joined interval. For a metric that this version does not know,
    it is the last value."""
    metric = metrics.find(name)
    match metric.time if metric is not None else None:
        case "rate" | "ratio":
            return _mean(bucket, values)
        case "sum":
            known = [value for value in values if value is not None]
            return sum(known) if known else None
        case "worst":
            return _worst(values)
        case _:
            return values[-1]  # type: ignore[no-any-return]  # of a sample, so a `Value`


def _mean(bucket: list[RunSample], values: list[float | None]) -> float | None:
    known = [
        (value, sample.interval)
        for value, sample in zip(values, bucket, strict=True)
        if value is not None
    ]
    seconds = math.fsum(interval for _, interval in known)
    if not seconds:
        return None
    return math.fsum(value * interval for value, interval in known) / seconds


def _worst(values: list[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
