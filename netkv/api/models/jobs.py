"""Models of jobs: requested scenarios, benchmarks and tools, queued, in progress or ended."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from netkv.api.models.base import Model, RequestModel
from netkv.api.models.fields import Changes, PlainName, Seed
from netkv.runs.records import RunHead

JobState = Literal["queued", "starting", "running", "stopping", "done", "failed", "cancelled"]
JobKind = Literal["scenario", "benchmark", "tool"]
ACTIVE: frozenset[JobState] = frozenset({"queued", "starting", "running", "stopping"})


class CommandRequest(RequestModel):
    """A benchmark or tool to run."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"options": {"seconds": 0.5}}, {"options": {}}]}
    )

    options: dict[str, Any] = Field(default_factory=dict)
    """As in its `options_schema`; what is left out has its default."""


class ScenarioRequest(RequestModel):
    """A scenario with changes: one that ships with netkv, or one of the user."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"scenario": "quickstart", "set": ["duration=10"], "repeat": 3},
                {"scenario": "switch-crash", "mode": "sim"},
            ]
        }
    )

    scenario: Annotated[
        PlainName | None,
        Field(
            description="Name of a scenario that ships with netkv.",
            examples=["quickstart"],
        ),
    ] = None
    yaml: Annotated[
        str | None, Field(max_length=200_000, description="A scenario as the text of a file.")
    ] = None
    document: Annotated[
        dict[str, Any] | None, Field(description="A scenario as an object: the same in JSON.")
    ] = None
    schemes: Annotated[
        list[str],
        Field(
            max_length=20,
            description="Schemes to run, the first as baseline; empty: those of the scenario.",
        ),
    ] = Field(default_factory=list)
    set: Annotated[
        Changes,
        Field(
            description="Values of options, each `path=value`.",
            examples=[["duration=10"]],
        ),
    ] = Field(default_factory=list)
    mode: Annotated[
        Literal["live", "sim"] | None, Field(description="Null: that of the scenario.")
    ] = None
    seed: Seed | None = None
    repeat: Annotated[int, Field(ge=1, le=1000)] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> ScenarioRequest:
        given = [
            name for name in ("scenario", "yaml", "document") if getattr(self, name) is not None
        ]
        if len(given) != 1:
            found = "both " + " and ".join(given) if given else "none of them"
            raise ValueError(
                f"give exactly one of 'scenario', 'yaml' and 'document'; there is {found}"
            )
        return self


class RunProgress(Model):
    """Progress of one run of a job."""

    index: int
    """Its index in the plan, from 0."""
    scheme: str
    phase: str
    """`compiling`, `starting`, `preload` (caches are filled), `warmup`, `measure`, `drain`,
    `verify` or `stopping`."""
    fraction: float
    """How far the phase is, 0 to 1."""
    share: float = 0.0
    """How far the run is, 0 to 1."""
    left_seconds: float | None = None
    recovering: list[str] = Field(default_factory=list)
    """The switches that recover."""


class WorkerProgress(Model):
    """A process that executes runs of a job."""

    name: str
    host: str
    running: int
    """Runs that it executes or has received."""
    done: int
    """Runs that it has executed."""
    refused: str | None = None
    """Why it gets no runs, as a sentence; null if it gets some."""


class JobProgress(Model):
    """Progress of a job."""

    done: int
    """Runs, or steps of a benchmark, that have ended."""
    total: int
    """Planned runs or steps."""
    fraction: float
    """Completed share of the expected work, 0 to 1."""
    left_seconds: float | None
    """Estimated time left; null if it is not known."""
    phase: str
    """Of the runs in progress; of a benchmark, the step that it is at."""
    runs: list[RunProgress] = Field(default_factory=list)
    """The runs in progress."""
    rate: float | None = None
    """Runs per second that end, over the last minute; null before some have."""
    failed: int = 0
    """Number of runs that have failed."""
    failures: list[str] = Field(default_factory=list)
    """The newest of them, each with its reason."""
    workers: list[WorkerProgress] = Field(default_factory=list)
    """The processes that execute runs."""
    link: str | None = None
    """The address of a page about them: of Dask, if they are a cluster."""
    updated_at: float
    """Seconds since the epoch."""


class PlannedCell(Model):
    """A planned run of a job."""

    scheme: str
    params: dict[str, Any]
    """Its point of the sweep."""
    repeat: int


class Job(Model):
    """A scenario that was requested here or in a terminal, or a benchmark."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "g4f1c2a9be0",
                    "kind": "scenario",
                    "source": "api",
                    "title": "quickstart",
                    "request": {"scenario": "quickstart"},
                    "state": "queued",
                    "position": 1,
                    "created_at": 1795000000.0,
                    "expected_seconds": 34.0,
                    "plan": [],
                    "runs": [],
                }
            ]
        }
    )

    id: str
    """Also the id of the group of its runs."""
    kind: JobKind = "scenario"
    """Only a scenario has a plan and runs."""
    source: Literal["api", "terminal"]
    """Where it was requested. A job of a terminal is here while it runs."""
    title: str
    """Name of its scenario, or the command of its benchmark or tool."""
    request: dict[str, Any] | None
    """The request as it came; null for a job of a terminal."""
    state: JobState
    position: int | None = None
    """Its position in the queue, from 1; null if it is not queued."""
    created_at: float
    """Seconds since the epoch."""
    started_at: float | None = None
    finished_at: float | None = None
    expected_seconds: float | None = None
    """Expected duration on this machine, estimated when it was requested."""
    progress: JobProgress | None = None
    """Null before its first run begins."""
    plan: list[PlannedCell] = Field(default_factory=list)
    """Its planned runs, in order; empty before the first begins, and in lists of jobs."""
    runs: list[RunHead] = Field(default_factory=list)
    """Its runs so far; in lists of jobs only those in progress."""
    ok: bool | None = None
    """Whether all its runs succeeded and all thresholds were met, no part of its benchmark failed,
    or its tool found nothing wrong; null before its end."""
    error: str | None = None
    """Why it failed, as a sentence."""


class JobLog(Model):
    """What the command of a job has printed on stderr."""

    text: str
    """Its end, at most 16 KiB."""


class Jobs(Model):
    """The jobs in progress and queued, in the order of execution, and the newest ended ones."""

    active: list[Job]
    ended: list[Job]
    """Newest first."""
