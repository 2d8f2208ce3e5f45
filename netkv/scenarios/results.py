"""What a scenario produces, in the JSON form that scripts rely on (docs/reading-a-result.md).

Rates are operations per second, latencies microseconds, times seconds.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict

MIB = 2**20
Status = Literal["done", "failed"]
Phase = Literal["warmup", "measure", "drain", "verify"]
INTERRUPTED = "It was interrupted."
"""The reason of a run that was stopped before its end."""


class Result(BaseModel):
    """Base of all result models: immutable, unknown fields refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Latency(Result):
    """Latency in microseconds, from the intended send time; None without completed requests."""

    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    p999: float | None = None


class RunSample(Result):
    """One interval (normally one second) of a run."""

    time: float
    """Seconds since the measured part began; negative in the warm-up."""
    phase: Phase
    interval: float
    throughput_ops: float
    hit_ratio: float | None = None
    latency_us: Latency = Latency()
    server_load: list[float] = []
    lost_ops: int = 0
    retries: int = 0
    stale_reads: int = 0
    unknown: int = 0
    ignored: int = 0
    preserved: int = 0
    """Records that clients keep at the end of the interval, because only the switch has them."""
    preserved_bytes: int = 0
    cached: int = 0
    control_plane_bytes_per_s: float = 0.0
    control_plane_mib_per_s_by_switch: dict[str, float] = {}
    """Between each switch and its controller, both directions."""

    @property
    def control_plane_mib_per_s(self) -> float:
        """Of all switches."""
        return self.control_plane_bytes_per_s / MIB


class RecoveryPhase(Result):
    """A part of a recovery, as its control plane calls it."""

    name: str
    seconds: float


class RecoveryDetails(Result):
    """How a switch that had lost its memory got it back."""

    phases: list[RecoveryPhase]
    """In the order in which they were gone through."""
    counts: dict[str, int] = {}
    """What was moved: records, keys, bytes."""


class RunEvent(Result):
    """Something that happened in a run."""

    time: float
    """Seconds since the measured part began; negative before."""
    kind: str
    node: str
    text: str
    recovery: RecoveryDetails | None = None
    """Of an event `recovered`."""


class Recovery(RecoveryDetails):
    """A recovery of a run."""

    at: float
    """When the switch was as before, in seconds since the measured part began."""
    switch: str
    seconds: float
    """All phases together."""

    @classmethod
    def of(cls, event: RunEvent) -> Recovery | None:
        """What an event says of a recovery; None if it is no such event."""
        found = event.recovery
        if found is None:
            return None
        seconds = sum(phase.seconds for phase in found.phases)
        return cls(
            at=event.time,
            switch=event.node,
            seconds=seconds,
            phases=found.phases,
            counts=found.counts,
        )


class UnfinishedRecovery(Result):
    """A recovery that began and did not come to its end."""

    switch: str
    began: float
    """In seconds since the measured part began."""
    ended: float | None = None
    """When something cut it; None: it went on at the end of the run."""
    cut_by: str | None = None
    """What that was: `controller killed`."""
    recovered: bool
    """Whether a later recovery of the switch came to its end."""
    text: str
    """All of it, for people."""


class Provenance(Result):
    """What has to be the same for a run to be repeated."""

    netkv_version: str
    source_revision: str | None = None
    program: str
    program_hash: str
    host: dict[str, Any] = {}


class HistoryRequest(Result):
    """A request, by which its packets are found."""

    client: int
    """0 for the value that a key had before anybody wrote it."""
    request: int


class HistoryOperation(Result):
    """One operation of a violation, as its client saw it."""

    client: int
    request: int
    what: Literal["put", "delete", "get"]
    writer: HistoryRequest | None = None
    """Who wrote the value: the operation itself, or the write whose value a get returned."""
    result: str
    """`ok`, `value`, `initial value`, `not found`, `nobody's value`, `no answer`."""
    start_ns: int | None = None
    """When its first packet was sent, in nanoseconds of the load generator's clock."""
    end_ns: int | None = None
    """When it was answered; None without answer, or if the time is not known any more."""


class Violation(Result):
    """Operations on one key that no order of them explains; none of them can be left out."""

    key: str
    """32 hexadecimal digits."""
    kind: Literal["stale-read", "phantom-value", "lost-write", "not-linearizable"]
    text: str
    """What is wrong, as a sentence; requests are named client/request."""
    operations: list[HistoryOperation]


class RunStart(Result):
    """Everything known about a run before it begins."""

    id: str
    scenario: str
    title: str
    scheme: str
    params: dict[str, Any]
    """What the sweep set for this run: path → value; empty without a sweep."""
    repeat: int
    """0, 1, ... of the scenario's `repeat`."""
    seed: int
    mode: str = "live"
    target: str = "engine"
    started_at: float
    """Seconds since the epoch."""
    duration: float
    warmup: float
    parameters: dict[str, Any]
    """The scenario as it applies to this run: lab, workload and all, defaults included."""
    provenance: Provenance


class RunResult(Result):
    """A finished run. Without a measured part (failed early) the figures are zero or None."""

    id: str
    scheme: str
    params: dict[str, Any] = {}
    repeat: int = 0
    seed: int
    status: Status
    reason: str | None = None
    """Why the run failed, as a sentence."""
    throughput_ops: float = 0.0
    latency_us: Latency = Latency()
    hit_ratio: float | None = None
    predicted_hit_ratio: float | None = None
    """Popularity, by the distribution, of the keys cached at the end of the measured part."""
    server_load: list[float] = []
    """Operations per second that each server served over the measured part."""
    keys_per_s: float | None = None
    """Keys of the reads that were answered, a second; None where a read has one key."""
    groups_per_request: float | None = None
    """Requests that servers got for one of a client, on average; None where each is one."""
    coordinator_utilization: float | None = None
    """Share of the time that a worker of the coordinator was busy; None if there is none."""
    completed_ops: int = 0
    lost_ops: int = 0
    retries: int = 0
    unknown: int = 0
    """Writes given up because nobody can tell whether the switch that died had done them."""
    ignored: int = 0
    """Answers of a switch that were not taken: it has died since, or they could not be kept."""
    preserved_peak: int = 0
    """Most records that a client process kept at a time because only the switch had them."""
    preserved_peak_bytes: int = 0
    acked_writes_lost: int | None = None
    """Acknowledged writes that the read-back at the end did not find; None if it did not run."""
    stale_reads: int = 0
    phantom_reads: int = 0
    linearizable: bool | None = None
    """Whether the history of every key can be explained; None if none is wrong but not every read
    could be judged, or if nothing was checked."""
    checked_ops: int = 0
    """Operations that the history checker judged, warm-up and read-back included."""
    unchecked_keys: int = 0
    """Keys of which not every read could be judged."""
    violation_count: int = 0
    """Reads that no history explains."""
    violations: list[Violation] = []
    """The first of them, each with what proves it."""
    control_plane_bytes_per_s: float = 0.0
    control_plane_mib_per_s: float = 0.0
    """The same in MiB per second: of all switches, over the measured part."""
    control_plane_mib_per_s_by_switch: dict[str, float] = {}
    recoveries: list[Recovery] = []
    """Of switches that had lost their memory, in the order of their ends."""
    unfinished_recoveries: list[UnfinishedRecovery] = []
    """Those that came to no end, in the order of their beginnings."""
    control_dropped: int = 0
    """Messages between switches and controllers that found a full queue, over the whole run."""
    reports_dropped: int = 0
    """Reports of hot records of which the same is true."""
    latency_histogram: str = ""
    """Mergeable HDR histogram (V2, deflated, base64) of nanoseconds over the measured part."""
    series: dict[str, list[Any]] = {}
    """Columns of equal length: time, phase, throughput_ops, hit_ratio, latency_mean_us,
    latency_p99_us, server_load (a list each), lost_ops, retries, stale_reads, unknown, ignored,
    preserved, preserved_bytes, cached, control_plane_bytes_per_s, control_plane_mib_per_s,
    control_plane_mib_per_s_by_switch (a dictionary each)."""
    events: list[RunEvent] = []
    finished_at: float | None = None
    """Seconds since the epoch; None for a simulated run, which is the same whenever it ran."""


class Interval(Result):
    """Mean of repeats and half width of its 95% confidence interval (None from one repeat)."""

    mean: float
    ci95: float | None
    n: int


class Summary(Result):
    """One scheme at one sweep point, over its repeats."""

    scheme: str
    params: dict[str, Any]
    throughput_ops: Interval | None
    latency_mean_us: Interval | None
    latency_p99_us: Interval | None
    hit_ratio: Interval | None
    predicted_hit_ratio: Interval | None
    control_plane_mib_per_s: Interval | None
    recovery_time: Interval | None
    """Of the longest recovery of each run; None if there were none."""
    not_recovered: int
    """Switches that were not recovered by the end of their runs."""
    acked_writes_lost: int | None
    """Sum over the repeats; None if any of them could not verify."""
    stale_reads: int
    linearizable: bool | None
    """False if any of the repeats is not; None if any of them could not tell."""
    lost_ops: int
    failed: int
    """How many repeats failed."""


class Threshold(Result):
    """The verdict on one `expect` line."""

    expr: str
    ok: bool
    value: float | None
    """The left side of the comparison, where it could be evaluated."""
    detail: str = ""
    """The comparison with figures, or why it could not be made."""


class ScenarioResult(Result):
    """The whole of `netkv scenario run --json`."""

    scenario: str
    title: str
    mode: str
    target: str
    seed: int
    runs: list[RunResult]
    summary: list[Summary]
    thresholds: list[Threshold]

    @property
    def ok(self) -> bool:
        """No run failed and every threshold was met."""
        return all(r.status == "done" for r in self.runs) and all(t.ok for t in self.thresholds)


class RunSink(Protocol):
    """Where runs are kept while they happen. Calls for one run come in this order."""

    def begin(self, run: RunStart) -> None: ...
    def sample(self, run_id: str, sample: RunSample) -> None: ...
    def event(self, run_id: str, event: RunEvent) -> None: ...
    def finish(self, result: RunResult) -> None: ...
    def verdict(self, run_ids: list[str], thresholds: list[Threshold]) -> None: ...
