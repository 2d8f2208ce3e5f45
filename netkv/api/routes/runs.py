"""Stored runs: lists, records, series, histograms, remarks, deletion, metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import StringConstraints

from netkv.api.context import Context, Current
from netkv.api.errors import NotFoundError, RequestFieldError
from netkv.api.models.runs import (
    Deleted,
    GroupVerdicts,
    LatencyHistogram,
    MetricInfo,
    RunRemarks,
    Runs,
    RunSelection,
    RunTags,
    Series,
    StoredValues,
)
from netkv.api.parameters import MAX_RUNS, AnyRunId, RunId
from netkv.api.problems import found, permitted, responses
from netkv.errors import UsageError
from netkv.runs import RunHead, RunRecord, histograms
from netkv.runs.downsample import MAX_POINTS, downsample
from netkv.runs.query import OrderError, RunQuery
from netkv.runs.records import StoredStatus
from netkv.scenarios.results import RunEvent
from netkv.schemes import all_schemes, metric_table

_ALWAYS = ("time", "phase", "interval")
"""Columns that every series has."""
_Text = Annotated[str, StringConstraints(max_length=500)]
_Names = Annotated[
    Sequence[Annotated[str, StringConstraints(max_length=100)]], Query(max_length=50)
]
_Seconds = Annotated[float | None, Query(description="Seconds since the measured part began.")]

routes = APIRouter(tags=["runs"])


@routes.get("/runs")
def list_runs(
    context: Current,
    scenario: Annotated[_Text | None, Query(description="Only runs of this scenario.")] = None,
    scheme: Annotated[_Names, Query(description="Only runs of any of these schemes.")] = (),
    mode: Literal["live", "sim"] | None = None,
    status: Annotated[
        Sequence[StoredStatus], Query(max_length=10, description="Only runs with any of these.")
    ] = (),
    group: Annotated[_Text | None, Query(description="Only runs of this group.")] = None,
    id: Annotated[
        Sequence[AnyRunId], Query(max_length=MAX_RUNS, description="Only these runs.")
    ] = (),
    tag: Annotated[_Names, Query(description="Only runs with all of these tags.")] = (),
    pinned: bool | None = None,
    search: Annotated[
        str,
        Query(
            max_length=500,
            description="Only runs with these words in id, scenario, title, scheme, tags, "
            "note or sweep.",
        ),
    ] = "",
    where: Annotated[
        Sequence[_Text],
        Query(
            max_length=20,
            description="Only runs whose option meets this condition, such as "
            "`workload.zipf=0.99`; also `!=`, `<`, `<=`, `>` and `>=`.",
        ),
    ] = (),
    started_after: Annotated[float | None, Query(description="Seconds since the epoch.")] = None,
    started_before: Annotated[float | None, Query(description="Seconds since the epoch.")] = None,
    sort: Annotated[
        str,
        Query(
            max_length=100,
            description="A field of a run, the name of a metric, or the path of an option such "
            "as `workload.zipf`.",
        ),
    ] = "started_at",
    order: Literal["descending", "ascending"] = "descending",
    limit: Annotated[int, Query(ge=0, le=5000)] = 200,
    offset: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> Runs:
    """Runs without their series, newest first or in an order of choice."""
    try:
        query = RunQuery(
            scenario=scenario,
            scheme=scheme,
            mode=mode,
            status=status,
            group=group,
            ids=id,
            tags=tag,
            pinned=pinned,
            search=search,
            where=where,
            started_after=started_after,
            started_before=started_before,
            sort=sort,
            descending=order == "descending",
            limit=limit,
            offset=offset,
        )
        page = context.store.search(query)
    except OrderError as error:
        raise RequestFieldError(str(error), "sort") from error
    except UsageError as error:
        raise RequestFieldError(str(error), "where") from error
    return Runs(runs=page.runs, total=page.total)


@routes.get("/runs/values")
def list_values(context: Current) -> StoredValues:
    """The scenarios, schemes and tags of all runs, for filters."""
    values = context.store.values()
    return StoredValues(scenarios=values["scenario"], schemes=values["scheme"], tags=values["tag"])


@routes.post("/runs/tag", responses=responses(404, 422))
def tag_runs(context: Current, change: RunTags) -> Runs:
    """Add tags to several runs, and remove others."""
    heads = [found(context.store.head, run_id) for run_id in change.runs]
    context.store.tag(change.runs, change.add, change.remove)
    return Runs(runs=[context.store.head(head.id) for head in heads], total=len(heads))


@routes.post("/runs/delete", responses=responses(404, 409))
def delete_runs(context: Current, chosen: RunSelection) -> Deleted:
    """Delete several runs. If one is pinned or in progress, nothing is deleted."""
    return _deleted(context, chosen.runs)


@routes.get("/runs/{run_id}", responses=responses(404))
def show_run(context: Current, run_id: RunId) -> RunRecord:
    """The complete record of a run, as `netkv runs show --json` prints it."""
    return found(context.store.record, run_id)


@routes.patch("/runs/{run_id}", responses=responses(404, 422))
def change_run(context: Current, run_id: RunId, change: RunRemarks) -> RunHead:
    """Change tags, note and pin of a run."""
    found(context.store.head, run_id)
    context.store.remark(run_id, tags=change.tags, note=change.note, pinned=change.pinned)
    return found(context.store.head, run_id)


@routes.delete("/runs/{run_id}", responses=responses(404, 409))
def delete_run(context: Current, run_id: RunId) -> Deleted:
    """Delete a run with its series. A pinned run, or one in progress, cannot be deleted."""
    return _deleted(context, [run_id])


@routes.get("/runs/{run_id}/series", responses=responses(404))
def show_series(
    context: Current,
    run_id: RunId,
    since: _Seconds = None,
    until: _Seconds = None,
    limit: Annotated[
        int, Query(ge=10, le=MAX_POINTS, description="Maximum number of points.")
    ] = MAX_POINTS,
    columns: Annotated[
        _Names, Query(description="Only these columns, and `time`, `phase`, `interval`.")
    ] = (),
    scalars: Annotated[
        bool,
        Query(
            description="Only columns with a single value for each interval, not the load of "
            "each server nor the bandwidth of each switch, which are most of a series."
        ),
    ] = False,
) -> Series:
    """A run over time. In long runs, neighbouring intervals are joined to at most `limit`."""
    head = found(context.store.head, run_id)
    series, last = context.store.series(run_id, since, until, scalars=scalars)
    if unknown := [name for name in columns if name not in series]:
        known = ", ".join(name for name in series if name not in _ALWAYS)
        raise RequestFieldError(
            f"The series of run {run_id} has no column '{unknown[0]}'. It has {known}.",
            "columns",
        )
    if columns:
        series = {name: series[name] for name in dict.fromkeys((*_ALWAYS, *columns))}
    points = downsample(series, limit)
    return Series(
        run=head,
        interval=max(points["interval"], default=1.0),
        columns=points,
        events=context.store.events(run_id),
        last_sample=last,
    )


@routes.get("/runs/{run_id}/histogram", responses=responses(404))
def show_histogram(context: Current, run_id: RunId) -> LatencyHistogram:
    """The latencies of a run: for each one, the fraction of operations that took longer."""
    head = found(context.store.head, run_id)
    merged = histograms.merge(context.store.histograms([run_id]).values())
    return LatencyHistogram.of([run_id], head, merged)


@routes.get("/runs/{run_id}/events", responses=responses(404))
def show_events(context: Current, run_id: RunId) -> list[RunEvent]:
    """The events of a run."""
    found(context.store.head, run_id)
    return context.store.events(run_id)


@routes.get("/runs/{run_id}/verdicts", responses=responses(404))
def show_run_verdicts(context: Current, run_id: RunId) -> GroupVerdicts:
    """The verdicts on the group of a run; empty while the group runs."""
    group = found(context.store.head, run_id).group
    return GroupVerdicts(group=group, thresholds=context.store.thresholds(group))


@routes.get("/groups/{group}/verdicts", responses=responses(404))
def show_verdicts(context: Current, group: Annotated[str, Path(max_length=200)]) -> GroupVerdicts:
    """The verdicts on the expectations of the scenario; empty while the group runs."""
    if context.store.owner(group) is None:
        raise NotFoundError(f"There is no group '{group}'.")
    return GroupVerdicts(group=group, thresholds=context.store.thresholds(group))


@routes.get("/metrics")
def list_metrics() -> list[MetricInfo]:
    """All metrics of runs, in the order of tables."""
    return [
        MetricInfo(
            name=each.name,
            label=each.label,
            unit=each.unit,
            sense=each.sense,
            repeats=each.repeats,
            time=each.time,
            column=each.column,
            rare=each.rare,
            schemes=[scheme.name for scheme in all_schemes() if each in scheme.metrics],
            not_shown=[scheme.name for scheme in all_schemes() if not each.shown(scheme.traits)],
            meaning=each.meaning,
        )
        for each in metric_table.all_metrics()
    ]


def _deleted(context: Context, ids: list[str]) -> Deleted:
    ids = list(dict.fromkeys(ids))
    for run_id in ids:
        found(context.store.head, run_id)
    permitted(lambda: context.store.delete(ids))
    return Deleted(deleted=ids)
