"""Collects the figures of a run from the samples of its rack."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from netkv import schemes
from netkv._engine import Histogram
from netkv.metrics import Value
from netkv.metrics.common import MIB
from netkv.model.report import RackEvent, RackSample
from netkv.scenarios import recovery
from netkv.scenarios.histogram import latency
from netkv.scenarios.results import (
    CANCELLED,
    Latency,
    Phase,
    Recovery,
    RecoveryDetails,
    RunEvent,
    RunResult,
    RunSample,
    RunStart,
    Status,
)
from netkv.scenarios.rotation import WholeRack
from netkv.schemes import metric_table

_LATENCIES = {"latency_mean_us": "mean", "latency_p99_us": "p99"}
"""Columns of the series that have a part of the latency."""
_COLUMNS = ("phase", "interval", "server_load", "control_plane_mib_per_s_by_switch")
"""Columns of the series in addition to the time, the sampled metrics and the latency."""


def columns() -> tuple[str, ...]:
    """The columns of the series of a result."""
    return *_COLUMNS, *metric_table.sampled(), "time", *_LATENCIES


class Collector:
    """Accumulates the figures of one run."""

    def __init__(self, run: RunStart) -> None:
        self._run = run
        self._histogram = Histogram()
        self._measured = 0.0
        """Length of the measured part so far, in seconds."""
        self._rack_seconds = 0.0
        """As measured by the rack, whose clock may differ from that of the load generator."""
        scheme = schemes.get(run.scheme)
        self._metrics = metric_table.of_scheme(scheme)
        self._totals: dict[str, Any] = dict.fromkeys(each.name for each in self._metrics)
        """Accumulated samples of each metric (`Source.fold`)."""
        self._served = [0] * int(run.parameters["lab"]["servers"])
        self._control_bytes: Counter[str] = Counter()
        """Bytes between each switch and its controller."""
        self._violations: list[Any] = []
        """The last report of the history checker."""
        self._series: dict[str, list[Any]] = {name: [] for name in columns()}
        """The series of warm-up and measured part, which grow with the length of the run. They are
        columns, since a model for each interval takes several times the memory."""
        self._events: list[tuple[float, RunEvent]] = []
        """Events, each with its time on the rack's clock. Their own times are relative to `epoch`,
        which is an estimate during the warm-up."""
        self.epoch = (time.time() if run.mode == "live" else 0.0) + run.warmup
        """Beginning of the measured part on the rack's clock; before it begins, an estimate."""
        self.stated: dict[str, Value] = {}
        """Metrics that the runner determines (`Stated`), by name."""
        self.whole_rack: WholeRack | None = None
        """What the rack does by the turns of its servers, if they took turns."""

    @property
    def run_id(self) -> str:
        """Id of the run."""
        return self._run.id

    def event(self, event: RackEvent) -> RunEvent:
        """Adds an event of the rack."""
        added = RunEvent(
            time=self._since_epoch(event.time),
            kind=event.kind,
            node=event.node,
            text=event.text,
            recovery=_details(event),
            change=event.change,
        )
        self._events.append((event.time, added))
        return added

    def _since_epoch(self, when: float) -> float:
        """The time of an event, to nanoseconds: an epoch that was known earlier may differ in the
        last digit, and the stored event is the same then."""
        return round(when - self.epoch, 9)

    def sample(self, phase: Phase, sample: RackSample, time: float | None = None) -> RunSample:
        """Adds a sample of the rack, of any phase; each metric's source selects its phases.

        `time`: the end of its interval, in seconds since the measured part began; None: when it was
        taken.
        """
        client = sample.client
        # Without a load generator that runs, the time passes nevertheless.
        interval = client.interval or sample.interval
        self.fold(phase, sample)
        by_switch = sample.control_plane_bytes_by_switch
        if phase == "measure":
            self._measured += interval
            self._rack_seconds += sample.interval
            self._histogram.add(Histogram(client.latency))
            self._control_bytes.update(by_switch)
            for server, served in enumerate(sample.server_served):
                self._served[server] += served
        values = {
            each.name: each.source.of_interval(sample) for each in self._metrics if each.sampled
        }
        added = RunSample(
            time=sample.time - self.epoch if time is None else time,
            phase=phase,
            interval=interval,
            latency_us=_latency(sample.client_statistics),
            server_load=[
                None if server in sample.silent_servers else load
                for server, load in enumerate(sample.server_load)
            ],
            control_plane_mib_per_s_by_switch=_rates(by_switch, sample.interval),
            **values,
        )
        if phase in ("warmup", "measure"):
            for name, column in self._series.items():
                column.append(_value(added, name))
        return added

    def fold(self, phase: Phase, sample: RackSample) -> None:
        """Counts a sample of which the series has no row."""
        for metric in self._metrics:
            self._totals[metric.name] = metric.source.fold(self._totals[metric.name], phase, sample)
        self._violations = sample.client_statistics.get("violations", self._violations)

    def result(self, reason: str | None) -> RunResult:
        """The result of the run; `reason`: why it failed, `CANCELLED`, or None for success."""
        histogram = self._histogram if self.whole_rack is None else self.whole_rack.latency
        events = [
            event.model_copy(update={"time": self._since_epoch(when)})
            for when, event in self._events
        ]
        return RunResult(
            id=self._run.id,
            scheme=self._run.scheme,
            params=self._run.params,
            repeat=self._run.repeat,
            seed=self._run.seed,
            status=_status(reason),
            reason=reason,
            latency_us=latency(histogram),
            server_load=self._server_load(),
            violations=self._violations,
            control_plane_mib_per_s_by_switch=_rates(self._control_bytes, self._rack_seconds),
            recoveries=[found for event in events if (found := Recovery.of(event)) is not None],
            unfinished_recoveries=recovery.unfinished(events),
            latency_histogram=histogram.encode(),
            series={name: list(column) for name, column in self._series.items()},
            events=events,
            finished_at=time.time() if self._run.mode == "live" else None,
            **self._values(),
        )

    def _server_load(self) -> list[float]:
        if self.whole_rack is not None:
            return self.whole_rack.server_load
        seconds = self._measured
        return [served / seconds if seconds else 0.0 for served in self._served]

    def _values(self) -> dict[str, Value]:
        """The recorded metrics that this run has."""
        values = {
            each.name: each.source.of_run(self._totals[each.name])
            for each in self._metrics
            if each.recorded
        }
        known = {name: value for name, value in values.items() if value is not None}
        if self.whole_rack is not None:
            whole = self.whole_rack.throughput
            plain = known["throughput_ops"]
            known["requests_ops"] = known["requests_ops"] * whole / plain
            known["throughput_ops"] = whole
        return {**known, **self.stated}


def _value(sample: RunSample, name: str) -> Any:
    """The value of a column."""
    if name in _LATENCIES:
        return getattr(sample.latency_us, _LATENCIES[name])
    value = getattr(sample, name)
    # Most counts are 0 most of the time: one object for all of them.
    return 0.0 if value == 0 and isinstance(value, float) else value


def _status(reason: str | None) -> Status:
    if reason is None:
        return "done"
    return "cancelled" if reason == CANCELLED else "failed"


def _details(event: RackEvent) -> RecoveryDetails | None:
    found = event.recovered
    return None if found is None else RecoveryDetails.reported(found.phases, found.counts)


def _rates(count: Mapping[str, int], seconds: float) -> dict[str, float]:
    """MiB per second of each switch, from its bytes."""
    return {name: n / MIB / seconds if seconds > 0 else 0.0 for name, n in sorted(count.items())}


def _latency(statistics: dict[str, Any]) -> Latency:
    nanoseconds = statistics.get("latency_ns")
    if not nanoseconds or not statistics.get("completed"):
        return Latency()
    names = ("mean", "p50", "p95", "p99", "p999")
    return Latency(**{name: nanoseconds[name] / 1000 for name in names})
