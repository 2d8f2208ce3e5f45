"""Figures of metrics over time, with the events of the runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from netkv.report.figure import Axis, Band, Figure, Mark, Reference, Series, plain
from netkv.report.grid import Grid
from netkv.report.metrics import of_run
from netkv.report.rows import Relation, Row, label
from netkv.report.style import Style, numbered
from netkv.runs.records import RunRecord
from netkv.scenarios.plot import Plot
from netkv.scenarios.statistics import interval
from netkv.schemes import metric_table

Stretch: TypeAlias = tuple[str, float, float]
"""A node or fault, and start and end of a period."""

_DOWN = frozenset({"killed", "failed", "stopped"})
_UP = frozenset({"started", "ready"})
_SAME = 0.03
"""Events of several runs with the same text are drawn once if they are at most this share of the
measured part apart."""


def figure(plot: Plot, rows: Sequence[Row], relation: Relation, y: Axis) -> Figure:
    """A line per row: the mean over its repeats. Rows without values have no line.

    All lines have the same intervals.
    """
    runs = [run for row in rows for run in row.runs]
    grid = Grid.of(runs)
    style = numbered(row.key() for row in rows)
    series = []
    references = []
    for row in rows:
        drawn = _line(row, plot.y, relation, style[row.key()], grid)
        if drawn is None:
            continue
        series.append(drawn)
        predicted = row.mean(lambda run: run.predicted_hit_ratio)
        if plot.y == "hit_ratio" and predicted is not None and not relation:
            references.append(Reference(predicted.mean, "", style[row.key()].colour))
    if references:
        references.append(Reference(references[-1].value, "predicted"))
        references = [references[-1], *references[:-1]]
    modes = {run.mode for run in runs}
    return Figure(
        name="",
        title=plot.title,
        x=Axis("Virtual time" if modes == {"sim"} else "Time", "s"),
        y=y,
        series=tuple(series),
        bands=(
            *_warmup(runs),
            *_stretches(runs, _down, "down", "{} down"),
            *_stretches(runs, _faults, "fault", "{}"),
            *_stretches(runs, _recovering, "recovering", "{} recovering"),
        ),
        marks=tuple(_marks(runs)),
        references=tuple(references),
    )


def _line(row: Row, metric: str, relation: Relation, style: Style, grid: Grid) -> Series | None:
    by = 1.0
    if relation:
        base = relation.base(row)
        whole = base.mean(lambda run: of_run(run, metric)) if base is not None else None
        if whole is None or not whole.mean:
            return None
        by = whole.mean
    over = metric_table.get(metric).time
    of_runs = [grid.values(run, metric, over) for run in row.runs]
    numbers = sorted({number for values in of_runs for number in values})
    if not numbers:
        return None
    means = {
        number: interval([values[number] for values in of_runs if number in values])
        for number in numbers
    }
    points = [(number, means.get(number)) for number in range(numbers[0], numbers[-1] + 1)]
    return Series(
        label(row.key()),
        tuple(grid.interval(number)[1] for number, _ in points),
        tuple(None if value is None else value.mean / by for _, value in points),
        draw="intervals",
        begins=tuple(grid.interval(number)[0] for number, _ in points),
        style=style,
        marked=False,
        spread=tuple(
            None if value is None or value.ci95 is None else value.ci95 / by for _, value in points
        ),
    )


def _times(run: RunRecord) -> list[float]:
    return [float(time) for time in run.series.get("time", [])]


def _warmup(runs: Iterable[RunRecord]) -> Iterator[Band]:
    seconds = max((run.warmup for run in runs), default=0.0)
    if seconds:
        yield Band(-seconds, 0.0, "warm-up", "warmup")


def _stretches(
    runs: Iterable[RunRecord],
    of_run: Callable[[RunRecord], Iterator[Stretch]],
    kind: Literal["down", "fault", "recovering"],
    text: str,
) -> Iterator[Band]:
    """The periods of all runs as bands; overlapping periods of one subject are joined."""
    found: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        for node, start, end in of_run(run):
            found.setdefault(node, []).append((start, end))
    for node, stretches in found.items():
        joined: list[tuple[float, float]] = []
        for start, end in sorted(stretches):
            if joined and start <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(joined[-1][1], end))
            else:
                joined.append((start, end))
        for start, end in joined:
            yield Band(start, end, plain(text.format(node), 40), kind)


def _down(run: RunRecord) -> Iterator[Stretch]:
    since: dict[str, float] = {}
    for event in run.events:
        # The events at the end of a run are from the end of its rack.
        if not 0 < event.time < run.duration or event.node == "rack":
            continue
        if event.kind in _DOWN:
            since.setdefault(event.node, event.time)
        elif event.kind in _UP and event.node in since:
            yield event.node, since.pop(event.node), event.time
    end = max([0.0, *_times(run)])
    for node, start in since.items():
        yield node, start, max(start, end)


def _faults(run: RunRecord) -> Iterator[Stretch]:
    """Faults of links, servers and the control channel. Those of nodes are outages."""
    begun: dict[int, tuple[str, float]] = {}
    for event in run.events:
        change = event.change
        if change is None or change.target == "node" or event.time >= run.duration:
            continue
        for number in change.ends:
            if number in begun:
                yield *begun.pop(number), event.time
        if change.begins is not None:
            begun[change.begins] = change.what, event.time
    last = max([0.0, *_times(run)])
    for what, start in begun.values():
        yield what, start, max(start, last)


def _recovering(run: RunRecord) -> Iterator[Stretch]:
    """Recoveries: each from the restart of the switch to the end of the recovery.

    If only the controller was down, the recovery has the duration of its phases.
    An incomplete recovery lasts until the end of the run.
    """
    outages = list(_down(run))
    recovered_at: dict[str, float] = {}
    """End of the last recovery of each switch."""
    last = max([0.0, *_times(run)])
    for found in run.recoveries:
        since = recovered_at.get(found.switch, -math.inf)
        back = [end for node, _, end in outages if node == found.switch and since < end <= found.at]
        start = min(back, default=found.at - found.seconds)
        recovered_at[found.switch] = found.at
        if 0 < start < last:
            yield found.switch, start, min(found.at, last)
    for left in run.unfinished_recoveries:
        if not left.recovered and 0 < left.began < last:
            yield left.switch, left.began, last


def _marks(runs: Iterable[RunRecord]) -> Iterator[Mark]:
    """Changes of the load and notes, each once. Outages and faults are bands instead."""
    marks: list[Mark] = []
    for run in runs:
        for event in run.events:
            change = event.change
            if change is None:
                marked = event.kind == "note"
            else:
                in_band = change.target == "node" or change.begins is not None or change.ends
                marked = not in_band
            if not marked or not 0 < event.time < run.duration:
                continue
            mark = Mark(event.time, plain(event.text, 40))
            near = run.duration * _SAME
            if not any(m.text == mark.text and abs(m.at - mark.at) <= near for m in marks):
                marks.append(mark)
    yield from sorted(marks, key=lambda mark: mark.at)
