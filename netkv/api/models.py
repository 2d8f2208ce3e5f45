"""Models of requests and responses of the API, in addition to the records of the run store."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from netkv.lab.hardware import TopologySpec
from netkv.runs.records import RunHead
from netkv.scenarios.results import RunEvent, RunSample, Threshold


class Model(BaseModel):
    """Base of all models. Unknown fields, such as misspelt options, are errors."""

    model_config = ConfigDict(extra="forbid")


class Problem(Model):
    """The body of every error response."""

    error: str
    """What is wrong, and how to correct it."""


class ScenarioSummary(Model):
    """A scenario that ships with netkv."""

    name: str
    title: str
    description: str
    schemes: list[str]
    runs: int
    """Number of its runs."""
    wall_seconds: float
    """Estimated duration on this machine."""
    wall_seconds_source: Literal["measured", "estimated"]
    """`measured`: from stored runs of it on this machine; `estimated`: from its rack and load."""
    virtual_seconds: float | None
    """Virtual time of the warm-ups and measured parts of all runs; null for a live scenario."""


class ScenarioDetails(ScenarioSummary):
    """A scenario with all its options, defaults included."""

    options: dict[str, Any]
    """Without those of `lab.topology` in which its schemes differ."""
    topologies: dict[str, TopologySpec]
    """The switches of each scheme's racks."""


class RunRequest(Model):
    """A request to run a scenario."""

    scenario: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)]
    """Name of a scenario that ships with netkv."""
    schemes: Annotated[list[str], Field(max_length=20)] = []
    """Schemes to run, the first as baseline; empty: those of the scenario."""
    set: Annotated[list[Annotated[str, Field(max_length=500)]], Field(max_length=50)] = []
    """Values of options, each `path=value`."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    repeat: Annotated[int, Field(ge=1, le=1000)] | None = None


class Activity(Model):
    """The runs in progress, if any."""

    state: Literal["idle", "starting", "running", "stopping"]
    group: str | None = None
    """Group of the runs that are in progress or about to start."""
    scenario: str | None = None
    runs: list[RunHead] = []
    """Runs in progress."""
    error: str | None = None
    """Why the last process that the dashboard started failed before its first run."""


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


class PlottedFigure(Model):
    """A figure that the scenario of the requested runs defines."""

    name: str
    """Name of its files: `/api/plots/NAME.svg` and `.png`, with the same runs."""
    title: str
    data: list[dict[str, Any]]
    """Traces in the form of plotly.js."""
    layout: dict[str, Any]
    """Layout in the form of plotly.js."""


class Plots(Model):
    """The figures that the scenarios of the requested runs define."""

    figures: list[PlottedFigure]
    left_out: list[str]
    """For each figure that these runs have no data for: a sentence."""


class Look(Model):
    """The style of a run in figures, in the form of plotly.js."""

    line: dict[str, Any]
    """`line` of a trace."""
    marker: dict[str, Any]
    """`marker` of a trace of points."""
    bar: dict[str, Any]
    """`marker` of a trace of bars."""


class Looks(Model):
    """The styles of runs in all figures: the scheme of a run determines its colour."""

    schemes: dict[str, list[Look]]
    """For each scheme, the styles of its first run on a page, its second, and so on."""
    others: list[Look]
    """The same for the runs of all schemes that this version does not know."""


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


class StreamedSample(Model):
    """An interval of a run, as the stream sends it."""

    id: int
    run: str
    sample: RunSample


class StreamedEvent(Model):
    """An event of a run, as the stream sends it."""

    id: int
    run: str
    event: RunEvent


class DesignSummary(Model):
    """A design for FPGAs that ships with netkv."""

    name: str
    title: str
    description: str
    clock_mhz: float
    parameters: dict[str, int | str]
    """All parameters of its top-level module."""
    ports: list[str]
    """Names of its ports, the host port last."""
    resources: dict[str, float]
    """Resources that synthesis should find: `lut`, `ff`, `bram`."""
    paper: dict[str, float]
    """Those that the paper reports for its board."""
    built: bool
    """Whether its library is in the cache."""


class Designs(Model):
    """All designs."""

    designs: list[DesignSummary]
    problem: str | None
    """What is missing to build designs, as a sentence; then none counts as built."""


class RunningDesign(Model):
    """A design that runs live."""

    name: str
    """Name of the running design, as in `netkv fpga registers --live --name`."""
    design: str
    clock_mhz: float
    parameters: dict[str, int | str]
    """Parameters of its top-level module."""


class DesignCounters(Model):
    """Counts of a design that runs live."""

    name: str
    counters: dict[str, int]
    """Its registers that are counters; they have 32 bits and wrap."""
    ports: dict[str, dict[str, int]]
    """Counts of its ports by name: `rx_frames`, `tx_frames`, `rx_drops`, ..."""
    node: dict[str, int]
    """Counts of the program that runs it: `received`, `sent`, `cycles`, ..."""
