"""Requests and responses of the API, besides the records of the run store."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from netkv.runs.records import RunHead
from netkv.scenarios.results import RunEvent, RunSample, Threshold


class Model(BaseModel):
    """Base: unknown fields are refused, so that a misspelt option is never silently ignored."""

    model_config = ConfigDict(extra="forbid")


class Problem(Model):
    """The body of every answer that is no success."""

    error: str
    """A sentence: what is wrong and what would be right."""


class ScenarioSummary(Model):
    """A scenario that ships with netkv."""

    name: str
    title: str
    description: str
    schemes: list[str]
    runs: int
    """How many runs it takes."""
    wall_seconds: float
    """How long it takes on this machine, about."""
    wall_seconds_source: Literal["measured", "estimated"]
    """`measured`: from stored runs of it on this machine; `estimated`: from its rack and load."""
    virtual_seconds: float | None
    """Of a simulated scenario: warm-ups and measured parts of all runs, in virtual time."""


class ScenarioDetails(ScenarioSummary):
    """A scenario as it would run, every default included."""

    options: dict[str, Any]


class RunRequest(Model):
    """What to run."""

    scenario: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)]
    """Name of a scenario that ships."""
    schemes: Annotated[list[str], Field(max_length=20)] = []
    """Only these, the first as baseline; empty: those of the scenario."""
    set: Annotated[list[Annotated[str, Field(max_length=500)]], Field(max_length=50)] = []
    """Changes of options, each `path=value`."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    repeat: Annotated[int, Field(ge=1, le=1000)] | None = None


class Activity(Model):
    """What goes on, if anything."""

    state: Literal["idle", "starting", "running", "stopping"]
    group: str | None = None
    """Group of the runs that go on, or that are about to."""
    scenario: str | None = None
    runs: list[RunHead] = []
    """Runs that go on now."""
    error: str | None = None
    """Why the last run started from here ended before it could report anything."""


class Series(Model):
    """A run over time, at most `limit` points."""

    run: RunHead
    interval: float
    """Seconds that a point stands for (1 for short runs)."""
    columns: dict[str, list[Any]]
    """Equally long: time, phase, throughput_ops, hit_ratio, latencies, server_load, ..."""
    events: list[RunEvent]
    last_sample: int
    """Id of the newest interval in it: the stream goes on after it."""


class PlottedFigure(Model):
    """A figure that the scenario of some runs asks for."""

    name: str
    """Of its files: `/api/plots/NAME.svg` and `.png`, with the same runs."""
    title: str
    data: list[dict[str, Any]]
    """Traces, as plotly.js takes them."""
    layout: dict[str, Any]
    """As plotly.js takes it."""


class Plots(Model):
    """The figures that the scenarios of some runs ask for."""

    figures: list[PlottedFigure]
    left_out: list[str]
    """Sentences about those that these runs have nothing for."""


class Look(Model):
    """How a run is drawn, as plotly.js takes it."""

    line: dict[str, Any]
    """`line` of a trace."""
    marker: dict[str, Any]
    """`marker` of a trace of points."""
    bar: dict[str, Any]
    """`marker` of a trace of bars."""


class Looks(Model):
    """How runs are drawn, everywhere: colours belong to schemes."""

    schemes: dict[str, list[Look]]
    """Of each scheme: for its first run on a page, its second, and so on."""
    others: list[Look]
    """The same for runs of schemes that this version does not know, all of them together."""


class MetricInfo(Model):
    """A metric: how it is called, shown and judged."""

    name: str
    """In every document."""
    label: str
    unit: str
    """Its unit, or the range of a number without one (`0 to 1` is shown in percent); empty for
    plain counts."""
    sense: Literal["higher", "lower", "zero"] | None
    """Which values are better; `zero`: every other value is an error."""
    repeats: Literal["mean", "sum", "all"]
    """How values of repeats become one."""
    time: Literal["rate", "ratio", "sum", "last", "worst"] | None
    """How values of neighbouring intervals become one; none: it is known of whole runs only."""
    column: str
    """Heading of its column in comparisons, where those with the same heading are added up; empty:
    it has none."""
    schemes: list[str]
    """Schemes whose runs have it; empty: the runs of all schemes may."""
    not_shown: list[str]
    """Schemes for which it is a constant that is not shown."""
    meaning: str


class GroupVerdicts(Model):
    """Verdicts on one `netkv scenario run`."""

    group: str
    thresholds: list[Threshold]


class Sampled(Model):
    """An interval of a run, as the stream sends it."""

    id: int
    run: str
    sample: RunSample


class Happened(Model):
    """An event of a run, as the stream sends it."""

    id: int
    run: str
    event: RunEvent
