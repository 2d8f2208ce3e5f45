"""Runs as the store hands them out, in the JSON form of `netkv runs show --json` and of the API.

Rates are operations per second, latencies microseconds, times seconds, as in
`netkv.scenarios.results`, whose fields come again here under the same names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from netkv.scenarios import recovery
from netkv.scenarios.results import (
    Latency,
    Provenance,
    Recovery,
    Result,
    RunEvent,
    RunResult,
    RunSample,
    Threshold,
    UnfinishedRecovery,
    Violation,
)

StoredStatus = Literal["running", "done", "failed"]


class RunHead(Result):
    """A run without its series: what lists and comparisons need."""

    id: str
    group: str
    """The `netkv scenario run` that it belongs to."""
    scenario: str
    title: str
    scheme: str
    params: dict[str, Any]
    repeat: int
    seed: int
    mode: str
    target: str
    status: StoredStatus
    reason: str | None = None
    """Why it failed."""
    started_at: float
    """Seconds since the epoch."""
    finished_at: float | None = None
    duration: float
    warmup: float
    throughput_ops: float = 0.0
    latency_us: Latency = Latency()
    hit_ratio: float | None = None
    predicted_hit_ratio: float | None = None
    server_load: list[float] = Field(default_factory=list)
    keys_per_s: float | None = None
    groups_per_request: float | None = None
    coordinator_utilization: float | None = None
    completed_ops: int = 0
    lost_ops: int = 0
    retries: int = 0
    unknown: int = 0
    ignored: int = 0
    preserved_peak: int = 0
    preserved_peak_bytes: int = 0
    acked_writes_lost: int | None = None
    stale_reads: int = 0
    phantom_reads: int = 0
    linearizable: bool | None = None
    checked_ops: int = 0
    unchecked_keys: int = 0
    violation_count: int = 0
    violations: list[Violation] = Field(default_factory=list)
    control_plane_bytes_per_s: float = 0.0
    control_plane_mib_per_s: float = 0.0
    control_plane_mib_per_s_by_switch: dict[str, float] = Field(default_factory=dict)
    recoveries: list[Recovery] = Field(default_factory=list)
    unfinished_recoveries: list[UnfinishedRecovery] = Field(default_factory=list)
    control_dropped: int = 0
    reports_dropped: int = 0

    @property
    def load_imbalance(self) -> float | None:
        """Load of the busiest server over the mean; 1 is even, None without load."""
        mean = sum(self.server_load) / len(self.server_load) if self.server_load else 0.0
        return max(self.server_load) / mean if mean > 0 else None

    @property
    def recovery_time(self) -> float | None:
        """Seconds of the longest recovery; None if there was none."""
        return recovery.seconds(self.recoveries)


class RunRecord(RunHead):
    """A run whole, as it is exported."""

    parameters: dict[str, Any]
    provenance: Provenance
    latency_histogram: str = ""
    """HDR histogram (V2, deflated, base64) of nanoseconds over the measured part."""
    series: dict[str, list[Any]] = Field(default_factory=dict)
    """Columns of equal length, one entry per interval (`SERIES_COLUMNS`)."""
    events: list[RunEvent] = Field(default_factory=list)
    thresholds: list[Threshold] = Field(default_factory=list)
    """Verdicts over the whole group of the run."""

    def result(self) -> RunResult:
        """The run as the runner reported it."""
        fields = self.model_dump(include=set(RunResult.model_fields))
        fields["finished_at"] = self.finished_at or 0.0
        fields["status"] = "done" if self.status == "done" else "failed"
        return RunResult.model_validate(fields)


@dataclass(frozen=True)
class Timing:
    """How long a run took that succeeded, and what it was."""

    scenario: str
    scheme: str
    params: dict[str, Any]
    mode: str
    target: str
    parameters: dict[str, Any]
    host: dict[str, Any]
    """The machine."""
    seconds: float
    """Of wall time, from bringing the rack up to taking it down."""


SERIES_COLUMNS = (
    "time",
    "phase",
    "interval",
    "throughput_ops",
    "hit_ratio",
    "latency_mean_us",
    "latency_p50_us",
    "latency_p95_us",
    "latency_p99_us",
    "latency_p999_us",
    "server_load",
    "lost_ops",
    "retries",
    "stale_reads",
    "unknown",
    "ignored",
    "preserved",
    "preserved_bytes",
    "cached",
    "control_plane_bytes_per_s",
    "control_plane_mib_per_s",
    "control_plane_mib_per_s_by_switch",
)


def columns(samples: list[RunSample]) -> dict[str, list[Any]]:
    """Samples as columns of equal length."""
    return {name: [_cell(sample, name) for sample in samples] for name in SERIES_COLUMNS}


def _cell(sample: RunSample, column: str) -> Any:
    if column.startswith("latency_"):
        return getattr(sample.latency_us, column.removeprefix("latency_").removesuffix("_us"))
    return getattr(sample, column)
