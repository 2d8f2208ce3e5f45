"""Comparison of runs: means over repeats, ratios to a baseline, and differing settings.

A row contains all runs with the same settings. Its figures are means over the repeats with the half
width of their 95% confidence interval (Student's t). The interval of a ratio combines the relative
half widths of both means in quadrature, which is valid for independent means with a small relative
spread. `netkv.runs.baseline` chooses the baseline.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import Field

from netkv.runs.baseline import choose
from netkv.runs.records import RunRecord
from netkv.scenarios.recovery import interrupted, longest, not_recovered
from netkv.scenarios.results import Interval, OverRepeats, Result
from netkv.scenarios.statistics import interval, over_repeats
from netkv.schemes import metric_table

NOT_SETTINGS = frozenset(
    {"schemes", "seed", "repeat", "sweep", "expect", "plots", "title", "description", "name"}
)
"""Parts of a scenario that do not affect a single run."""


class ComparedRow(OverRepeats):
    """Runs with the same settings. Rates in operations per second, latencies in microseconds."""

    scenario: str
    scheme: str
    params: dict[str, Any]
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings in which the compared runs differ: path → value."""
    runs: list[str]
    failed: int
    cancelled: int = 0
    """How many of the runs the user cancelled."""
    ratio: Interval | None
    """Throughput divided by that of the baseline; None if one of them is unknown."""
    relative_to: str | None
    """The first run of the row that `ratio` is relative to; None if there is none."""
    baseline: bool
    """Whether the row is its own baseline."""
    recovery_phases: dict[str, Interval] = Field(default_factory=dict)
    """Mean seconds of each phase of the longest recoveries, in order."""
    recoveries_interrupted: int = 0
    """Recoveries of successful runs that were interrupted, but followed by a completed one."""
    not_recovered: int = 0
    """Switches that were not recovered by the end of their runs, failed runs included."""


class Comparison(Result):
    """The result of `netkv runs compare`."""

    rows: list[ComparedRow]
    baseline: str | None
    """The baseline scheme of all ratios; None if there is not exactly one."""
    note: str
    """Sentences: the baseline of the ratios and the reason. Empty without a comparison."""


def compare(records: Sequence[RunRecord], baseline: str | None = None) -> Comparison:
    """Compares runs with their baseline, by the rules of `netkv.runs.baseline`.

    `baseline` is the id of one of the runs or the name of one of their schemes; raises `UsageError`
    if it is neither. Failed and cancelled runs are counted, but their figures are left out of the
    means. Sums, as of violations, include failed runs.
    """
    groups = repeats(records)
    different = differing([group[0] for group in groups])
    baselines = choose(groups, settings, baseline)
    rows = [
        _row(group, base, different=different)
        for group, base in zip(groups, baselines.of, strict=True)
    ]
    bases = {base[0].scheme for base in baselines.of if base is not None}
    return Comparison(
        rows=rows,
        baseline=bases.pop() if len(bases) == 1 and baselines.sentences else None,
        note=" ".join(baselines.sentences),
    )


def repeats(records: Sequence[RunRecord]) -> list[list[RunRecord]]:
    """Runs grouped by settings and program."""
    found: dict[str, list[RunRecord]] = {}
    for record in records:
        found.setdefault(_settings_key(record), []).append(record)
    return list(found.values())


def ratio(value: Interval | None, base: Interval | None) -> Interval | None:
    """Quotient of two means with its 95% confidence interval; None if there is none."""
    if value is None or base is None or base.mean == 0:
        return None
    mean = value.mean / base.mean
    half = None
    if value.ci95 is not None and base.ci95 is not None and value.mean != 0:
        half = abs(mean) * math.hypot(value.ci95 / value.mean, base.ci95 / base.mean)
    return Interval(mean=mean, ci95=half, n=min(value.n, base.n))


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as paths: `{"lab": {"servers": 8}}` → `{"lab.servers": 8}`."""
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{path}."))
        else:
            flat[path] = value
    return flat


def settings(record: RunRecord) -> dict[str, Any]:
    """The settings of a run by path, without those of its sweep."""
    own = {name: value for name, value in record.parameters.items() if name not in NOT_SETTINGS}
    flat = flatten(own)
    for path in record.params:
        flat.pop(path, None)
    return {**flat, "target": record.target, "mode": record.mode}


def _settings_key(record: RunRecord) -> str:
    parts = [record.scenario, record.scheme, record.params, settings(record)]
    return json.dumps([*parts, record.provenance.program_hash], sort_keys=True, default=str)


def differing(records: Sequence[RunRecord]) -> dict[str, None]:
    """Paths of the settings that differ between the runs, in order."""
    all_settings = [settings(record) for record in records]
    paths = dict.fromkeys(path for each in all_settings for path in each)
    missing = object()
    return {
        path: None
        for path in paths
        if any(s.get(path, missing) != all_settings[0].get(path, missing) for s in all_settings)
    }


def _row(
    group: list[RunRecord],
    base: list[RunRecord] | None,
    *,
    different: Iterable[str],
) -> ComparedRow:
    first = group[0]
    done = [record for record in group if record.status == "done"]
    own = settings(first)
    throughput = _mean(record.throughput_ops for record in done)
    base_throughput = _mean(r.throughput_ops for r in base or () if r.status == "done")
    return ComparedRow(
        scenario=first.scenario,
        scheme=first.scheme,
        params=first.params,
        settings={path: own[path] for path in different if path in own},
        runs=[record.id for record in group],
        failed=sum(record.status == "failed" for record in group),
        cancelled=sum(record.status == "cancelled" for record in group),
        ratio=_one(throughput) if group is base else ratio(throughput, base_throughput),
        relative_to=base[0].id if base else None,
        baseline=group is base,
        recovery_phases=_phases(done),
        recoveries_interrupted=sum(interrupted(record.unfinished_recoveries) for record in group),
        not_recovered=sum(len(not_recovered(record.unfinished_recoveries)) for record in group),
        **{
            metric.name: over_repeats(metric, group)
            for metric in metric_table.all_metrics()
            if metric.compared or metric.column
        },
    )


def _phases(done: Sequence[RunRecord]) -> dict[str, Interval]:
    """Mean seconds of each phase of the runs' longest recoveries."""
    spent: dict[str, list[float]] = {}
    for record in done:
        found = longest(record.recoveries)
        for phase in found.phases if found is not None else ():
            spent.setdefault(phase.name, []).append(phase.seconds)
    return {name: mean for name, values in spent.items() if (mean := interval(values)) is not None}


def _mean(values: Iterable[float | None]) -> Interval | None:
    return interval([value for value in values if value is not None])


def _one(throughput: Interval | None) -> Interval | None:
    return Interval(mean=1.0, ci95=None, n=throughput.n) if throughput else None
