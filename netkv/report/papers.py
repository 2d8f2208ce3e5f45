"""The papers' points beside netkv's: on figures of runs, and figures of an evaluation.

A claim of a paper (`netkv.evaluation`) is drawn on the figure of a scenario if both show the same
quantity along the same swept option, and the runs have the settings of the experiment, with at
least `MIN_SEEDS` seeds at each point: one seed says nothing about the spread.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from netkv import evaluation
from netkv.errors import NetkvError
from netkv.evaluation import Experiment, Row
from netkv.evaluation.reference import MEAN, Claim, Reported
from netkv.evaluation.rows import CONFIDENCE, Spread
from netkv.report import style
from netkv.report.figure import Axis, Draw, Figure, Series, plain, run_ticks
from netkv.report.metrics import option
from netkv.report.rows import title as scheme_title
from netkv.runs.compare import NOT_SETTINGS, flatten, settings
from netkv.runs.records import RunRecord
from netkv.scenarios import loader
from netkv.scenarios.plot import Plot

MIN_SEEDS = 5
"""Seeds of every scheme at every point of a figure that has the papers' points."""
_WIDE = 100
"""Ratio of the ends of an interval from which on it is not drawn: the others would vanish."""
_QUANTITY = re.compile(r"(\w+)\.(\w+)(?: / (?:(\w+)\.(\w+)|(\d+)))?")
"""A metric of a scheme, alone, over a metric of another, or over a number (millions)."""


# Figures of runs


def with_points(figure: Figure, plot: Plot, records: Sequence[RunRecord]) -> Figure:
    """The figure with the papers' points, if it repeats a figure of a paper."""
    if plot.x in ("scheme", "time") or plot.kind == "distribution" or _seeds(records) < MIN_SEEDS:
        return figure
    shown = [
        series
        for experiment in _repeated(records)
        for claim in experiment.claims
        if (series := _series(claim, plot, figure)) is not None
    ]
    return replace(figure, series=(*figure.series, *shown)) if shown else figure


def _seeds(records: Sequence[RunRecord]) -> int:
    """The fewest seeds of a scheme at a point."""
    found: dict[str, set[int]] = {}
    for run in records:
        place = json.dumps([run.scheme, sorted(run.params.items())], default=str)
        found.setdefault(place, set()).add(run.seed)
    return min(map(len, found.values()), default=0)


def _repeated(records: Sequence[RunRecord]) -> list[Experiment]:
    """The experiments whose settings all these runs have."""
    return [
        each
        for each in _experiments()
        if each.scenario == records[0].scenario and all(_repeats(each, run) for run in records)
    ]


@lru_cache(maxsize=1)
def _experiments() -> list[Experiment]:
    return [each for name in evaluation.names() for each in evaluation.load(name).experiments]


def _repeats(experiment: Experiment, run: RunRecord) -> bool:
    try:
        expected = _settings(experiment.name, run.scheme, tuple(sorted(run.params.items())))
    except (NetkvError, TypeError, ValueError):
        # The run has an option of the sweep, or a scheme, that the scenario cannot have.
        return False
    own = settings(run)
    # A run of another version of netkv may lack an option.
    return all(own[path] == value for path, value in expected.items() if path in own)


@lru_cache(maxsize=512)
def _settings(name: str, scheme: str, params: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """The settings of an experiment's run, by path, without those of the sweep."""
    experiment = next(each for each in _experiments() if each.name == name)
    scenario = _scenario(name, experiment.scenario, tuple(experiment.changes))
    applied = loader.apply(scenario, dict(params)).of_scheme(scheme)
    own = {
        name: value
        for name, value in applied.model_dump(mode="json").items()
        if name not in NOT_SETTINGS
    }
    return {path: value for path, value in flatten(own).items() if path not in dict(params)}


@lru_cache(maxsize=64)
def _scenario(_name: str, scenario: str, changes: tuple[str, ...]) -> Any:
    return loader.load(loader.find(scenario), list(changes))


def _series(claim: Claim, plot: Plot, figure: Figure) -> Series | None:
    """The paper's points of a claim; None if the figure shows something else."""
    factor = _factor(claim, plot)
    if claim.along != plot.x or claim.at or not isinstance(claim.paper, dict) or factor is None:
        return None
    scheme = claim.quantity.partition(".")[0]
    points = sorted(
        (x, factor * value, factor * half)
        for point, reported in claim.paper.items()
        if (x := _place(figure.x, point)) is not None and (found := _number(reported)) is not None
        for value, half in [found]
    )
    if not points:
        return None
    return Series(
        f"{scheme_title(scheme)}, paper",
        tuple(x for x, _, _ in points),
        tuple(y for _, y, _ in points),
        "points",
        style.of_scheme(scheme),
        spread=tuple(half or None for _, _, half in points),
    )


def _factor(claim: Claim, plot: Plot) -> float | None:
    """What a claim's values are multiplied with for the axis of a plot; None: another quantity."""
    found = _QUANTITY.fullmatch(claim.quantity)
    if found is None or found[2] != plot.y or claim.between is not None:
        return None
    scheme, _, other, of_other, number = found.groups()
    if claim.over is not None:
        base = _QUANTITY.fullmatch(claim.over.quantity)
        if base is None or other or number or base[3] or base[5] or base[2] != plot.y:
            return None
        other, of_other, point = base[1], base[2], claim.over.at
    else:
        point = {}
    relative = plot.relative_to
    if relative is None:
        return (float(number) if number else 1.0) if other is None else None
    wanted = (relative.scheme or scheme, plot.y, relative.point)
    return 1.0 if (other, of_other, point) == wanted else None


def _place(axis: Axis, point: Any) -> float | None:
    """A value of the swept option on the axis of a figure."""
    if axis.categories:
        return float(axis.categories.index(f"{point}")) if f"{point}" in axis.categories else None
    return float(point) if isinstance(point, int | float) else None


def _number(reported: Reported | None) -> tuple[float, float] | None:
    """Middle and half width of a reported number or range; None for words."""
    match reported:
        case (float() | int() as low, float() | int() as high):
            return (low + high) / 2, (high - low) / 2
        case bool() | str() | None:
            return None
        case number:
            return float(number), 0.0


# Figures of an evaluation


def figures(
    experiment: Experiment, rows: Sequence[Row], *, measured_only: bool = False
) -> list[Figure]:
    """A figure for each claim along a sweep that has figures of the paper.

    `measured_only`: also for those for which the paper has none.
    """
    found = []
    for at, claim in enumerate(experiment.claims):
        own = [row for row in rows if row.claim is claim and row.point not in (None, MEAN)]
        known = measured_only or any(_number(row.reported) or row.listed is not None for row in own)
        if claim.along is not None and len(own) > 1 and known:
            found.append(_figure(experiment, at, own))
    return found


def _figure(experiment: Experiment, at: int, rows: Sequence[Row]) -> Figure:
    claim = rows[0].claim
    assert claim.along is not None
    swept = option(claim.along)
    numbers = all(isinstance(row.point, int | float) for row in rows)
    if numbers:
        values = [float(row.point) for row in rows]
        wide = min(values) > 0 and max(values) / min(values) > 100
        ticks = run_ticks(values, log=wide)
        x = Axis(swept.label, swept.unit, share=swept.share, log=wide, ticks=ticks)
        places = tuple(values)
    else:
        x = Axis(swept.label, categories=tuple(plain(f"{row.point}", 24) for row in rows))
        places = tuple(float(place) for place in range(len(rows)))
    look = style.of_scheme(claim.quantity.partition(".")[0])
    return Figure(
        name=f"{experiment.name}-{at + 1}",
        title=claim.name,
        x=x,
        y=Axis(plain(claim.name), low=0.0),
        series=tuple(_beside(places, rows, look, bars=not numbers)),
        note=f"{experiment.source}. Error bars: where {CONFIDENCE:.0%} of further seeds are "
        f"expected, up to a factor of {_WIDE}.",
    )


def _half(spread: Spread) -> float | None:
    """Half of an interval; None without one, or if it says only that the seeds differ widely."""
    if spread.low is None or spread.high is None or spread.high > _WIDE * spread.low:
        return None
    return (spread.high - spread.low) / 2


def _beside(
    places: tuple[float, ...], rows: Sequence[Row], look: style.Style, *, bars: bool
) -> Iterator[Series]:
    halves = tuple(_half(row.measured) for row in rows)
    means = tuple(row.measured.mean for row in rows)
    yield Series("netkv", places, means, "bars" if bars else "lines", look, spread=halves)
    published = tuple(None if row.published is None else row.published.mean for row in rows)
    if any(value is not None for value in published):
        kind: Draw = "points" if bars else "lines"
        yield Series("netkv, as published", places, published, kind, look.other())
    reported = [_number(row.reported) for row in rows]
    if any(reported):
        yield Series(
            "paper",
            places,
            tuple(each and each[0] for each in reported),
            "points",
            look,
            spread=tuple((each and each[1]) or None for each in reported),
        )
    listed = tuple(row.listed for row in rows)
    if any(value is not None for value in listed):
        yield Series("artefact", places, listed, "points", replace(look, variant=3))
