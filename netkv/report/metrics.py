"""What can be drawn of runs: names and units for axes, and where a run has the values.

Rates are operations per second, latencies microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netkv import schemes
from netkv.runs.records import RunRecord
from netkv.scenarios.plot import Metric
from netkv.scenarios.recovery import longest
from netkv.scenarios.results import MIB
from netkv.scenarios.thresholds import imbalance


@dataclass(frozen=True)
class Measure:
    """How an axis of a metric is called."""

    label: str
    unit: str = ""
    share: bool = False


MEASURES: dict[Metric, Measure] = {
    "throughput_ops": Measure("Throughput", "operations/s"),
    "hit_ratio": Measure("Hit ratio", share=True),
    "predicted_hit_ratio": Measure("Predicted hit ratio", share=True),
    "latency_us": Measure("Latency", "µs"),
    "latency_mean_us": Measure("Mean latency", "µs"),
    "latency_p50_us": Measure("Median latency", "µs"),
    "latency_p95_us": Measure("95th percentile latency", "µs"),
    "latency_p99_us": Measure("99th percentile latency", "µs"),
    "latency_p999_us": Measure("99.9th percentile latency", "µs"),
    "served_by": Measure("Throughput", "operations/s"),
    "server_load": Measure("Load", "operations/s"),
    "load_imbalance": Measure("Load of the busiest server over the mean"),
    "keys_per_s": Measure("Keys read", "keys/s"),
    "groups_per_request": Measure("Requests to servers for one"),
    "coordinator_utilization": Measure("Coordinator busy", share=True),
    "lost_ops": Measure("Lost operations"),
    "unknown": Measure("Writes given up as unknown"),
    "ignored": Measure("Ignored answers of a switch"),
    "preserved": Measure("Records that clients preserve"),
    "preserved_bytes": Measure("Preserved by clients", "bytes"),
    "cached": Measure("Cached records"),
    "control_plane_bytes_per_s": Measure("Control plane", "bytes/s"),
    "control_plane_mib_per_s": Measure("Control plane", "MiB/s"),
    "recovery_time": Measure("Recovery", "s"),
}
PERCENTILES = {"p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9"}
"""Of `latency_us`: field → what figures call it."""

_PEAKS = {"preserved": "preserved_peak", "preserved_bytes": "preserved_peak_bytes"}
"""What a run as a whole has in place of a value over time: the most at a time."""

_OPTIONS = {
    "workload.zipf": Measure("Zipf exponent"),
    "workload.writes": Measure("Writes", share=True),
    "workload.deletes": Measure("Deletes", share=True),
    "workload.value_size": Measure("Value size", "bytes"),
    "workload.keys": Measure("Keys"),
    "workload.key_size": Measure("Key size", "bytes"),
    "workload.multiget": Measure("Keys in a read"),
    "workload.multiget.mean": Measure("Keys in a read, on average"),
    "workload.mix": Measure("Workload"),
    "workload.arrivals.rate": Measure("Offered load", "operations/s"),
    "workload.arrivals.outstanding": Measure("Requests outstanding"),
    "lab.servers": Measure("Servers"),
    "lab.cache_entries": Measure("Cache size", "records"),
    "lab.service_rate": Measure("Rate of a server", "operations/s"),
}


def option(path: str) -> Measure:
    """How the axis of a swept option is called."""
    known = _OPTIONS.get(path)
    return known or Measure(path.rpartition(".")[2].replace("_", " ").capitalize() or path)


def of_run(run: RunRecord, metric: Metric) -> float | None:
    """The one value of a finished run; None if the run does not have it."""
    if metric.startswith("latency_"):
        return _number(getattr(run.latency_us, _field(metric), None))
    if metric == "cached":
        phases, cached = run.series.get("phase", []), run.series.get("cached", [])
        measured = [n for phase, n in zip(phases, cached, strict=False) if phase == "measure"]
        return _number(measured[-1]) if measured else None
    if metric in _PEAKS:
        return _number(getattr(run, _PEAKS[metric]))
    return _number(getattr(run, metric, None))


def percentile(run: RunRecord, name: str) -> float | None:
    """One of `PERCENTILES` of a run's latency."""
    return _number(getattr(run.latency_us, name, None))


def served(run: RunRecord) -> tuple[float | None, float | None]:
    """Throughput that the servers and the cache answered; None where the run does not tell.

    The servers count what they serve, writes as well, so the cache answered the rest. The hit ratio
    says the same of reads only: times the throughput it would credit the cache with writes.
    """
    if not run.server_load:
        return None, None
    if not _caches(run.scheme):
        return run.throughput_ops, 0.0
    servers = min(sum(run.server_load), run.throughput_ops)
    return servers, run.throughput_ops - servers


def phase(run: RunRecord, name: str) -> float | None:
    """Seconds of a phase of the longest recovery; None if that has no such phase."""
    found = longest(run.recoveries)
    spent = [each.seconds for each in found.phases if each.name == name] if found else []
    return sum(spent) if spent else None


def over_time(run: RunRecord, metric: Metric) -> list[float | None]:
    """A value for each interval of a run; empty if the run does not have the metric over time."""
    if metric == "load_imbalance":
        return [imbalance(load) for load in run.series.get("server_load", [])]
    if metric == "control_plane_mib_per_s":
        return [value / MIB for value in run.series.get("control_plane_bytes_per_s", [])]
    column: Sequence[Any] = run.series.get(metric, [])
    return [_number(value) for value in column]


def _caches(scheme: str) -> bool:
    known = {each.name: each.caches for each in schemes.all_schemes()}
    return known.get(scheme, True)


def _field(metric: str) -> str:
    return metric.removeprefix("latency_").removesuffix("_us")


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
