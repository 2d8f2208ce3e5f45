"""Several runs together: comparisons, latency distributions, exports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from netkv.api.context import Current
from netkv.api.downloads import download
from netkv.api.errors import RequestFieldError
from netkv.api.models.runs import ComparedRuns, Difference, LatencyHistogram
from netkv.api.parameters import RunIds
from netkv.api.problems import found, permitted, responses
from netkv.errors import UsageError
from netkv.runs import RunRecord, export, histograms
from netkv.runs.compare import Comparison, compare, repeats, settings

_PROVENANCE = ("netkv_version", "source_revision", "host")

Format = Literal["csv", "json", "parquet", "html"]


def _html(records: Sequence[RunRecord]) -> str:
    from netkv.report import page

    return page.render(records)


_EXPORTS: dict[Format, tuple[str, Callable[[Sequence[RunRecord]], str | bytes]]] = {
    "csv": ("text/csv; charset=utf-8", export.to_csv),
    "json": ("application/json", export.to_json),
    "parquet": ("application/vnd.apache.parquet", export.to_parquet),
    "html": ("text/html; charset=utf-8", _html),
}
"""Format → its media type, and what writes it."""

routes = APIRouter(tags=["runs"])


@routes.get("/compare", responses=responses(404, 422))
def compare_runs(
    context: Current,
    run: RunIds,
    baseline: Annotated[
        str | None,
        Query(max_length=200, description="Id of a run, or a scheme of these runs."),
    ] = None,
) -> ComparedRuns:
    """A comparison of runs; runs with the same settings are one row.

    Ratios are to the first scheme of the scenario at the same sweep point, unless `baseline`
    is given. A run that is the baseline becomes one of the compared runs.
    """
    records = found(context.store.comparable, list(dict.fromkeys(run)))
    known = {name for each in records for name in (each.id, each.scheme)}
    if baseline is not None and baseline not in known:
        # If it is no run either, the comparison has the right sentence.
        with suppress(UsageError):
            records += context.store.comparable([baseline])
    try:
        compared = compare(records, baseline)
    except UsageError as error:
        raise RequestFieldError(str(error), "baseline") from error
    return ComparedRuns(**dict(compared), different=_differences(compared, records))


@routes.get("/histograms", responses=responses(404))
def list_histograms(context: Current, run: RunIds) -> list[LatencyHistogram]:
    """Latency distributions of runs; those of runs with the same settings are merged. Runs
    without a histogram are left out."""
    groups = repeats(found(context.store.comparable, list(dict.fromkeys(run))))
    texts = context.store.histograms(run)
    answer = []
    for group in groups:
        done = [each.id for each in group if texts.get(each.id)]
        merged = histograms.merge(texts[each] for each in done)
        if merged:
            answer.append(LatencyHistogram.of(done, group[0], merged))
    return answer


@routes.get(
    "/export",
    responses={
        **responses(404, 409),
        200: {"content": {media: {} for media, _ in _EXPORTS.values()}},
    },
    response_class=Response,
)
def export_runs(context: Current, run: RunIds, format: Format = "json") -> Response:
    """Runs as a file: CSV and Parquet have a line per run and interval, JSON everything, HTML
    figures and tables that need no network."""
    media, write = _EXPORTS[format]
    records = [found(context.store.record, each) for each in dict.fromkeys(run)]
    content = permitted(lambda: write(records))
    return download(content, media, records[0].id if len(records) == 1 else "runs", format)


def _differences(compared: Comparison, records: Sequence[RunRecord]) -> list[Difference]:
    """The settings in which rows differ: options first, then program, source and machine."""
    by_id = {record.id: record for record in records}
    firsts = [by_id[row.runs[0]] for row in compared.rows]
    rows = [{"scenario": first.scenario, **first.params, **settings(first)} for first in firsts]
    paths = dict.fromkeys(path for row in rows for path in row)
    different = [_difference(path, [row.get(path) for row in rows]) for path in paths]
    for name in _PROVENANCE:
        values = [getattr(first.provenance, name) for first in firsts]
        different.append(_difference(f"provenance.{name}", values))
    hashes = {(first.scheme, first.provenance.program_hash) for first in firsts}
    if len(hashes) > len({scheme for scheme, _ in hashes}):
        # Each scheme has a program of its own; another version of it is a difference.
        values = [first.provenance.program_hash for first in firsts]
        different.append(_difference("provenance.program_hash", values))
    return [each for each in different if each is not None]


def _difference(path: str, values: list[Any]) -> Difference | None:
    same = all(value == values[0] for value in values)
    return None if same else Difference(path=path, values=values)
