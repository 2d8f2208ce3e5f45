"""From rows of the store to the records that it hands out."""

from __future__ import annotations

import math
from typing import Any

from netkv.lab.state import Identity
from netkv.runs.owner import Owner
from netkv.runs.records import RunHead, RunRecord, columns
from netkv.runs.schema import EventRow, GroupRow, RunRow, SampleRow, VerdictRow
from netkv.scenarios.recovery import unfinished
from netkv.scenarios.results import (
    MIB,
    Latency,
    Provenance,
    Recovery,
    RecoveryDetails,
    RunEvent,
    RunSample,
    Threshold,
)


def head(row: RunRow) -> RunHead:
    """A run without its series."""
    return RunHead(**_head_fields(row))


def record(row: RunRow) -> RunRecord:
    """A run whole."""
    return RunRecord(
        **_head_fields(row),
        parameters=row.parameters,
        provenance=Provenance.model_validate(row.provenance),
        latency_histogram=row.latency_histogram,
        series=columns([sample(each) for each in row.samples]),
        events=[event(each) for each in row.events],
        thresholds=[threshold(each) for each in row.group.verdicts],
    )


def sample(row: SampleRow) -> RunSample:
    """One interval of a run."""
    return RunSample(
        time=row.time,
        phase=row.phase,  # type: ignore[arg-type]  # written from a RunSample
        interval=row.interval,
        throughput_ops=row.throughput_ops,
        hit_ratio=row.hit_ratio,
        latency_us=Latency.model_validate(row.latency_us),
        server_load=row.server_load,
        lost_ops=row.lost_ops,
        retries=row.retries,
        stale_reads=row.stale_reads,
        unknown=row.unknown,
        ignored=row.ignored,
        preserved=row.preserved,
        preserved_bytes=row.preserved_bytes,
        cached=row.cached,
        control_plane_bytes_per_s=row.control_plane_bytes_per_s,
        control_plane_mib_per_s_by_switch=row.control_plane_mib_per_s_by_switch,
    )


def event(row: EventRow) -> RunEvent:
    """Something that happened in a run."""
    recovery = None if row.recovery is None else RecoveryDetails.model_validate(row.recovery)
    return RunEvent(time=row.time, kind=row.kind, node=row.node, text=row.text, recovery=recovery)


def threshold(row: VerdictRow) -> Threshold:
    """The verdict on one `expect` line."""
    return Threshold(expr=row.expr, ok=row.ok, value=row.value, detail=row.detail)


def owner(row: GroupRow) -> Owner:
    """The process that writes, or wrote, a group."""
    process = Identity(row.owner_pid, row.owner_started, row.owner_boot)
    return Owner(row.owner_host, process)


def figures_so_far(row: RunRow) -> dict[str, Any]:
    """What series and events of an unfinished run tell: rates and losses of its measured part."""
    measured = [each for each in row.samples if each.phase == "measure"]
    seconds = math.fsum(each.interval for each in measured)
    if not seconds:
        return {}
    servers = max(len(each.server_load) for each in measured)
    load = [
        math.fsum(each.server_load[i] * each.interval for each in measured) / seconds
        for i in range(servers)
        if all(len(each.server_load) == servers for each in measured)
    ]
    completed = math.fsum(each.throughput_ops * each.interval for each in measured)
    control = math.fsum(each.control_plane_bytes_per_s * each.interval for each in measured)
    return {
        "throughput_ops": completed / seconds,
        "completed_ops": round(completed),
        "server_load": load,
        "lost_ops": sum(each.lost_ops for each in measured),
        "retries": sum(each.retries for each in measured),
        "stale_reads": sum(each.stale_reads for each in measured),
        "unknown": sum(each.unknown for each in measured),
        "ignored": sum(each.ignored for each in measured),
        "preserved_peak": max(each.preserved for each in row.samples),
        "preserved_peak_bytes": max(each.preserved_bytes for each in row.samples),
        "control_plane_bytes_per_s": control / seconds,
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


def _head_fields(row: RunRow) -> dict[str, Any]:
    figures = dict(row.figures)
    # Runs of earlier versions, and unfinished ones, have it in bytes only.
    figures.setdefault(
        "control_plane_mib_per_s", figures.get("control_plane_bytes_per_s", 0.0) / MIB
    )
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
        **figures,
    }
