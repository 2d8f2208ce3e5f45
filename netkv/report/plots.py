"""Figures for the plots of a scenario, from its runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from netkv import kinds
from netkv.errors import NetkvError
from netkv.report import bars, over_time, papers
from netkv.report.figure import Axis, Figure, Reference, Series, plain, run_ticks, spans_decades
from netkv.report.metrics import measure, of_run, option
from netkv.report.rows import Relation, Row, label, rows
from netkv.report.style import numbered
from netkv.runs import histograms
from netkv.runs.records import RunRecord
from netkv.scenarios.plot import Plot


class NothingToPlotError(NetkvError):
    """The runs have no data for a figure."""


@dataclass(frozen=True)
class Drawn:
    """Figures, and a sentence about each figure that could not be drawn."""

    figures: list[Figure]
    left_out: list[str]


def defined_or_usual(records: Sequence[RunRecord]) -> Drawn:
    """The figures that the scenarios of these runs define; if a scenario defines none, the usual
    figures."""
    return _drawn(records, lambda runs, own: own or usual(runs))


def defined(records: Sequence[RunRecord]) -> Drawn:
    """The figures that the scenarios of these runs define."""
    return _drawn(records, lambda _, own: own)


def defined_and_usual(records: Sequence[RunRecord]) -> Drawn:
    """The figures that the scenarios of these runs define, then the other usual figures."""

    def plots(runs: Sequence[RunRecord], own: list[Plot]) -> list[Plot]:
        have = {(plot.y, plot.x) for plot in own}
        return [*own, *(plot for plot in usual(runs) if (plot.y, plot.x) not in have)]

    return _drawn(records, plots)


def usual(records: Sequence[RunRecord]) -> list[Plot]:
    """Figures for any runs."""
    swept = next((path for run in records for path in run.params), "scheme")
    recovered = any(run.recoveries for run in records)
    controlled = any(run.control_plane_bytes_per_s for run in records)
    return [
        Plot(y="throughput_ops", x=swept, title="Mean throughput"),
        Plot(y="throughput_ops", x="time", title="Throughput over time"),
        Plot(y="hit_ratio", x="time", title="Hit ratio over time"),
        Plot(y="server_load", title="Load per server"),
        Plot(y="latency_us", kind="distribution", title="Latency"),
        *(
            [Plot(y="control_plane_mib_per_s", x="time", title="Control plane")]
            if controlled
            else []
        ),
        *([Plot(y="recovery_time", x=swept, title="Recovery")] if recovered else []),
    ]


def draw(plot: Plot, records: Sequence[RunRecord]) -> Figure:
    """One figure; raises `NothingToPlotError` if the runs have no data for it."""
    plot = plot.model_copy(update={"title": plain(plot.title) or _title(plot)})
    found = rows(records, unfinished=plot.x == "time")
    if not found:
        raise NothingToPlotError(f"'{plot.title}' cannot be drawn: {_no_runs(records)}")
    relation = Relation(plot.relative_to, found)
    if relation and not any(relation.base(row) for row in found):
        raise NothingToPlotError(
            f"'{plot.title}' cannot be drawn: it is relative to {relation.words()}, "
            f"which is not among the runs that succeeded."
        )
    y = _value_axis(plot, relation)
    if plot.kind == "distribution":
        figure = _distribution(plot, found)
    elif plot.x == "time":
        figure = over_time.figure(plot, found, relation, y)
    elif plot.y == "served_by":
        figure = bars.stacked(plot, found, relation, y)
    elif plot.y == "recovery_time":
        figure = bars.phases(plot, found, relation, y)
    elif plot.y in ("server_load", "latency_us"):
        figure = bars.many(plot, found, relation, y)
    elif plot.x == "scheme":
        figure = bars.schemes(plot, found, relation, y)
    elif plot.kind == "bars" or not all(_is_number(row.at(plot.x)) for row in found):
        figure = bars.sweep(plot, found, relation, y)
    else:
        figure = _sweep(plot, found, relation, y)
    if not any(value is not None for series in figure.series for value in series.y):
        raise NothingToPlotError(
            f"'{plot.title}' cannot be drawn: none of the {len(records)} runs has '{plot.y}'."
        )
    figure = papers.with_points(figure, plot, [run for row in found for run in row.runs])
    if relation:
        figure = replace(figure, references=(*figure.references, Reference(1.0, "")))
    return _in_fitting_units(_logarithmic(figure, plot))


def _drawn(
    records: Sequence[RunRecord],
    choose: Callable[[Sequence[RunRecord], list[Plot]], list[Plot]],
) -> Drawn:
    by_scenario: dict[str, list[RunRecord]] = {}
    for record in records:
        by_scenario.setdefault(record.scenario, []).append(record)
    figures: list[Figure] = []
    left_out: list[str] = []
    for scenario, runs in by_scenario.items():
        own = _own(runs, left_out)
        for plot in choose(runs, own):
            try:
                figure = draw(plot, runs)
            except NothingToPlotError as nothing:
                left_out.append(str(nothing))
                continue
            prefix = f"{scenario}-" if len(by_scenario) > 1 else ""
            name = _free(prefix + _name(plot), {each.name for each in figures})
            figures.append(replace(figure, name=name))
    return Drawn(figures, left_out)


def _own(records: Iterable[RunRecord], left_out: list[str]) -> list[Plot]:
    """The plots that the runs were stored with, each once."""
    stored = {
        json.dumps(plot, sort_keys=True, default=str): plot
        for record in records
        for plot in record.parameters.get("plots") or []
    }
    plots = []
    for text, plot in stored.items():
        try:
            plots.append(Plot.model_validate(plot))
        except ValidationError as error:
            why = kinds.described(error.errors(include_url=False)[0])
            left_out.append(f"The stored plot {plain(text)} cannot be drawn: {why}.")
    return plots


def _name(plot: Plot) -> str:
    """The name of its files: the title in lower case with dashes, or the names of its axes."""
    name = re.sub(r"[^a-z0-9]+", "-", plot.title.lower()).strip("-")[:60].strip("-")
    return name or re.sub(r"[^a-z0-9]+", "-", f"{plot.y}-{plot.x}".lower()).strip("-")


def _free(name: str, taken: set[str]) -> str:
    numbered = (name if number == 1 else f"{name}-{number}" for number in range(1, len(taken) + 2))
    return next(each for each in numbered if each not in taken)


def _title(plot: Plot) -> str:
    over = {"scheme": "", "time": " over time"}.get(plot.x, f" over {option(plot.x).label.lower()}")
    return measure(plot.y).label + over


def _no_runs(records: Sequence[RunRecord]) -> str:
    running = sum(run.status == "running" for run in records)
    if running:
        return f"{running} of the {len(records)} runs are in progress, and none has succeeded."
    if not records:
        return "there are no runs."
    cancelled = sum(run.status == "cancelled" for run in records)
    failed = len(records) - cancelled
    if not cancelled or not failed:
        return f"all {len(records)} runs {'were cancelled' if cancelled else 'failed'}."
    return f"{failed} runs failed, and {cancelled} were cancelled."


def _value_axis(plot: Plot, relation: Relation) -> Axis:
    shown = measure(plot.y)
    if relation:
        return Axis(f"{shown.label} relative to {relation.words()}", low=0.0)
    high = 1.0 if shown.share else None
    return Axis(shown.label, shown.unit, share=shown.share, low=0.0, high=high)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sweep(plot: Plot, found: Sequence[Row], relation: Relation, y: Axis) -> Figure:
    """A line per scheme over the numbers of a sweep."""
    style = numbered(row.key(plot.x) for row in found)
    series = []
    for key in style:
        own = sorted((row for row in found if row.key(plot.x) == key), key=lambda r: r.at(plot.x))
        means = [relation.of(row, lambda run: of_run(run, plot.y)) for row in own]
        series.append(
            Series(
                label(key),
                tuple(float(row.at(plot.x)) for row in own),
                tuple(None if mean is None else mean.mean for mean in means),
                style=style[key],
                spread=tuple(None if mean is None else mean.ci95 for mean in means),
            )
        )
    swept = option(plot.x)
    ticks = run_ticks(value for each in series for value in each.x)
    x = Axis(swept.label, swept.unit, share=swept.share, ticks=ticks)
    return Figure("", plot.title, x, y, tuple(series))


def _distribution(plot: Plot, found: Sequence[Row]) -> Figure:
    """Cumulative distribution of latency, from the merged histograms of all repeats."""
    style = numbered(row.key() for row in found)
    series = []
    for row in found:
        merged = histograms.merge(run.latency_histogram for run in row.runs)
        if merged is None:
            continue
        latencies, shares = histograms.distribution(merged)
        name, look = row.label(), style[row.key()]
        series.append(Series(name, tuple(latencies), tuple(shares), "steps", look, marked=False))
    x = Axis("Latency", "µs", log=plot.log is None or "x" in plot.log)
    y = Axis("Share of operations", share=True, low=0.0, high=1.0)
    return Figure("", plot.title, x, y, tuple(series))


def _logarithmic(figure: Figure, plot: Plot) -> Figure:
    """The figure with logarithmic axes: those of `plot.log`, or those that span decades."""
    if plot.kind == "distribution" or (plot.x == "time" and plot.log is None):
        return figure
    xs = [value for series in figure.series for value in series.x]
    ys = [value for series in figure.series for value in series.y]
    lines = not figure.x.categories
    wide_x = lines and plot.x != "time" and spans_decades(xs)
    wide_y = (lines or plot.y == "latency_us") and not figure.y.share and spans_decades(ys)
    x, y = figure.x, figure.y
    if wide_x if plot.log is None else "x" in plot.log:
        if not all(value > 0 for value in xs):
            raise NothingToPlotError(
                f"'{plot.title}' cannot be drawn: a logarithmic axis cannot show {min(xs):g}."
            )
        x = replace(x, log=True, ticks=run_ticks(xs, log=True))
    if wide_y if plot.log is None else "y" in plot.log:
        y = replace(y, log=True, low=None)
    return replace(figure, x=x, y=y)


def _in_fitting_units(figure: Figure) -> Figure:
    """The figure with latencies in microseconds, milliseconds or seconds, by the largest one."""
    if figure.x.unit == "µs":
        by, unit = _unit(value for series in figure.series for value in series.x)
        series = tuple(replace(s, x=tuple(value / by for value in s.x)) for s in figure.series)
        ticks = tuple(tick / by for tick in figure.x.ticks)
        return replace(figure, x=replace(figure.x, unit=unit, ticks=ticks), series=series)
    if figure.y.unit == "µs":
        by, unit = _unit(value for series in figure.series for value in series.y)
        series = tuple(
            replace(
                s,
                y=tuple(None if value is None else value / by for value in s.y),
                spread=tuple(None if value is None else value / by for value in s.spread),
            )
            for s in figure.series
        )
        return replace(figure, y=replace(figure.y, unit=unit), series=series)
    return figure


def _unit(values: Iterable[float | None]) -> tuple[float, str]:
    largest = max((value for value in values if value is not None), default=0.0)
    if largest < 2000:
        return 1.0, "µs"
    return (1e3, "ms") if largest < 2e6 else (1e6, "s")
