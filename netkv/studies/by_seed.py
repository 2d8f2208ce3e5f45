"""An expression over the metrics of one run of each scheme, for each seed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

from netkv.scenarios import thresholds
from netkv.scenarios.results import RunResult
from netkv.scenarios.thresholds import Quantity

_Metrics: TypeAlias = dict[str, dict[str, float]]
"""Scheme → metric → value."""


def values(quantity: Quantity, runs: Iterable[RunResult]) -> dict[str, list[float]]:
    """Point → the value with each seed there. Seeds without a value are left out: a run of them has
    failed, or has no such metric."""
    wanted = quantity.metrics()
    points: dict[str, dict[int, _Metrics]] = {}
    for run in runs:
        of_seed = points.setdefault(thresholds.point_of(run), defaultdict(dict))[run.seed]
        if run.status != "done":
            continue
        known = {name: thresholds.metric_of(run, name) for it, name in wanted if it == run.scheme}
        of_seed[run.scheme] = {name: value for name, value in known.items() if value is not None}
    return {
        point: [value for it in seeds.values() if (value := _value(quantity, it)) is not None]
        for point, seeds in points.items()
    }


def _value(quantity: Quantity, schemes: _Metrics) -> float | None:
    try:
        return quantity.value(schemes)
    except (KeyError, thresholds.UnknownError):
        return None
