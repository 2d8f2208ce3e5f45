"""Bar charts over schemes, sweep points, servers or percentiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from netkv.report import metrics
from netkv.report.figure import Axis, Figure, Series, plain
from netkv.report.rows import Key, Relation, Row, Value, label, title
from netkv.report.style import Style, neutral, numbered, of_scheme
from netkv.runs.records import RunRecord
from netkv.scenarios.plot import Plot
from netkv.scenarios.recovery import longest
from netkv.scenarios.results import Interval

Part: TypeAlias = tuple[str, list[float | None]]
"""A part of stacked bars: its name, and its height in each bar."""


def schemes(plot: Plot, found: Sequence[Row], relation: Relation, y: Axis) -> Figure:
    """Schemes side by side; at several sweep points a group of bars for each scheme."""
    names = list(dict.fromkeys(row.scheme for row in found))
    points = list(dict.fromkeys(row.key()[1] for row in found))
    style = numbered((name, point) for name in names for point in points)
    series = [
        _series(
            "",
            [relation.of(row, lambda run: metrics.of_run(run, plot.y))],
            [names.index(row.scheme)],
            style[row.key()],
            points.index(row.key()[1]),
        )
        for row in found
    ]
    if len(points) > 1:
        series += _legend([plain(point, 48) for point in points])
    x = Axis("", categories=tuple(plain(title(name), 30) for name in names))
    return Figure("", plot.title, x, y, tuple(series))


def sweep(plot: Plot, found: Sequence[Row], relation: Relation, y: Axis) -> Figure:
    """A group of bars for each value of a swept option."""
    values = _values(plot.x, found)
    keys = list(dict.fromkeys(row.key(plot.x) for row in found))
    style = numbered(keys)
    by_bar = _by_bar(plot.x, found)
    series = []
    for slot, key in enumerate(keys):
        own = [by_bar.get((key, value)) for value in values]
        means = [
            None if row is None else relation.of(row, lambda run: metrics.of_run(run, plot.y))
            for row in own
        ]
        series.append(_series(label(key), means, range(len(values)), style[key], slot))
    return Figure("", plot.title, _option_axis(plot.x, values), y, tuple(series))


def many(plot: Plot, found: Sequence[Row], relation: Relation, y: Axis) -> Figure:
    """Several values for each run: the load of every server, or the percentiles of latency."""
    style = numbered(row.key() for row in found)
    load = plot.y == "server_load"
    if load:
        servers = max(len(run.server_load) for row in found for run in row.runs)
        x = Axis("Servers, the busiest first", categories=tuple(map(str, range(1, servers + 1))))
        values = [_load(rank) for rank in range(servers)]
    else:
        x = Axis("", categories=tuple(metrics.PERCENTILES.values()))
        values = [_percentile(name) for name in metrics.PERCENTILES]
    # The load of a server is relative to the mean load of the baseline's servers.
    by = _mean_load if load else None
    series = [
        _series(
            row.label(),
            [relation.of(row, value, by) for value in values],
            range(len(values)),
            style[row.key()],
            slot,
        )
        for slot, row in enumerate(found)
    ]
    return Figure("", plot.title, x, y, tuple(series))


def stacked(plot: Plot, found: Sequence[Row], relation: Relation, y: Axis) -> Figure:
    """Stacked throughput of the servers and of the cache."""

    def parts(own: Sequence[tuple[int, Row]]) -> list[Part]:
        servers = [_mean(relation.of(row, _servers, _throughput)) for _, row in own]
        cache = [_mean(relation.of(row, _cache, _throughput)) or None for _, row in own]
        return [("servers", servers), ("cache", cache)] if any(cache) else [("servers", servers)]

    def whole(row: Row) -> Interval | None:
        return relation.of(row, _throughput, _throughput)

    return _stacks(plot, found, y, parts, whole)


def phases(plot: Plot, found: Sequence[Row], relation: Relation, y: Axis) -> Figure:
    """Stacked phases of recoveries; rows without a recovery have no bar."""
    found = [row for row in found if row.mean(_recovery) is not None]
    names = dict.fromkeys(name for row in found for name in _phase_names(row))

    def parts(own: Sequence[tuple[int, Row]]) -> list[Part]:
        return [
            (name, [_mean(relation.of(row, _phase(name), _recovery)) for _, row in own])
            for name in names
        ]

    return _stacks(plot, found, y, parts, lambda row: relation.of(row, _recovery))


def _stacks(
    plot: Plot,
    found: Sequence[Row],
    y: Axis,
    parts: Callable[[Sequence[tuple[int, Row]]], list[Part]],
    whole: Callable[[Row], Interval | None],
) -> Figure:
    """Stacked bars in the colours of their schemes; the parts differ in pattern.

    `parts` returns the heights of the bars of a series, from the lowest part up, and `whole` the
    confidence interval at the end of a bar.
    """
    x, slots = _positions(plot, found)
    named = plot.x != "scheme"
    style = numbered(row.key(plot.x) for row in found)
    if not named:
        # The axis distinguishes the bars of a scheme, so patterns distinguish the parts.
        style = {key: of_scheme(key[0]) for key in style}
    series: list[Series] = []
    seen: dict[str, None] = {}
    for slot, bars in enumerate(slots):
        for key in dict.fromkeys(row.key(plot.x) for _, row in bars):
            own = [(at, row) for at, row in bars if row.key(plot.x) == key]
            stack = parts(own)
            seen.update(dict.fromkeys(name for name, _ in stack))
            base = [0.0] * len(own)
            drawn = []
            for part, (name, heights) in enumerate(stack):
                drawn.append(
                    Series(
                        _part_name(label(key), name, len(stack)) if named else "",
                        tuple(float(at) for at, _ in own),
                        tuple(heights),
                        "bars",
                        style[key],
                        base=tuple(base),
                        slot=slot,
                        part=part,
                    )
                )
                base = [low + (height or 0.0) for low, height in zip(base, heights, strict=True)]
            series += _with_interval(drawn, [_half(whole(row)) for _, row in own])
    if not named:
        series += _legend([plain(name, 40) for name in seen], parts=True)
    return Figure("", plot.title, x, y, tuple(series))


def _part_name(whose: str, part: str, parts: int) -> str:
    return f"{whose}: {plain(part, 40)}" if parts > 1 else whose


def _legend(names: Sequence[str], *, parts: bool = False) -> Iterator[Series]:
    """Entries of the legend, in grey, because each applies to schemes of several colours.

    An entry is for a part of a stack, or for the variant with its number of every scheme.
    """
    for number, name in enumerate(names):
        style, part = (neutral(), number) if parts else (neutral(number), 0)
        yield Series(name, (0.0,), (None,), "bars", style, part=part)


def _with_interval(parts: Sequence[Series], whole: Sequence[float | None]) -> Iterator[Series]:
    """Add the interval of each bar to its uppermost part."""
    left = list(whole)
    ended = []
    for part in reversed(parts):
        spread = []
        for at, height in enumerate(part.y):
            spread.append(None if height is None else left[at])
            left[at] = None if height is not None else left[at]
        ended.append(replace(part, spread=tuple(spread)))
    yield from reversed(ended)


def _positions(plot: Plot, found: Sequence[Row]) -> tuple[Axis, list[list[tuple[int, Row]]]]:
    """The axis of stacked bars, and for each slot, its rows with their positions on the axis."""
    if plot.x == "scheme":
        x = Axis("", categories=tuple(row.label() for row in found))
        return x, [list(enumerate(found))]
    values = _values(plot.x, found)
    bars: dict[Key, list[tuple[int, Row]]] = {}
    for row in found:
        bars.setdefault(row.key(plot.x), []).append((values.index(str(row.at(plot.x))), row))
    return _option_axis(plot.x, values), list(bars.values())


def _series(
    name: str, means: Sequence[Interval | None], at: Sequence[int], style: Style, slot: int = 0
) -> Series:
    return Series(
        name,
        tuple(float(position) for position in at),
        tuple(_mean(mean) for mean in means),
        "bars",
        style,
        tuple(_half(mean) for mean in means),
        slot=slot,
    )


def _mean(value: Interval | None) -> float | None:
    return None if value is None else value.mean


def _half(value: Interval | None) -> float | None:
    return None if value is None else value.ci95


def _values(path: str, found: Sequence[Row]) -> list[str]:
    """The values of a swept option: numbers sorted, others in the order of the rows."""
    values: list[Any] = list({str(row.at(path)): row.at(path) for row in found}.values())
    if all(isinstance(value, int | float) for value in values):
        values.sort()
    return [str(value) for value in values]


def _by_bar(path: str, found: Sequence[Row]) -> dict[tuple[Key, str], Row]:
    return {(row.key(path), str(row.at(path))): row for row in found}


def _option_axis(path: str, values: Sequence[str]) -> Axis:
    swept = metrics.option(path)
    return Axis(swept.label, swept.unit, categories=tuple(plain(value, 30) for value in values))


def _load(rank: int) -> Value:
    def value(run: RunRecord) -> float | None:
        load = sorted(run.server_load, reverse=True)
        return load[rank] if rank < len(load) else None

    return value


def _percentile(name: str) -> Value:
    return lambda run: metrics.percentile(run, name)


def _mean_load(run: RunRecord) -> float | None:
    return sum(run.server_load) / len(run.server_load) if run.server_load else None


def _throughput(run: RunRecord) -> float | None:
    return run.throughput_ops if run.server_load else None


def _servers(run: RunRecord) -> float | None:
    return metrics.served(run)[0]


def _recovery(run: RunRecord) -> float | None:
    return metrics.of_run(run, "recovery_time")


def _phase(name: str) -> Value:
    return lambda run: metrics.phase(run, name)


def _phase_names(row: Row) -> Iterator[str]:
    for run in row.runs:
        found = longest(run.recoveries)
        yield from (phase.name for phase in found.phases) if found else ()


def _cache(run: RunRecord) -> float | None:
    return metrics.served(run)[1]
