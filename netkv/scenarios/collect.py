"""From a rack's samples to the figures of a run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from netkv import schemes
from netkv.lab.report import RackEvent, RackSample
from netkv.scenarios import recovery
from netkv.scenarios.histogram import Histogram
from netkv.scenarios.results import (
    MIB,
    Latency,
    Phase,
    Recovery,
    RecoveryDetails,
    RecoveryPhase,
    RunEvent,
    RunResult,
    RunSample,
    RunStart,
)

_COLUMNS = (
    "phase",
    "throughput_ops",
    "hit_ratio",
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

_LOSS = ("lost", "retries", "unknown", "ignored", "stale_reads", "phantom_reads")

_HISTORY = ("linearizable", "checked_ops", "unchecked_keys", "violation_count", "violations")
"""What a sample of the load generator says of everything since its start."""


class Collector:
    """Adds up one run."""

    def __init__(self, run: RunStart) -> None:
        self._run = run
        self._histogram = Histogram()
        self._measured = 0.0
        """Seconds."""
        self._counts = {"completed": 0, "reads": 0, "hits": 0, "keys_read": 0, "groups": 0}
        self._busy: list[tuple[float, float]] = []
        """Seconds that workers of the coordinator were busy, and that there were."""
        self._split = 0
        """Requests to servers that the coordinator made of others."""
        self._multigets = schemes.get(run.scheme).multigets
        self._loss = dict.fromkeys(_LOSS, 0)
        self._dropped = {"control_dropped": 0, "reports_dropped": 0}
        self._preserved = {"preserved_peak": 0, "preserved_peak_bytes": 0}
        self._served = [0.0] * int(run.parameters["lab"]["servers"])
        self._control_bytes: Counter[str] = Counter()
        """By switch."""
        self._samples: list[tuple[float, RunSample]] = []
        """With the time on the rack's clock: what is told in the warm-up has forecast times."""
        self._events: list[tuple[float, RunEvent]] = []
        self.epoch = (time.time() if run.mode == "live" else 0.0) + run.warmup
        """When the measured part began, on the clock of the rack; a forecast until it has."""
        self.predicted_hit_ratio: float | None = None
        self.acked_writes_lost: int | None = None
        self._history: dict[str, Any] = {}
        """What the history checker said last."""

    def event(self, event: RackEvent) -> RunEvent:
        """Takes an event of the rack."""
        told = RunEvent(
            time=event.time - self.epoch,
            kind=event.kind,
            node=event.node,
            text=event.text,
            recovery=_details(event),
        )
        self._events.append((event.time, told))
        return told

    def sample(self, phase: Phase, sample: RackSample) -> RunSample:
        """Takes a sample of the rack; figures come from the measured part, faults from all."""
        client = sample.client
        for name in self._loss:
            # What is lost or retried before the measured part belongs to the warm-up; a read that
            # is wrong is wrong whenever it happens.
            if phase != "warmup" or name.endswith("_reads"):
                self._loss[name] += int(getattr(client, name))
        for name in self._dropped:
            self._dropped[name] += int(getattr(sample, name))
        for name, most in self._preserved.items():
            # A process that was started again counts anew.
            self._preserved[name] = max(most, int(getattr(client, name)))
        statistics = sample.client_statistics
        self._history = {
            name: statistics.get(name, self._history.get(name))
            for name in _HISTORY
            if name in statistics or name in self._history
        }
        if phase == "measure":
            self._measured += client.interval
            for name in self._counts:
                self._counts[name] += int(getattr(client, name))
            if (worked := sample.coordinator) is not None:
                self._busy.append((worked.busy, worked.interval * worked.workers))
                self._split += worked.groups
            self._histogram.add(client.latency)
            self._control_bytes.update(sample.control_plane_bytes_by_switch)
            for server, load in enumerate(sample.server_load):
                self._served[server] += load * client.interval
        by_switch = sample.control_plane_bytes_by_switch
        told = RunSample(
            time=sample.time - self.epoch,
            phase=phase,
            interval=client.interval,
            throughput_ops=client.throughput,
            hit_ratio=None if self._multigets else client.hit_ratio,
            latency_us=_latency(sample.client_statistics),
            server_load=list(sample.server_load),
            lost_ops=client.lost,
            retries=client.retries,
            stale_reads=client.stale_reads,
            unknown=client.unknown,
            ignored=client.ignored,
            preserved=client.preserved,
            preserved_bytes=client.preserved_bytes,
            cached=sample.cached,
            control_plane_bytes_per_s=(
                sample.control_plane_bytes / client.interval if client.interval > 0 else 0.0
            ),
            control_plane_mib_per_s_by_switch=_rates(by_switch, client.interval),
        )
        if phase in ("warmup", "measure"):
            self._samples.append((sample.time, told))
        return told

    def result(self, reason: str | None) -> RunResult:
        """The run's figures; `reason` says why it failed, None that it did not."""
        seconds = self._measured
        reads = self._counts["reads"]
        bytes_per_s = self._control_bytes.total() / seconds if seconds else 0.0
        events = [
            event.model_copy(update={"time": when - self.epoch}) for when, event in self._events
        ]
        return RunResult(
            id=self._run.id,
            scheme=self._run.scheme,
            params=self._run.params,
            repeat=self._run.repeat,
            seed=self._run.seed,
            status="done" if reason is None else "failed",
            reason=reason,
            throughput_ops=self._counts["completed"] / seconds if seconds else 0.0,
            latency_us=self._histogram.latency(),
            hit_ratio=self._counts["hits"] / reads if reads and not self._multigets else None,
            predicted_hit_ratio=self.predicted_hit_ratio,
            server_load=[served / seconds if seconds else 0.0 for served in self._served],
            keys_per_s=self._per_second("keys_read"),
            groups_per_request=self._groups_per_request(),
            coordinator_utilization=self._coordinator_utilization(),
            completed_ops=self._counts["completed"],
            lost_ops=self._loss["lost"],
            retries=self._loss["retries"],
            unknown=self._loss["unknown"],
            ignored=self._loss["ignored"],
            preserved_peak=self._preserved["preserved_peak"],
            preserved_peak_bytes=self._preserved["preserved_peak_bytes"],
            acked_writes_lost=self.acked_writes_lost,
            stale_reads=self._loss["stale_reads"],
            phantom_reads=self._loss["phantom_reads"],
            **self._history,
            control_plane_bytes_per_s=bytes_per_s,
            control_plane_mib_per_s=bytes_per_s / MIB,
            control_plane_mib_per_s_by_switch=_rates(self._control_bytes, seconds),
            recoveries=[found for event in events if (found := Recovery.of(event)) is not None],
            unfinished_recoveries=recovery.unfinished(events),
            control_dropped=self._dropped["control_dropped"],
            reports_dropped=self._dropped["reports_dropped"],
            latency_histogram=self._histogram.encode(),
            series=self._series(),
            events=events,
            finished_at=time.time() if self._run.mode == "live" else None,
        )

    def _per_second(self, name: str) -> float | None:
        if not self._multigets:
            return None
        return self._counts[name] / self._measured if self._measured else 0.0

    def _groups_per_request(self) -> float | None:
        done = self._counts["completed"]
        if not self._multigets or not done:
            return None
        return (self._split or self._counts["groups"]) / done

    def _coordinator_utilization(self) -> float | None:
        there = sum(whole for _, whole in self._busy)
        return min(sum(busy for busy, _ in self._busy) / there, 1.0) if there else None

    def _series(self) -> dict[str, list[Any]]:
        samples = [sample for _, sample in self._samples]
        columns: dict[str, list[Any]] = {
            name: [getattr(sample, name) for sample in samples] for name in _COLUMNS
        }
        columns["time"] = [when - self.epoch for when, _ in self._samples]
        columns["latency_mean_us"] = [sample.latency_us.mean for sample in samples]
        columns["latency_p99_us"] = [sample.latency_us.p99 for sample in samples]
        return columns


def _details(event: RackEvent) -> RecoveryDetails | None:
    found = event.recovered
    if found is None:
        return None
    phases = [RecoveryPhase(name=name, seconds=seconds) for name, seconds in found.phases]
    return RecoveryDetails(phases=phases, counts=dict(found.counts))


def _rates(count: Mapping[str, int], seconds: float) -> dict[str, float]:
    """MiB per second, of bytes by switch."""
    return {name: n / MIB / seconds if seconds > 0 else 0.0 for name, n in sorted(count.items())}


def _latency(statistics: dict[str, Any]) -> Latency:
    nanoseconds = statistics.get("latency_ns")
    if not nanoseconds or not statistics.get("completed"):
        return Latency()
    names = ("mean", "p50", "p95", "p99", "p999")
    return Latency(**{name: nanoseconds[name] / 1000 for name in names})
