"""The columns of comparisons: metrics grouped by heading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netkv.metrics import Metric
from netkv.metrics.common import COMMON
from netkv.report import text
from netkv.runs.compare import ComparedRow
from netkv.scenarios.results import Interval
from netkv.schemes import metric_table


@dataclass(frozen=True)
class Cell:
    """A value of a row, as text."""

    text: str
    spread: str
    """Half width of the confidence interval; empty if there is none."""
    metric: Metric
    nonzero: bool


@dataclass(frozen=True)
class Column:
    """Metrics under one heading."""

    heading: str
    metrics: Sequence[Metric]

    def cell(self, row: ComparedRow) -> Cell:
        """The value of a row: a mean, or the sum of its counts."""
        metric = self.metrics[0]
        if metric.repeats == "mean":
            shown = metric_table.is_shown(metric.name, row.scheme)
            mean: Interval | None = getattr(row, metric.name) if shown else None
            show = text.show(metric.unit)
            value = None if mean is None else mean.mean
            half = "" if mean is None or mean.ci95 is None else show(mean.ci95)
            return Cell(show(value), half, metric, bool(value))
        counts = [getattr(row, each.name) for each in self.metrics]
        total = None if None in counts else sum(counts)
        return Cell(text.show(metric.unit, whole=True)(total), "", metric, bool(total))


def of(rows: Sequence[ComparedRow]) -> list[Column]:
    """The columns of a comparison; columns of single schemes, and rare ones, only if a row
    has a value."""
    found: dict[str, list[Metric]] = {}
    for metric in metric_table.all_metrics():
        common = metric in COMMON
        always = common and not metric.rare
        if metric.column and (always or any(getattr(row, metric.name) for row in rows)):
            found.setdefault(metric.column, []).append(metric)
    return [Column(heading, own) for heading, own in found.items()]
