"""The papers' points: on figures of runs that repeat an experiment, and on those of evaluations."""

from __future__ import annotations

from typing import Any

import pytest

from netkv import evaluation, resources
from netkv.evaluation import Measured
from netkv.report import papers, plots
from netkv.report.figure import Figure
from netkv.report.figure_table import to_csv
from netkv.runs.records import RunRecord
from netkv.scenarios import loader
from netkv.scenarios.plot import Plot
from tests.runs.recorded_runs import result, samples, start

ZIPF = (0, 0.9, 0.95, 0.99)
RATIO = Plot.model_validate(
    {"y": "throughput_ops", "x": "workload.zipf", "relative_to": {"scheme": "nocache"}}
)


def skew(*changes: str, seeds: int = papers.MIN_SEEDS) -> list[RunRecord]:
    """Runs with the settings of the scenario `netcache-skew` after these changes."""
    scenario = loader.load(loader.find("netcache-skew"), list(changes))
    records = []
    for zipf in ZIPF:
        for scheme in ("nocache", "netcache"):
            applied = loader.apply(scenario, {"workload.zipf": zipf}).of_scheme(scheme)
            for repeat in range(seeds):
                run = start(
                    f"{scheme}-{zipf}-{repeat}",
                    scheme,
                    scenario="netcache-skew",
                    mode="sim",
                    params={"workload.zipf": zipf},
                    repeat=repeat,
                    seed=1 + repeat,
                    parameters=applied.model_dump(mode="json"),
                )
                ended = result(run, list(samples(run)))
                about: dict[str, Any] = {**run.model_dump(), **ended.model_dump()}
                records.append(RunRecord.model_validate({**about, "group": "g"}))
    return records


def points(figure: Figure) -> dict[str, dict[float, float | None]]:
    return {
        series.name: dict(zip(series.x, series.y, strict=True))
        for series in figure.series
        if series.draw == "points"
    }


def test_repeated_figure_has_the_papers_points() -> None:
    figure = plots.draw(RATIO, skew())
    assert points(figure) == {"NetCache, paper": {0.9: 3.6, 0.95: 6.5, 0.99: 10}}
    assert "NetCache, paper" in to_csv(figure).splitlines()[0]


def test_ratio_to_another_point_has_the_papers_points() -> None:
    plot = Plot.model_validate(
        {"x": "workload.zipf", "relative_to": {"point": {"workload.zipf": 0}}}
    )
    assert points(plots.draw(plot, skew())) == {"NoCache, paper": {0.95: 0.225, 0.99: 0.156}}


@pytest.mark.parametrize(
    "plot",
    [
        {"x": "workload.zipf"},
        {"x": "workload.zipf", "relative_to": {"scheme": "netcache"}},
        {"y": "hit_ratio", "x": "workload.zipf"},
    ],
)
def test_another_quantity_has_no_points(plot: dict[str, Any]) -> None:
    assert points(plots.draw(Plot.model_validate(plot), skew())) == {}


def test_few_seeds_have_no_points_beside_them() -> None:
    assert points(plots.draw(RATIO, skew(seeds=papers.MIN_SEEDS - 1))) == {}
    assert points(plots.draw(RATIO, skew()[:-1])) == {}, "one scheme has a seed less at one point"


def test_runs_with_other_settings_have_no_points() -> None:
    assert points(plots.draw(RATIO, skew("lab.servers=16"))) == {}


@pytest.mark.parametrize("name", evaluation.names())
def test_stored_evaluations_can_be_drawn(name: str) -> None:
    for experiment in evaluation.load(name).experiments:
        measured = Measured.read(resources.path("evaluation"), experiment.name)
        assert measured is not None, experiment.name
        for figure in papers.figures(experiment, list(evaluation.rows(experiment, measured))):
            assert figure.series[0].name == "netkv"
            assert {"paper", "artefact"} & {series.name for series in figure.series}


def test_ranges_are_points_with_bars_and_words_are_left_out() -> None:
    assert papers._number((2.0, 4.0)) == (3.0, 1.0)
    assert papers._number("about equal") is None
    assert papers._number(2) == (2.0, 0.0)
