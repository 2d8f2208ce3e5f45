"""Models of stored runs, in addition to the records of the run store."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from netkv._engine import Histogram
from netkv.api.models.base import Model, RequestModel
from netkv.runs import histograms
from netkv.runs.compare import Comparison
from netkv.runs.records import RunHead
from netkv.runs.remarks import MAX_NOTE, TAG
from netkv.scenarios.results import RunEvent, Threshold

MAX_CHANGED = 5000
"""Limit of the runs that one request changes."""

Id = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Ids = Annotated[list[Id], Field(min_length=1, max_length=MAX_CHANGED)]
Tag = Annotated[str, Field(json_schema_extra={"pattern": TAG})]
"""The store checks it, and has a sentence for wrong ones."""


class Runs(Model):
    """A page of a query."""

    runs: list[RunHead]
    total: int
    """Number of runs of the query, on all pages."""


class StoredValues(Model):
    """The values of all stored runs for filters, each with its number of runs."""

    scenarios: dict[str, int]
    schemes: dict[str, int]
    tags: dict[str, int]


class RunRemarks(RequestModel):
    """Changes of a run. What is left out stays as it is."""

    tags: list[Tag] | None = None
    """All tags of the run."""
    note: Annotated[str, Field(json_schema_extra={"maxLength": MAX_NOTE})] | None = None
    """An empty text deletes the note."""
    pinned: bool | None = None
    """A pinned run cannot be deleted."""


class RunTags(RequestModel):
    """Changes of the tags of runs."""

    runs: Ids
    add: list[Tag] = Field(default_factory=list)
    remove: list[str] = Field(default_factory=list)


class RunSelection(RequestModel):
    """Runs, by their ids."""

    runs: Ids


class Deleted(Model):
    """The runs that were deleted."""

    deleted: list[str]


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


class LatencyHistogram(Model):
    """Latencies of one run, or of all repeats with the same settings, as a complementary
    cumulative distribution."""

    runs: list[str]
    scheme: str
    params: dict[str, Any]
    count: int
    """Number of operations."""
    value_us: list[float]
    """Latencies in microseconds, rising."""
    above: list[float]
    """The fraction of operations with a higher latency, for each of them."""

    @classmethod
    def of(cls, runs: list[str], one: RunHead, histogram: Histogram | None) -> LatencyHistogram:
        """The distribution of a merged histogram; `one` is any of the runs."""
        values, above = histograms.complement(histogram)
        return cls(
            runs=runs,
            scheme=one.scheme,
            params=one.params,
            count=0 if histogram is None else len(histogram),
            value_us=values,
            above=above,
        )


class Difference(Model):
    """A setting in which the rows of a comparison differ."""

    path: str
    """Path of the option, or `provenance.NAME`."""
    values: list[Any]
    """Its value in each row; null if a row does not have it."""


class ComparedRuns(Comparison):
    """A comparison, and the settings in which its rows differ."""

    different: list[Difference]


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
    rare: bool
    """Whether its column is shown only if a row has a value other than 0."""
    schemes: list[str]
    """Schemes that declare it; empty: it is a common metric."""
    not_shown: list[str]
    """Schemes for which it is a constant, so that tables and figures do not show it."""
    meaning: str


class GroupVerdicts(Model):
    """Verdicts on the runs of one `netkv scenario run`."""

    group: str
    thresholds: list[Threshold]
