"""Metrics in figures: labels and units of axes, and the values of runs.

Rates are operations per second, latencies microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from netkv import schemes
from netkv.metrics.metric import AT_LEAST_ONE, SHARE, TRUTH
from netkv.runs.records import RunRecord
from netkv.scenarios import values
from netkv.scenarios.plot import drawable
from netkv.scenarios.recovery import longest
from netkv.schemes import metric_table


@dataclass(frozen=True)
class Measure:
    """Label and unit of an axis."""

    label: str
    unit: str = ""
    share: bool = False


PERCENTILES = {"p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9"}
"""Field of `latency_us` → its name in figures."""

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
    """Label and unit of the axis of a metric, without a unit that the label contains."""
    shown = drawable()[name]
    plain = shown.unit not in (SHARE, AT_LEAST_ONE, TRUTH) and shown.unit not in shown.label.lower()
    return Measure(shown.label, shown.unit if plain else "", share=shown.unit == SHARE)


def option(path: str) -> Measure:
    """Label and unit of the axis of a swept option."""
    known = _OPTIONS.get(path)
    return known or Measure(path.rpartition(".")[2].replace("_", " ").capitalize() or path)


def of_run(run: RunRecord, name: str) -> float | None:
    """A metric of a whole run; None if the run does not have it or it is not shown."""
    return (
        values.of_run(metric_table.get(name), run)
        if metric_table.is_shown(name, run.scheme)
        else None
    )


def percentile(run: RunRecord, name: str) -> float | None:
    """A percentile of a run's latency, by its name in `PERCENTILES`."""
    return _number(getattr(run.latency_us, name, None))


def served(run: RunRecord) -> tuple[float | None, float | None]:
    """Throughput of the servers and of the cache; None if the run does not have them.

    Servers count all operations that they serve, so the cache served the rest. The hit ratio is not
    used, because it is about reads only, and the throughput includes writes.
    """
    if not run.server_load:
        return None, None
    if not _caches(run.scheme):
        return run.throughput_ops, 0.0
    servers = min(sum(run.server_load), run.throughput_ops)
    return servers, run.throughput_ops - servers


def phase(run: RunRecord, name: str) -> float | None:
    """Seconds of a phase of the longest recovery; None if it has no such phase."""
    found = longest(run.recoveries)
    spent = [each.seconds for each in found.phases if each.name == name] if found else []
    return sum(spent) if spent else None


def over_time(run: RunRecord, name: str) -> list[float | None]:
    """A metric for each interval of a run; empty if the run does not have it over time, or it is
    not shown."""
    return (
        values.over_time(metric_table.get(name), run)
        if metric_table.is_shown(name, run.scheme)
        else []
    )


def _caches(scheme: str) -> bool:
    known = {each.name: each.traits.caches for each in schemes.all_schemes()}
    return known.get(scheme, True)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
