"""Metrics in figures: names and units for axes, and the values of a run.

Rates are operations per second, latencies microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from netkv import metrics, schemes
from netkv.metrics.metric import AT_LEAST_ONE, SHARE, TRUTH
from netkv.runs.records import RunRecord
from netkv.scenarios import values
from netkv.scenarios.plot import drawable
from netkv.scenarios.recovery import longest


@dataclass(frozen=True)
class Measure:
    """How an axis of a metric is called."""

    label: str
    unit: str = ""
    share: bool = False


PERCENTILES = {"p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9"}
"""Of `latency_us`: field → what figures call it."""

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


def measure(name: str) -> Measure:
    """How the axis of a figure is called; a unit that its label has is not repeated."""
    shown = drawable()[name]
    plain = shown.unit not in (SHARE, AT_LEAST_ONE, TRUTH) and shown.unit not in shown.label.lower()
    return Measure(shown.label, shown.unit if plain else "", share=shown.unit == SHARE)


def option(path: str) -> Measure:
    """How the axis of a swept option is called."""
    known = _OPTIONS.get(path)
    return known or Measure(path.rpartition(".")[2].replace("_", " ").capitalize() or path)


def of_run(run: RunRecord, name: str) -> float | None:
    """The one value of a finished run; None if the run does not have it, or it is not shown."""
    return values.of_run(metrics.get(name), run) if metrics.is_shown(name, run.scheme) else None


def percentile(run: RunRecord, name: str) -> float | None:
    """One of `PERCENTILES` of a run's latency."""
    return _number(getattr(run.latency_us, name, None))


def served(run: RunRecord) -> tuple[float | None, float | None]:
    """Throughput that the servers and the cache answered; None where the run does not have it.

    The servers count what they serve, writes as well, so the cache answered the rest. The hit ratio
    is the same for reads only: times the throughput it would credit the cache with writes.
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


def over_time(run: RunRecord, name: str) -> list[float | None]:
    """A value for each interval of a run; empty if the run does not have the metric over time, or
    it is not shown."""
    return values.over_time(metrics.get(name), run) if metrics.is_shown(name, run.scheme) else []


def _caches(scheme: str) -> bool:
    known = {each.name: each.caches for each in schemes.all_schemes()}
    return known.get(scheme, True)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
