"""Collects the figures of a run from the samples of its rack."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from netkv import metrics, schemes
from netkv.metrics import Value
from netkv.metrics.common import MIB
from netkv.rack.report import RackEvent, RackSample
from netkv.scenarios import recovery
from netkv.scenarios.histogram import Histogram
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

_COLUMNS = ("phase", "server_load", "control_plane_mib_per_s_by_switch")
"""Columns of the series in addition to the sampled metrics."""


class Collector:
    """Accumulates the figures of one run."""

    def __init__(self, run: RunStart) -> None:
        self._run = run
        self._histogram = Histogram()
        self._measured = 0.0
        """Length of the measured part so far, in seconds."""
        scheme = schemes.get(run.scheme)
        self._metrics = metrics.of_scheme(scheme)
        self._totals: dict[str, Any] = dict.fromkeys(each.name for each in self._metrics)
        """Accumulated samples of each metric (`Source.fold`)."""
        self._served = [0.0] * int(run.parameters["lab"]["servers"])
        self._control_bytes: Counter[str] = Counter()
        """Bytes between each switch and its controller."""
        self._violations: list[Any] = []
        """The last report of the history checker."""
        self._samples: list[tuple[float, RunSample]] = []
        """Samples, each with its time on the rack's clock. Their own times are relative to `epoch`,
        which is an estimate during the warm-up."""
        self._events: list[tuple[float, RunEvent]] = []
        """Events, likewise."""
        self.epoch = (time.time() if run.mode == "live" else 0.0) + run.warmup
        """Beginning of the measured part on the rack's clock; before it begins, an estimate."""
        self.stated: dict[str, Value] = {}
        """Metrics that the runner determines (`Stated`), by name."""

    @property
    def run_id(self) -> str:
        """Id of the run."""
        return self._run.id

    def event(self, event: RackEvent) -> RunEvent:
        """Adds an event of the rack."""
        added = RunEvent(
            time=event.time - self.epoch,
            kind=event.kind,
            node=event.node,
            text=event.text,
            recovery=_details(event),
            change=event.change,
        )
        self._events.append((event.time, added))
        return added

    def sample(self, phase: Phase, sample: RackSample) -> RunSample:
        """Adds a sample of the rack, of any phase; each metric's source selects its phases."""
        client = sample.client
        for metric in self._metrics:
            self._totals[metric.name] = metric.source.fold(self._totals[metric.name], phase, sample)
        self._violations = sample.client_statistics.get("violations", self._violations)
        by_switch = sample.control_plane_bytes_by_switch
        if phase == "measure":
            self._measured += client.interval
            self._histogram.add(client.latency)
            self._control_bytes.update(by_switch)
            for server, load in enumerate(sample.server_load):
                self._served[server] += load * client.interval
        values = {
            each.name: each.source.of_interval(sample) for each in self._metrics if each.sampled
        }
        added = RunSample(
            time=sample.time - self.epoch,
            phase=phase,
            interval=client.interval,
            latency_us=_latency(sample.client_statistics),
            server_load=list(sample.server_load),
            control_plane_mib_per_s_by_switch=_rates(by_switch, client.interval),
            **values,
        )
        if phase in ("warmup", "measure"):
            self._samples.append((sample.time, added))
        return added

    def result(self, reason: str | None) -> RunResult:
        """The result of the run; `reason`: why it failed, `CANCELLED`, or None for success."""
        seconds = self._measured
        events = [
            event.model_copy(update={"time": when - self.epoch}) for when, event in self._events
        ]
        return RunResult(
            id=self._run.id,
            scheme=self._run.scheme,
            params=self._run.params,
            repeat=self._run.repeat,
            seed=self._run.seed,
            status=_status(reason),
            reason=reason,
            latency_us=self._histogram.latency(),
            server_load=[served / seconds if seconds else 0.0 for served in self._served],
            violations=self._violations,
            control_plane_mib_per_s_by_switch=_rates(self._control_bytes, seconds),
            recoveries=[found for event in events if (found := Recovery.of(event)) is not None],
            unfinished_recoveries=recovery.unfinished(events),
            latency_histogram=self._histogram.encode(),
            series=self._series(),
            events=events,
            finished_at=time.time() if self._run.mode == "live" else None,
            **self._values(),
        )

    def _values(self) -> dict[str, Value]:
        """The recorded metrics that this run has."""
        values = {
            each.name: each.source.of_run(self._totals[each.name])
            for each in self._metrics
            if each.recorded
        }
        known = {name: value for name, value in values.items() if value is not None}
        return {**known, **self.stated}

    def _series(self) -> dict[str, list[Any]]:
        samples = [sample for _, sample in self._samples]
        columns: dict[str, list[Any]] = {
            name: [getattr(sample, name) for sample in samples]
            for name in (*_COLUMNS, *metrics.sampled())
        }
        columns["time"] = [when - self.epoch for when, _ in self._samples]
        columns["latency_mean_us"] = [sample.latency_us.mean for sample in samples]
        columns["latency_p99_us"] = [sample.latency_us.p99 for sample in samples]
        return columns


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
