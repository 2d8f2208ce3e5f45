"""Models of stored runs, in addition to the records of the run store."""

from __future__ import annotations

from typing import Any, Literal

from netkv.api.models.base import Model
from netkv.runs.records import RunHead
from netkv.scenarios.results import RunEvent, Threshold


class Series(Model):
    """A run over time, at most `limit` points."""

    run: RunHead
    interval: float
    """Seconds that a point covers, at most."""
    columns: dict[str, list[Any]]
    """Columns of equal length: time, phase, throughput_ops, hit_ratio, latencies, ..."""
    events: list[RunEvent]
    last_sample: int
    """Id of the newest interval in `columns`; the event stream continues after it."""


class MetricInfo(Model):
    """The declaration of a metric."""

    name: str
    """Name in documents."""
    label: str
    unit: str
    """Its unit, or the range of a number without one (`0 to 1` is shown in percent); empty for
    plain counts."""
    sense: Literal["higher", "lower", "zero"] | None
    """Which values are better; `zero`: every other value is an error."""
    repeats: Literal["mean", "sum", "all"]
    """How the values of repeated runs are combined."""
    time: Literal["rate", "ratio", "sum", "last", "worst"] | None
    """How values of neighbouring intervals are combined; null: it exists for whole runs only."""
    column: str
    """Heading of its column in comparisons; empty: it has none. Metrics with the same heading are
    added up."""
    schemes: list[str]
    """Schemes that declare it; empty: it is a common metric."""
    not_shown: list[str]
    """Schemes for which it is a constant, so that tables and figures do not show it."""
    meaning: str


class GroupVerdicts(Model):
    """Verdicts on the runs of one `netkv scenario run`."""

    group: str
    thresholds: list[Threshold]
