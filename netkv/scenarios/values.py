"""The values of a metric: of a whole run, and over time."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from netkv.metrics import Metric
from netkv.metrics.sources import Derived, Gauge
from netkv.scenarios.results import RunFigures
from netkv.schemes import metric_table


def of_run(metric: Metric, run: RunFigures) -> float | None:
    """The one value of a run; None if the run does not have it."""
    if isinstance(metric.source, Derived):
        return _number(metric.source.of(run))
    if not isinstance(metric.source, Gauge):
        return _number(getattr(run, metric.name, None))
    if metric.whole is not None:
        return of_run(metric_table.get(metric.whole), run)
    measured = [
        value
        for phase, value in zip(run.series.get("phase", ()), over_time(metric, run), strict=False)
        if phase == "measure"
    ]
    return measured[-1] if measured else None


def over_time(metric: Metric, run: RunFigures) -> list[float | None]:
    """A value for each interval of a run; empty if the run does not have the metric over time."""
    column: Sequence[Any] = run.series.get(metric.name, ())
    if not column and isinstance(metric.source, Derived) and metric.source.of_row is not None:
        rows = zip(*run.series.values(), strict=True)
        named = (SimpleNamespace(**dict(zip(run.series, row, strict=True))) for row in rows)
        column = [metric.source.of_row(row) for row in named]
    return [_number(value) for value in column]


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
