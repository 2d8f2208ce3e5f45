"""Models of runs in progress and of the event stream."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netkv.api.models.base import Model
from netkv.runs.records import RunHead
from netkv.scenarios.results import RunEvent, RunSample


class RunRequest(Model):
    """A request to run a scenario."""

    scenario: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)]
    """Name of a scenario that ships with netkv."""
    schemes: list[str] = Field(default_factory=list, max_length=20)
    """Schemes to run, the first as baseline; empty: those of the scenario."""
    set: Annotated[
        list[Annotated[str, Field(max_length=500)]], Field(default_factory=list, max_length=50)
    ]
    """Values of options, each `path=value`."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    repeat: Annotated[int, Field(ge=1, le=1000)] | None = None


class Activity(Model):
    """The runs in progress, if any."""

    state: Literal["idle", "starting", "running", "stopping"]
    group: str | None = None
    """Group of the runs that are in progress or about to start."""
    scenario: str | None = None
    runs: list[RunHead] = Field(default_factory=list)
    """Runs in progress."""
    error: str | None = None
    """Why the last process that the dashboard started failed before its first run."""


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
