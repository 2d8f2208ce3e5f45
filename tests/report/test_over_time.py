"""Figures over time: steps over intervals, gaps, and one grid for all series."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import pytest

from netkv.report import plots
from netkv.report.figure import Figure, Series
from netkv.report.figure_table import to_csv, to_latex
from netkv.report.grid import Grid
from netkv.report.interactive import traces
from netkv.runs import RunRecord, Store
from netkv.scenarios.plot import Plot
from tests.runs.recorded_runs import record_comparison

HUNG: dict[str, list[Any]] = {
    "time": [-1.0, 0.0, 1.0, 2.0, 6.0, 7.0],
    "interval": [1.0, 1.0, 1.0, 1.0, 4.0, 1.0],
    "throughput_ops": [900.0, 900.0, 900.0, 900.0, 100.0, 900.0],
    "lost_ops": [0, 0, 0, 0, 8, 0],
    "cached": [5, 5, 5, 5, 3, 5],
}
"""The load generator did not answer for four seconds."""
SILENT: dict[str, list[Any]] = {
    "time": [1.0, 2.0, 3.0, 4.0],
    "interval": [1.0, 1.0, 1.0, 1.0],
    "throughput_ops": [900.0, 900.0, 900.0, 900.0],
    "hit_ratio": [0.5, None, None, 0.5],
}
OLD: dict[str, list[Any]] = {
    "time": [1.0031, 2.0077, 6.6112, 7.0102, 8.0149],
    "interval": [1.0031, 1.0046, 4.6035, 0.399, 1.0047],
    "throughput_ops": [900.0, 900.0, 100.0, 900.0, 900.0],
}
"""A live run of an older netkv: samples were late, and one of them waited for a restart."""


@pytest.fixture
def records(store: Store) -> list[RunRecord]:
    """A run of nocache and one of netcache."""
    return store.records(record_comparison(store))


def with_series(record: RunRecord, series: dict[str, list[Any]]) -> RunRecord:
    return record.model_copy(update={"series": series})


def drawn(*records: RunRecord, **options: Any) -> Figure:
    return plots.draw(Plot.model_validate({"x": "time", **options}), records)


def levels(series: Series) -> dict[float, float | None]:
    """The value of the interval that ends at each time."""
    return dict(zip(series.x, series.y, strict=True))


def test_value_is_a_step_over_its_interval(records: list[RunRecord]) -> None:
    (series,) = drawn(with_series(records[0], HUNG), y="throughput_ops").series
    assert series.draw == "intervals"
    assert series.begins == (-2, -1, 0, 1, 2, 3, 4, 5, 6)
    edges = [(x, series.y[at]) for x, at in series.corners()]
    assert edges[:4] == [(-2, 900), (-1, 900), (-1, 900), (0, 900)]
    assert [edge for edge in edges if edge[0] == 2] == [(2, 900), (2, 100)], "it falls at once"


def test_long_sample_is_about_all_its_intervals(records: list[RunRecord]) -> None:
    record = with_series(records[0], HUNG)
    (series,) = drawn(record, y="throughput_ops").series
    assert [levels(series)[time] for time in (2, 3, 4, 5, 6, 7)] == [900, 100, 100, 100, 100, 900]
    (losses,) = drawn(record, y="lost_ops").series
    assert [levels(losses)[time] for time in (2, 3, 4, 5, 6, 7)] == [0, 2, 2, 2, 2, 0]


def test_gap_is_a_gap_in_all_renderers(records: list[RunRecord]) -> None:
    figure = drawn(with_series(records[1], SILENT), y="hit_ratio")
    (series,) = figure.series
    assert levels(series) == {1: 0.5, 2: None, 3: None, 4: 0.5}
    (line, *_) = traces(figure)
    places = list(zip(line["x"], line["y"], strict=True))
    known = [place for place in places if place[1] is not None]
    assert known == [(0, 0.5), (1, 0.5), (3, 0.5), (4, 0.5)]
    between = places[places.index((1, 0.5)) + 1 : places.index((3, 0.5))]
    assert between
    assert all(value is None for _, value in between), "no line joins them"


def test_step_is_as_long_as_a_phase_of_less_than_a_second(records: list[RunRecord]) -> None:
    """The warm-up of half a second was drawn over a second, and the last 0.3 s were not drawn."""
    series = {"time": [0.0, 1.0, 2.3], "interval": [0.5, 1.0, 1.3]}
    record = with_series(records[0], {**series, "throughput_ops": [800.0, 900.0, 700.0]})
    short = record.model_copy(update={"warmup": 0.5, "duration": 2.3})
    (line,) = drawn(short, y="throughput_ops").series
    steps = zip(line.begins, line.x, line.y, strict=True)
    assert list(steps) == [(-0.5, 0, 800), (0, 1, 900), (1, 2.3, 700)]


def test_runs_of_different_lengths_keep_their_own_steps(records: list[RunRecord]) -> None:
    one: dict[str, list[Any]] = {"time": [1.0, 2.3], "interval": [1.0, 1.3], "lost_ops": [0, 13]}
    other: dict[str, list[Any]] = {"time": [1.0, 2.0, 2.75], "interval": [1.0, 1.0, 0.75]}
    other["lost_ops"] = [0, 5, 15]
    figure = drawn(
        with_series(records[0], one).model_copy(update={"warmup": 0.0, "duration": 2.3}),
        with_series(records[1], other).model_copy(update={"warmup": 0.0, "duration": 2.75}),
        y="lost_ops",
    )
    assert [levels(series) for series in figure.series] == [
        {1: 0, 2: pytest.approx(10), 2.3: pytest.approx(3)},
        {1: 0, 2: 5, 2.3: pytest.approx(6), 2.75: pytest.approx(9)},
    ]


def test_missing_samples_are_a_gap(records: list[RunRecord]) -> None:
    series = {name: [*values[:1], *values[3:]] for name, values in SILENT.items()}
    (line,) = drawn(with_series(records[1], series), y="throughput_ops").series
    assert levels(line) == {1: 900, 2: None, 3: None, 4: 900}


def test_band_of_repeats_has_the_gaps_of_its_line(records: list[RunRecord]) -> None:
    first = with_series(records[1], SILENT)
    other = {**SILENT, "hit_ratio": [0.7, None, None, 0.7]}
    figure = drawn(first, with_series(records[1], other), y="hit_ratio")
    band, _, *_ = traces(figure)
    assert band["fill"] == "toself"
    assert band["x"] == [0, 1, 1, 0, None, 3, 4, 4, 3]
    (series,) = figure.series
    assert series.y[1:3] == (None, None)
    assert series.y[0] == series.y[3] == pytest.approx(0.6)


def test_all_schemes_have_the_same_times(records: list[RunRecord]) -> None:
    """Runs of older versions were sampled some milliseconds apart, so no two rows were equal."""
    nocache = with_series(records[0], OLD)
    netcache = with_series(records[1], {**OLD, "time": [t + 0.004 for t in OLD["time"]]})
    figure = drawn(nocache, netcache, y="throughput_ops")
    assert figure.series[0].x == figure.series[1].x == (1, 2, 3, 4, 5, 6, 7, 8)
    rows = list(csv.reader(io.StringIO(to_csv(figure))))
    assert rows[0] == ["Time (s)", "NoCache", "NetCache"]
    assert len(rows) == 9
    assert all(cell for row in rows for cell in row)
    assert "--" not in to_latex(figure)


def test_old_sample_over_an_outage_is_flat(records: list[RunRecord]) -> None:
    (series,) = drawn(with_series(records[0], OLD), y="throughput_ops").series
    assert [levels(series)[time] for time in (2, 3, 4, 5, 6, 8)] == [900, 100, 100, 100, 100, 900]
    seventh = levels(series)[7]
    assert seventh is not None
    assert 100 < seventh < 900, "it has a part of two samples"


def test_series_without_lengths_are_drawn(records: list[RunRecord]) -> None:
    series = {name: values for name, values in SILENT.items() if name != "interval"}
    (line,) = drawn(with_series(records[1], series), y="throughput_ops").series
    assert levels(line) == {1: 900, 2: 900, 3: 900, 4: 900}


def test_scheme_that_ended_early_has_unknown_values_at_the_end(records: list[RunRecord]) -> None:
    short = {name: values[:2] for name, values in SILENT.items()}
    figure = drawn(
        with_series(records[0], short), with_series(records[1], SILENT), y="throughput_ops"
    )
    rows = list(csv.reader(io.StringIO(to_csv(figure))))
    assert [row[1] for row in rows[1:]] == ["900.0", "900.0", "", ""]


@pytest.mark.parametrize(
    ("metric", "over", "joined"),
    [("throughput_ops", "rate", 25.0), ("lost_ops", "sum", 100), ("cached", "last", 40)],
)
def test_samples_within_an_interval_are_combined(
    records: list[RunRecord], metric: str, over: Any, joined: float
) -> None:
    four = [10, 20, 30, 40]
    series: dict[str, list[Any]] = {"time": [0.25, 0.5, 0.75, 1.0], "interval": [0.25] * 4}
    series[metric] = four
    grid = Grid((0.0, 1.0))
    assert grid.values(with_series(records[0], series), metric, over) == {0: joined}


def test_long_runs_have_a_limited_number_of_intervals(records: list[RunRecord]) -> None:
    times = [float(time) for time in range(1, 5001)]
    series = {"time": times, "interval": [1.0] * 5000, "throughput_ops": times}
    (line,) = drawn(with_series(records[0], series), y="throughput_ops").series
    assert {end - begin for begin, end in zip(line.begins, line.x, strict=True)} == {5}
    assert len(line.x) == 1000
    assert line.y[0] == 3
    assert math.fsum(value or 0 for value in line.y) * 5 == math.fsum(times)
