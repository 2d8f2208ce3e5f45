"""Figures of bars: a scheme, a sweep point, a server or a percentile each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from netkv.report import metrics
from netkv.report.figure import Axis, Figure, Series, plain
from netkv.report.rows import Key, Relation, Row, Value, label, places, title
from netkv.runs.records import RunRecord
from netkv.scenarios.plot import Plot
from netkv.scenarios.recovery import longest
from netkv.scenarios.results import Interval


def schemes(plot: Plot, found: Sequence[Row], relation: Relation, y: Axis) -> Figure:
    """Schemes side by side; at several sweep points a group of bars for each scheme."""
    names = list(dict.fromkeys(row.scheme for row in found))
    points = list(dict.fromkeys(row.key()[1] for row in found))
    means = {row.key(): relation.of(row, lambda run: metrics.of_run(run, plot.y)) for row in found}
    x = Axis("", categories=tuple(plain(title(name), 30) for name in names))
    if len(points) == 1:
        place = places(list(means))
        # Each has its own colour, as in the figures of lines; the axis says which it is.
        series = [
            _series("", [mean], [names.index(key[0])], place[key]) for key, mean in means.items()
        ]
    else:
        series = [
            _series(
                plain(point, 48),
                [means.get((name, point)) for name in names],
                range(len(names)),
                slot,
                slot,
            )
            for slot, point in enumerate(points)
        ]
    return Figure("", plot.title, x, y, tuple(series))


def sweep(plot: Plot, found: Sequence[Row], relation: Relation, y: Axis) -> Figure:
    """A group of bars for each value of a swept option."""
    values = _values(plot.x, found)
    keys = list(dict.fromkeys(row.key(plot.x) for row in found))
    place = places(keys)
    by_bar = _by_bar(plot.x, found)
    series = []
    for slot, key in enumerate(keys):
        own = [by_bar.get((key, value)) for value in values]
        means = [
            None if row is None else relation.of(row, lambda run: metrics.of_run(run, plot.y))
            for row in own
        ]
        series.append(_series(label(key), means, range(len(values)), place[key], slot))
    return Figure("", plot.title, _option_axis(plot.x, values), y, tuple(series))


def many(plot: Plot, found: Sequence[Row], relation: Relation, y: Axis) -> Figure:
    """What is many values for each run: load of every server, or percentiles of latency."""
    place = places([row.key() for row in found])
    load = plot.y == "server_load"
    if load:
        servers = max(len(run.server_load) for row in found for run in row.runs)
        x = Axis("Servers, the busiest first", categories=tuple(map(str, range(1, servers + 1))))
        values = [_load(rank) for rank in range(servers)]
    else:
        x = Axis("", categories=tuple(metrics.PERCENTILES.values()))
        values = [_percentile(name) for name in metrics.PERCENTILES]
    # The load of a server is relative to the mean load of the baseline's.
    by = _mean_load if load else None
    series = [
        _series(
            row.label(),
            [relation.of(row, value, by) for value in values],
            range(len(values)),
            place[row.key()],
            slot,
        )
        for slot, row in enumerate(found)
    ]
    return Figure("", plot.title, x, y, tuple(series))


def stacked(plot: Plot, found: Sequence[Row], relation: Relation, y: Axis) -> Figure:
    """What the servers answered and, on top of it, what the cache did."""
    x, bars = _positions(plot, found)
    place = places(list(bars)) if plot.x != "scheme" else dict.fromkeys(bars, 0)
    series: list[Series] = []
    for slot, (key, own) in enumerate(bars.items()):
        series += _stack(label(key), own, relation, place[key], slot)
    return Figure("", plot.title, x, y, tuple(series))


def phases(plot: Plot, found: Sequence[Row], relation: Relation, y: Axis) -> Figure:
    """The phases of recoveries on top of each other; rows without a recovery have no bar."""
    found = [row for row in found if row.mean(_recovery) is not None]
    x, bars = _positions(plot, found)
    names = dict.fromkeys(name for row in found for name in _phase_names(row))
    series: list[Series] = []
    for slot, (key, own) in enumerate(bars.items()):
        whose = f"{label(key)}: " if len(bars) > 1 else ""
        at = tuple(float(position) for position, _ in own)
        whole = [_half(relation.of(row, _recovery)) for _, row in own]
        base = [0.0] * len(own)
        parts: list[Series] = []
        for number, name in enumerate(names):
            heights = [_mean(relation.of(row, _phase(name), _recovery)) for _, row in own]
            place = slot * len(names) + number
            parts.append(
                Series(
                    f"{whose}{plain(name, 40)}",
                    at,
                    tuple(heights),
                    "bars",
                    place,
                    base=tuple(base),
                    slot=slot,
                )
            )
            base = [below + (height or 0.0) for below, height in zip(base, heights, strict=True)]
        series += _with_interval(parts, whole)
    return Figure("", plot.title, x, y, tuple(series))


def _with_interval(parts: Sequence[Series], whole: Sequence[float | None]) -> Iterator[Series]:
    """The interval of whole bars, at the end of the uppermost part of each."""
    left = list(whole)
    ended = []
    for part in reversed(parts):
        spread = []
        for at, height in enumerate(part.y):
            spread.append(None if height is None else left[at])
            left[at] = None if height is not None else left[at]
        ended.append(replace(part, spread=tuple(spread)))
    yield from reversed(ended)


def _positions(plot: Plot, found: Sequence[Row]) -> tuple[Axis, dict[Key, list[tuple[int, Row]]]]:
    """The axis of stacked bars, and the rows of each slot with their positions on it."""
    if plot.x == "scheme":
        x = Axis("", categories=tuple(row.label() for row in found))
        return x, {("", ""): list(enumerate(found))}
    values = _values(plot.x, found)
    bars: dict[Key, list[tuple[int, Row]]] = {}
    for row in found:
        bars.setdefault(row.key(plot.x), []).append((values.index(str(row.at(plot.x))), row))
    return _option_axis(plot.x, values), bars


def _stack(
    name: str, bars: Sequence[tuple[int, Row]], relation: Relation, place: int, slot: int
) -> list[Series]:
    at = tuple(float(position) for position, _ in bars)
    servers = [_mean(relation.of(row, _servers, _throughput)) for _, row in bars]
    cache = [_mean(relation.of(row, _cache, _throughput)) for _, row in bars]
    # The interval is that of the whole bar, so it stands at the end of its upper part.
    whole = [_half(relation.of(row, _throughput, _throughput)) for _, row in bars]
    if not any(cache):
        name = name or "servers"
        return [Series(name, at, tuple(servers), "bars", place, tuple(whole), slot=slot)]
    below = tuple(None if top else half for top, half in zip(cache, whole, strict=True))
    above = tuple(half if top else None for top, half in zip(cache, whole, strict=True))
    said = f"{name}: " if name else ""
    return [
        Series(f"{said}servers", at, tuple(servers), "bars", place, below, slot=slot),
        Series(
            f"{said}cache",
            at,
            tuple(top or None for top in cache),
            "bars",
            place,
            above,
            tuple(value or 0.0 for value in servers),
            slot,
            hatched=True,
        ),
    ]


def _series(
    name: str, means: Sequence[Interval | None], at: Sequence[int], place: int, slot: int = 0
) -> Series:
    return Series(
        name,
        tuple(float(position) for position in at),
        tuple(_mean(mean) for mean in means),
        "bars",
        place,
        tuple(_half(mean) for mean in means),
        slot=slot,
    )


def _mean(value: Interval | None) -> float | None:
    return None if value is None else value.mean


def _half(value: Interval | None) -> float | None:
    return None if value is None else value.ci95


def _values(path: str, found: Sequence[Row]) -> list[str]:
    """The values of a swept option, numbers in their order, others as they come."""
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
    return run.recovery_time


def _phase(name: str) -> Value:
    return lambda run: metrics.phase(run, name)


def _phase_names(row: Row) -> Iterator[str]:
    for run in row.runs:
        found = longest(run.recoveries)
        yield from (phase.name for phase in found.phases) if found else ()


def _cache(run: RunRecord) -> float | None:
    return metrics.served(run)[1]
