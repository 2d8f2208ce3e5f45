"""Stored runs: lists, records, series, comparisons, metrics."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from netkv import metrics
from netkv.api.context import Context
from netkv.api.models.runs import GroupVerdicts, MetricInfo, Series
from netkv.api.parameters import RunId, RunIds
from netkv.api.problems import NotFoundError, found, responses
from netkv.runs import RunHead, RunRecord
from netkv.runs.compare import Comparison, compare
from netkv.runs.downsample import MAX_POINTS, downsample
from netkv.schemes import all_schemes


def router(context: Context) -> APIRouter:
    """The routes of runs."""
    routes = APIRouter(tags=["runs"])
    store = context.store

    @routes.get("/runs")
    def list_runs(
        group: Annotated[str | None, Query(description="Only runs of this group.")] = None,
        scenario: Annotated[str | None, Query(description="Only runs of this scenario.")] = None,
        limit: Annotated[int, Query(ge=1, le=5000)] = 200,
    ) -> list[RunHead]:
        """Runs without their series, newest first."""
        return store.heads(group=group, scenario=scenario, limit=limit)

    @routes.get("/runs/{run_id}", responses=responses(404))
    def show_run(run_id: RunId) -> RunRecord:
        """The complete record of a run, as `netkv runs show --json` prints it."""
        return found(store.record, run_id)

    @routes.get("/runs/{run_id}/series", responses=responses(404))
    def show_series(
        run_id: RunId,
        limit: Annotated[
            int, Query(ge=10, le=MAX_POINTS, description="Maximum number of points.")
        ] = MAX_POINTS,
    ) -> Series:
        """A run over time. In long runs, neighbouring intervals are joined to at most `limit`."""
        head = found(store.head, run_id)
        columns, last = store.series(run_id)
        points = downsample(columns, limit)
        return Series(
            run=head,
            interval=max(points["interval"], default=1.0),
            columns=points,
            events=store.events(run_id),
            last_sample=last,
        )

    @routes.get("/compare", responses=responses(404))
    def compare_runs(
        run: RunIds,
        baseline: Annotated[
            str | None,
            Query(max_length=200, description="Id of one of the runs, or one of their schemes."),
        ] = None,
    ) -> Comparison:
        """A comparison of runs; runs with the same settings are one row. Ratios are to the first
        scheme of the scenario at the same sweep point, unless `baseline` is given.
        """
        return compare(found(store.comparable, run), baseline)

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
                schemes=[scheme.name for scheme in all_schemes() if each in scheme.metrics],
                not_shown=[scheme.name for scheme in all_schemes() if not each.shown(scheme)],
                meaning=each.meaning,
            )
            for each in metrics.all_metrics()
        ]

    @routes.get("/groups/{group}/verdicts", responses=responses(404))
    def show_verdicts(group: Annotated[str, Path(max_length=200)]) -> GroupVerdicts:
        """The verdicts on the expectations of the scenario; empty while the group runs."""
        if store.owner(group) is None:
            raise NotFoundError(f"There is no group '{group}'.")
        return GroupVerdicts(group=group, thresholds=store.thresholds(group))

    return routes
