"""Conversion between rows of the store and records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Row

from netkv.model.report import Change
from netkv.processes import Identity
from netkv.runs.owner import Owner
from netkv.runs.records import RunHead, RunRecord
from netkv.runs.schema import COLUMNS, EventRow, GroupRow, RunRow, SampleRow, VerdictRow
from netkv.runs.series import Columns
from netkv.scenarios.recovery import unfinished
from netkv.scenarios.results import (
    Latency,
    Provenance,
    Recovery,
    RecoveryDetails,
    RunEvent,
    RunSample,
    Threshold,
)
from netkv.schemes import metric_table

_CHANGE = TypeAdapter(Change)

HEAD = (
    RunRow.id,
    RunRow.group_id,
    RunRow.scenario,
    RunRow.title,
    RunRow.scheme,
    RunRow.params,
    RunRow.repeat,
    RunRow.seed,
    RunRow.mode,
    RunRow.target,
    RunRow.status,
    RunRow.reason,
    RunRow.started_at,
    RunRow.finished_at,
    RunRow.duration,
    RunRow.warmup,
    RunRow.tags,
    RunRow.note,
    RunRow.pinned,
    RunRow.figures,
)
"""The columns that `head` needs. Others are long: parameters, provenance, histogram."""
OWNER: tuple[Any, ...] = (
    GroupRow.owner_host,
    GroupRow.owner_pid,
    GroupRow.owner_started,
    GroupRow.owner_boot,
)
"""The columns that `owner` needs."""
SETTINGS = (*HEAD, RunRow.parameters, RunRow.provenance)
"""The columns that `settled` needs."""


def head(row: RunRow | Row[Any]) -> RunHead:
    """A run without its series."""
    return RunHead(**_head_fields(row))


def settled(row: Row[Any]) -> RunRecord:
    """A run with its settings, without series, events, verdicts and histogram."""
    return RunRecord(
        **_head_fields(row),
        parameters=row.parameters,
        provenance=Provenance.model_validate(row.provenance),
    )


def record(row: RunRow, series: Columns) -> RunRecord:
    """The complete record of a run, with its series."""
    return RunRecord(
        **_head_fields(row),
        parameters=row.parameters,
        provenance=Provenance.model_validate(row.provenance),
        latency_histogram=row.latency_histogram,
        series=series,
        events=[event(each) for each in row.events],
        thresholds=[threshold(each) for each in row.group.verdicts],
    )


def sample(row: SampleRow) -> RunSample:
    """One interval of a run."""
    return RunSample(
        time=row.time,
        phase=row.phase,  # type: ignore[arg-type]  # written from a RunSample
        interval=row.interval,
        latency_us=Latency.model_validate(row.latency_us),
        server_load=row.server_load,
        control_plane_mib_per_s_by_switch=row.control_plane_mib_per_s_by_switch,
        **{name: getattr(row, name) for name in COLUMNS},
        **row.metrics,
    )


def sample_values(run_id: str, sample: RunSample) -> dict[str, Any]:
    """The columns of an interval."""
    fields = sample.model_dump(mode="json")
    others = {name: fields.pop(name) for name in sample.values() if name not in COLUMNS}
    return {"run_id": run_id, "metrics": others, **fields}


def event(row: EventRow) -> RunEvent:
    """An event of a run."""
    recovery = None if row.recovery is None else RecoveryDetails.model_validate(row.recovery)
    change = None if row.change is None else _CHANGE.validate_python(row.change)
    return RunEvent(
        time=row.time,
        kind=row.kind,
        node=row.node,
        text=row.text,
        recovery=recovery,
        change=change,
    )


def threshold(row: VerdictRow) -> Threshold:
    """The verdict on one `expect` line."""
    return Threshold(expr=row.expr, ok=row.ok, value=row.value, detail=row.detail)


def owner(row: GroupRow | Row[Any]) -> Owner:
    """The process that writes, or wrote, a group."""
    process = Identity(row.owner_pid, row.owner_started, row.owner_boot)
    return Owner(row.owner_host, process)


def figures_so_far(row: RunRow) -> dict[str, Any]:
    """Figures of an unfinished run, from the samples of its measured part."""
    samples = [sample(each) for each in row.samples]
    measured = [each for each in samples if each.phase == "measure"]
    seconds = math.fsum(each.interval for each in measured)
    if not seconds:
        return {}
    servers = max(len(each.server_load) for each in measured)
    load = [
        math.fsum((each.server_load[i] or 0.0) * each.interval for each in measured) / seconds
        for i in range(servers)
        if all(len(each.server_load) == servers for each in measured)
    ]
    return {
        **_metrics_so_far(samples, measured, seconds),
        "completed_ops": round(math.fsum(each.throughput_ops * each.interval for each in measured)),
        "server_load": load,
        "control_plane_mib_per_s_by_switch": {
            switch: math.fsum(
                each.control_plane_mib_per_s_by_switch.get(switch, 0.0) * each.interval
                for each in measured
            )
            / seconds
            for switch in sorted({s for e in measured for s in e.control_plane_mib_per_s_by_switch})
        },
        "recoveries": [
            found.model_dump(mode="json")
            for each in row.events
            if (found := Recovery.of(event(each))) is not None
        ],
        "unfinished_recoveries": [
            found.model_dump(mode="json") for found in unfinished(map(event, row.events))
        ],
    }


def _metrics_so_far(
    samples: Sequence[RunSample], measured: Sequence[RunSample], seconds: float
) -> dict[str, Any]:
    """The metrics of a whole run that can be computed from its intervals."""
    found: dict[str, Any] = {}
    for metric in metric_table.all_metrics():
        if not metric.sampled:
            continue
        if metric.whole is not None:
            levels = [getattr(each, metric.name) for each in samples]
            found[metric.whole] = max((each for each in levels if each is not None), default=None)
            continue
        values = [(getattr(each, metric.name), each.interval) for each in measured]
        known = [(value, interval) for value, interval in values if value is not None]
        if metric.time == "rate":
            total = math.fsum(value * length for value, length in known)
            found[metric.name] = total / seconds if known else metric.absent
        elif metric.time == "sum":
            found[metric.name] = sum(value for value, _ in known) if known else metric.absent
    return found


def _head_fields(row: RunRow | Row[Any]) -> dict[str, Any]:
    return {
        "id": row.id,
        "group": row.group_id,
        "scenario": row.scenario,
        "title": row.title,
        "scheme": row.scheme,
        "params": row.params,
        "repeat": row.repeat,
        "seed": row.seed,
        "mode": row.mode,
        "target": row.target,
        "status": row.status,
        "reason": row.reason,
        "started_at": row.started_at,
        "finished_at": row.finished_at,
        "duration": row.duration,
        "warmup": row.warmup,
        "tags": row.tags,
        "note": row.note,
        "pinned": row.pinned,
        **row.figures,
    }
