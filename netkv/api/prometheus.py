"""The metrics of Prometheus: their names, types and labels (docs/use/api-labs.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from netkv import __version__
from netkv.api.models.jobs import ACTIVE, Job
from netkv.api.models.labs import LabState, LabUpdate
from netkv.metrics.drops import NODE_DROPS
from netkv.scenarios.results import Status

_LAB = ("lab", "scheme")
_QUANTILES = {"0.5": "p50", "0.95": "p95", "0.99": "p99", "0.999": "p999"}
_OPERATIONS = {"read": "reads", "write": "writes"}


@dataclass(frozen=True, eq=False)
class Snapshot(Collector):
    """What one answer of `/metrics` is made of."""

    labs: Sequence[tuple[LabUpdate, Mapping[str, Any]]]
    """Each lab and its totals (`netkv.live.totals`), empty if it has not answered yet."""
    runs: Mapping[str, int] = field(default_factory=dict)
    """Number of stored runs by status."""
    jobs: Sequence[Job] = ()
    """Active jobs."""

    def collect(self) -> Iterator[Metric]:
        """All metrics."""
        yield _gauge("netkv_build_info", "Version of netkv.", ["version"], {(__version__,): 1})
        statuses: dict[tuple[str, ...], float] = {
            (status,): self.runs.get(status, 0) for status in ("running", *get_args(Status))
        }
        yield _gauge("netkv_runs", "Stored runs.", ["status"], statuses)
        states: dict[tuple[str, ...], float] = {(state,): 0 for state in sorted(ACTIVE)}
        for job in self.jobs:
            states[job.state,] += 1
        yield _gauge("netkv_jobs", "Jobs that are queued or in progress.", ["state"], states)
        yield from self._states()
        yield from self._gauges()
        yield from self._counters()

    def _states(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "netkv_lab_state", "1 for the state that the lab is in.", labels=[*_LAB, "state"]
        )
        nodes = GaugeMetricFamily(
            "netkv_lab_node_up", "Whether a node of the lab runs.", labels=[*_LAB, "node"]
        )
        for lab, _ in self.labs:
            for state in get_args(LabState):
                family.add_metric([*_of(lab), state], lab.state == state)
            for node, running in lab.running.items():
                nodes.add_metric([*_of(lab), node], running)
        yield family
        yield nodes

    def _gauges(self) -> Iterator[Metric]:
        """Values of the newest sample of each lab, which is about a second long."""
        throughput = GaugeMetricFamily(
            "netkv_lab_operations_per_second",
            "Completed operations of the load generator in the last second.",
            labels=_LAB,
        )
        ratio = GaugeMetricFamily(
            "netkv_lab_hit_ratio",
            "Share of the reads of load generator and programs that switches or cards answered.",
            labels=_LAB,
        )
        latency = GaugeMetricFamily(
            "netkv_lab_latency_seconds",
            "Latency of the load generator's operations in the last second.",
            labels=[*_LAB, "quantile"],
        )
        cached = GaugeMetricFamily(
            "netkv_lab_cached_entries",
            "Records that are cached, as the controller knows; while it is down, as it knew last.",
            labels=_LAB,
        )
        own = GaugeMetricFamily(
            "netkv_lab_metric",
            "A metric that only the lab's scheme has, in the last second.",
            labels=[*_LAB, "metric"],
        )
        for lab, _ in self.labs:
            if not lab.samples:
                continue
            sample = lab.samples[-1]
            for metric in sample.metrics:
                if metric.value is not None:
                    own.add_metric([*_of(lab), metric.name], metric.value)
            throughput.add_metric(_of(lab), sample.throughput)
            cached.add_metric(_of(lab), sample.cached)
            if sample.hit_ratio is not None:
                ratio.add_metric(_of(lab), sample.hit_ratio)
            if sample.latency_us is not None:
                for quantile, name in _QUANTILES.items():
                    value = getattr(sample.latency_us, name) / 1e6
                    latency.add_metric([*_of(lab), quantile], value)
        yield from (throughput, ratio, latency, cached, own)

    def _counters(self) -> Iterator[Metric]:
        """Counts since each lab came up, up to its newest sample."""
        operations = _counter("operations", "Operations of the load generator.", "operation")
        hits = _counter("hits", "Its reads that switches or cards answered.")
        lost = _counter("lost", "Its operations without an answer by their deadline.")
        retries = _counter("retries", "Its retransmissions.")
        served = _counter("server_operations", "Operations that a server served.", "server")
        refused = _counter("server_dropped", "Requests that a server's queue refused.", "server")
        frames = _counter("frames", "Frames of a node, by direction.", "node", "direction")
        octets = _counter("bytes", "Bytes of a switch, by direction.", "node", "direction")
        at_port = ("node", "port", "direction")
        port_frames = _counter("port_frames", "Frames at a port of a switch.", *at_port)
        port_bytes = _counter("port_bytes", "Bytes at a port of a switch.", *at_port)
        drops = _counter("drops", "Frames and messages that a node dropped.", "node", "reason")
        corrupted = _counter("corrupted_frames", "Frames that a node's links corrupted.", "node")
        control = _counter("control_plane_bytes", "Bytes between controller and switch.", "node")
        for lab, totals in self.labs:
            if not totals:
                continue
            client = totals["client"]
            for name, counter in _OPERATIONS.items():
                operations.add_metric([*_of(lab), name], client.get(counter, 0))
            for family, counter in ((hits, "hits"), (lost, "lost"), (retries, "retries")):
                family.add_metric(_of(lab), client.get(counter, 0))
            for server, counts in totals["servers"].items():
                served.add_metric([*_of(lab), server], counts.get("served", 0))
                refused.add_metric([*_of(lab), server], counts.get("dropped", 0))
            for node, counts in totals["nodes"].items():
                for direction in ("received", "sent"):
                    place = [*_of(lab), node, direction]
                    if direction in counts:
                        frames.add_metric(place, counts[direction])
                    if f"{direction}_bytes" in counts:
                        octets.add_metric(place, counts[f"{direction}_bytes"])
                if "links_corrupted" in counts:
                    corrupted.add_metric([*_of(lab), node], counts["links_corrupted"])
                for reason in NODE_DROPS:
                    if reason in counts:
                        drops.add_metric([*_of(lab), node, reason], counts[reason])
            for node, ports in totals["ports"].items():
                for port, counts in ports.items():
                    for direction in ("received", "sent"):
                        place = [*_of(lab), node, port, direction]
                        port_frames.add_metric(place, counts[direction])
                        port_bytes.add_metric(place, counts[f"{direction}_bytes"])
            for switch, count in totals["control_plane_bytes"].items():
                control.add_metric([*_of(lab), switch], count)
        yield from (operations, hits, lost, retries, served, refused)
        yield from (frames, octets, port_frames, port_bytes, drops, corrupted, control)


def _of(lab: LabUpdate) -> list[str]:
    return [lab.name, lab.scheme]


def _gauge(
    name: str, text: str, labels: Sequence[str], values: Mapping[tuple[str, ...], float]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _counter(name: str, text: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(f"netkv_lab_{name}", text, labels=[*_LAB, *labels])
