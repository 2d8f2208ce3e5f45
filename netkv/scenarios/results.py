"""Data models of the results of a scenario; their JSON form is public
(docs/learn/reading-a-result.md).

Rates are operations per second, latencies microseconds, times seconds. Metrics (`netkv.metrics`)
are not declared as fields; documents contain them by their names, beside the declared fields.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_validator

from netkv.metrics import Value
from netkv.model.report import Change
from netkv.schemes import metric_table

Status = Literal["done", "failed", "cancelled"]
Phase = Literal["warmup", "measure", "drain", "verify"]
CANCELLED = "It was stopped before its end."
"""The reason of a cancelled run: the user stopped it (Ctrl-C, SIGTERM, the dashboard)."""


class Result(BaseModel):
    """Base of all result models: immutable, without unknown fields."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, json_schema_serialization_defaults_required=True
    )


def _described(names: Mapping[str, Value]) -> dict[str, Any]:
    """Metrics as properties of a JSON schema."""
    kinds = {bool: "boolean", int: "integer", float: "number"}
    found: dict[str, Any] = {}
    for name in names:
        kind = kinds.get(type(metric_table.get(name).absent))
        found[name] = {
            **({"type": kind} if kind else {"type": ["number", "boolean", "null"]}),
            "description": metric_table.get(name).meaning,
        }
    return found


class Measurements(Result):
    """Base of documents with metrics. A metric that is left out has its absent value.

    Unknown names are kept: they may be metrics of a scheme that is not installed any more.
    """

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra=lambda schema, model: schema["properties"].update(
            _described(model.metric_names())
        ),
    )
    __pydantic_extra__: dict[str, Value] = Field(init=False)

    @classmethod
    def metric_names(cls) -> Mapping[str, Value]:
        """The metrics of such a document, each with its absent value."""
        raise NotImplementedError

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: Any) -> Any:
        return {**cls.metric_names(), **data} if isinstance(data, dict) else data

    def values(self) -> dict[str, Value]:
        """All metrics by their names."""
        return dict(self.__pydantic_extra__)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


class Latency(Result):
    """Latency in microseconds, from the intended send time; None without completed requests."""

    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    p999: float | None = None


class RunSample(Measurements):
    """One interval (normally one second) of a run."""

    time: float
    """End of the interval, in seconds since the measured part began; negative in the warm-up."""
    phase: Phase
    interval: float
    """Seconds since the last sample. If there was none at its time, this one is longer."""
    latency_us: Latency = Latency()
    server_load: list[float | None] = []
    """Operations per second that each server served; None: it has not answered, and its operations
    are in a later interval."""
    control_plane_mib_per_s_by_switch: dict[str, float] = {}
    """Between each switch and its controller, both directions."""

    @classmethod
    def metric_names(cls) -> Mapping[str, Value]:
        """The metrics that exist over time."""
        return metric_table.sampled()


class RecoveryPhase(Result):
    """A phase of a recovery, named by its control plane."""

    name: str
    seconds: float


class RecoveryDetails(Result):
    """The recovery of a switch that had lost its state."""

    phases: list[RecoveryPhase]
    """In order."""
    counts: dict[str, int] = {}
    """Numbers of records, keys and bytes that it moved."""

    @classmethod
    def reported(
        cls, phases: Iterable[Sequence[Any]], counts: Mapping[str, int]
    ) -> RecoveryDetails:
        """The details of a control plane's report; a phase is a name and seconds."""
        found = [RecoveryPhase(name=name, seconds=seconds) for name, seconds in phases]
        return RecoveryDetails(phases=found, counts=dict(counts))


class RunEvent(Result):
    """An event of a run."""

    time: float
    """Seconds since the measured part began; negative before."""
    kind: str
    """`netkv.model.report.EventKind`."""
    node: str
    text: str
    recovery: RecoveryDetails | None = None
    """Details of an event `recovered`."""
    change: Change | None = None
    """Details of an event `fault`, `healed` or `load`."""


class Recovery(RecoveryDetails):
    """A recovery of a run."""

    at: float
    """End of the recovery, in seconds since the measured part began."""
    switch: str
    seconds: float
    """Duration of all phases."""

    @classmethod
    def of(cls, event: RunEvent) -> Recovery | None:
        """The recovery of an event `recovered`; None for other events."""
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
    """A recovery that was not completed."""

    switch: str
    began: float
    """In seconds since the measured part began."""
    ended: float | None = None
    """When it was interrupted; None: it was under way at the end of the run."""
    cut_by: str | None = None
    """The event that interrupted it: `controller killed`."""
    recovered: bool
    """Whether a later recovery of the switch was completed."""
    text: str
    """A description for users."""


class Provenance(Result):
    """Program, source revision and machine of a run; a repetition needs the same."""

    netkv_version: str
    source_revision: str | None = None
    """Commit of the checkout, with `+` if files differ from it; None for an installed wheel."""
    program: str
    program_hash: str
    host: dict[str, Any] = {}

    @property
    def uncommitted(self) -> bool:
        """Whether files differ from the revision, so that it does not identify the source."""
        return self.source_revision is not None and self.source_revision.endswith("+")


class HistoryRequest(Result):
    """A request, identified by client and number."""

    client: int
    """0 for the initial value of a key."""
    request: int


class HistoryOperation(Result):
    """One operation of a violation, as its client saw it."""

    client: int
    request: int
    what: Literal["put", "delete", "get"]
    writer: HistoryRequest | None = None
    """The write of the value: the operation itself, or the one whose value a get returned."""
    result: str
    """`ok`, `value`, `initial value`, `not found`, `value never written`, `refused`,
    `no answer`."""
    start_ns: int | None = None
    """When its first packet was sent, in nanoseconds of the load generator's clock."""
    end_ns: int | None = None
    """When it was answered; None without an answer, or if the time is no longer known."""


class Violation(Result):
    """Operations on one key that no order explains; without any of them there would be one."""

    key: str
    """32 hexadecimal digits."""
    kind: Literal["stale-read", "phantom-value", "refused-value", "lost-write", "not-linearizable"]
    text: str
    """A description for users; requests are named client/request."""
    operations: list[HistoryOperation]


class RunStart(Result):
    """The description of a run at its start."""

    id: str
    scenario: str
    title: str
    scheme: str
    params: dict[str, Any]
    """The sweep point of this run: path → value; empty without a sweep."""
    repeat: int
    """Number of the repeat, from 0."""
    seed: int
    mode: str = "live"
    target: str = "engine"
    started_at: float
    """Seconds since the epoch."""
    duration: float
    warmup: float
    parameters: dict[str, Any]
    """The scenario of this run (lab, workload and all other options), defaults included."""
    provenance: Provenance


class RunFigures(Measurements):
    """The figures of a run. A run that ended before its measured part has few of them."""

    latency_us: Latency = Latency()
    server_load: list[float] = []
    """Operations per second that each server served over the measured part."""
    violations: list[Violation] = []
    """The first reads that no history explains, each with the operations that prove it."""
    control_plane_mib_per_s_by_switch: dict[str, float] = {}
    recoveries: list[Recovery] = []
    """Completed recoveries of switches, in the order of their ends."""
    unfinished_recoveries: list[UnfinishedRecovery] = []
    """Recoveries that were not completed, in the order of their beginnings."""

    @classmethod
    def metric_names(cls) -> Mapping[str, Value]:
        """The metrics of whole runs."""
        return metric_table.recorded()

    def figures(self) -> dict[str, Any]:
        """All figures in the JSON form of the run store."""
        names = {*RunFigures.model_fields, *self.__pydantic_extra__}
        return self.model_dump(mode="json", include=names)


class RunIdentity(BaseModel):
    """The identity of a run; these fields come first in documents."""

    id: str
    scheme: str
    params: dict[str, Any] = {}
    """The sweep point of this run: path → value; empty without a sweep."""
    repeat: int = 0
    """Number of the repeat, from 0."""
    seed: int


_FIELD_SETS: dict[frozenset[str], set[str]] = {}
"""The sets of fields of results, of which there are few. Nobody changes them."""


class RunResult(RunFigures, RunIdentity):
    """A finished run."""

    def __setstate__(self, state: dict[Any, Any]) -> None:
        """Those of a large pool come from other processes and are kept until its end, so the names
        in them are shared: they take more memory than the values."""
        for part in ("__dict__", "__pydantic_extra__"):
            if state[part] is not None:
                state[part] = {sys.intern(name): value for name, value in state[part].items()}
        series = state["__dict__"].get("series", {})
        state["__dict__"]["series"] = {sys.intern(name): each for name, each in series.items()}
        names = frozenset(map(sys.intern, state["__pydantic_fields_set__"]))
        state["__pydantic_fields_set__"] = _FIELD_SETS.setdefault(names, set(names))
        super().__setstate__(state)

    status: Status
    reason: str | None = None
    """Why the run failed or was cancelled, as a sentence."""
    latency_histogram: str = ""
    """Mergeable HDR histogram (V2, deflated, base64) of nanoseconds over the measured part."""
    series: dict[str, list[Any]] = {}
    """Columns of equal length: `time`, `phase`, `latency_mean_us`, `latency_p99_us`, `server_load`
    (a list each), `control_plane_mib_per_s_by_switch` (a dictionary each), and each metric that
    exists over time."""
    events: list[RunEvent] = []
    finished_at: float | None = None
    """Seconds since the epoch; None for a simulated run, whose result must not depend on it."""


class Interval(Result):
    """Mean of repeats and half width of its 95% confidence interval (None from one repeat)."""

    mean: float
    ci95: float | None
    n: int


class OverRepeats(Result):
    """Base of documents with metrics over repeated runs, beside the declared fields.

    A metric that is averaged is an `Interval` or None. A sum, or a condition on all runs, is None
    if a run does not have the metric; a condition is False if any run fails it.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Interval | int | bool | None] = Field(init=False)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


class Summary(OverRepeats):
    """One scheme at one sweep point, over its repeats."""

    scheme: str
    params: dict[str, Any]
    not_recovered: int
    """Number of switches that were not recovered at the end of their runs."""
    recoveries_interrupted: int = 0
    """Number of unfinished recoveries of switches that a later one recovered."""
    failed: int
    """How many repeats failed."""
    cancelled: int = 0
    """How many repeats were cancelled; nothing of them is in the figures."""


class Threshold(Result):
    """The verdict on one `expect` line."""

    expr: str
    ok: bool
    value: float | None
    """The left side of the comparison, where it could be evaluated."""
    detail: str = ""
    """The comparison with its figures, or the reason why it is impossible."""


class StoreLoss(Result):
    """What of a scenario is not in the run store, because it could not be written."""

    reason: str
    runs: int
    """Runs whose result is not stored."""
    samples: int
    events: int


class ScenarioResult(Result):
    """The whole of `netkv scenario run --json`."""

    scenario: str
    title: str
    mode: str
    target: str
    seed: int
    runs: list[RunResult]
    """Of many runs, a sequence that unpacks each when it is asked for."""
    summary: list[Summary]
    thresholds: list[Threshold]
    warnings: list[str] = []
    """Why the load could not be served, or measured the machine, as sentences."""
    not_stored: StoreLoss | None = None
    """What the run store lacks; null if it has everything."""

    @property
    def ok(self) -> bool:
        """Every run succeeded and every threshold was met."""
        return all(r.status == "done" for r in self.runs) and all(t.ok for t in self.thresholds)


class RunSink(Protocol):
    """Stores runs while they happen. `plan` comes first; the calls for one run come in the order
    from `begin` to `finish`."""

    def plan(self, entries: Sequence[dict[str, Any]]) -> None:
        """Stores the planned runs in order: `scheme`, `params` and `repeat` of each."""

    def progress(self, document: dict[str, Any]) -> None:
        """Stores how far the scenario is (`netkv.scenarios.schedule.State.document`)."""

    def adopt(self, run_id: str) -> None:
        """Takes over a simulated run that is stored already."""

    def together(self) -> AbstractContextManager[None]:
        """What is stored within this context is stored at its end, at once."""

    def memory(self, run_id: str, peak: int) -> None:
        """Stores the most memory of the process that has executed a run, in bytes."""

    def begin(self, run: RunStart) -> None: ...
    def sample(self, run_id: str, sample: RunSample) -> None: ...
    def event(self, run_id: str, event: RunEvent) -> None: ...
    def finish(self, result: RunResult) -> None: ...
    def verdict(self, run_ids: list[str], thresholds: list[Threshold]) -> None: ...
