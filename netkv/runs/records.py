"""Records of runs, in the JSON form of `netkv runs show --json` and of the API.

Rates are operations per second, latencies microseconds, times seconds, as in
`netkv.scenarios.results`; fields from there keep their names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from netkv.scenarios.results import (
    Provenance,
    RunEvent,
    RunFigures,
    RunIdentity,
    RunResult,
    Threshold,
)

StoredStatus = Literal["running", "done", "failed", "cancelled"]


class RunHead(RunFigures, RunIdentity):
    """A run without its series, for lists."""

    group: str
    """The `netkv scenario run` that it belongs to."""
    scenario: str
    title: str
    mode: str
    target: str
    status: StoredStatus
    reason: str | None = None
    """Why it failed or was cancelled."""
    started_at: float
    """Seconds since the epoch."""
    finished_at: float | None = None
    duration: float
    warmup: float
    tags: list[str] = Field(default_factory=list)
    note: str = ""
    pinned: bool = False
    """A pinned run cannot be deleted."""


class RunRecord(RunHead):
    """The complete record of a run, as it is exported."""

    parameters: dict[str, Any]
    provenance: Provenance
    latency_histogram: str = ""
    """HDR histogram (V2, deflated, base64) of nanoseconds over the measured part."""
    series: dict[str, list[Any]] = Field(default_factory=dict)
    """Columns of equal length, one entry per interval (`netkv.runs.series`)."""
    events: list[RunEvent] = Field(default_factory=list)
    thresholds: list[Threshold] = Field(default_factory=list)
    """Verdicts on the group of the run."""

    def result(self) -> RunResult:
        """The run as the runner reported it."""
        fields = self.model_dump(include={*RunResult.model_fields, *self.values()})
        fields["finished_at"] = self.finished_at or 0.0
        if self.status == "running":
            fields["status"] = "failed"
        return RunResult.model_validate(fields)


@dataclass(frozen=True)
class Timing:
    """The duration of a successful run, and its settings."""

    scenario: str
    scheme: str
    params: dict[str, Any]
    mode: str
    target: str
    parameters: dict[str, Any]
    host: dict[str, Any]
    """The machine."""
    seconds: float
    """Wall time, from the start of the rack to its end."""
    peak_memory: int | None = None
    """The most memory of its process, in bytes; None if it is not known."""
