"""Evaluations of papers: the computed rows, and the tables and data of the documents."""

from __future__ import annotations

import math
import re
from itertools import product
from pathlib import Path

import pytest

from netkv import evaluation
from netkv.errors import NetkvError, UsageError
from netkv.evaluation import Measured, document, scores
from netkv.evaluation.measured import MeasuredRun, measure, needed
from netkv.evaluation.reference import MEAN, Experiment
from netkv.evaluation.scores import Count
from netkv.scenarios import loader
from netkv.scenarios.results import CANCELLED, RunResult

ROOT = Path(__file__).parents[2]
DATA = ROOT / "docs" / "evaluation"

EXPERIMENT = Experiment.model_validate(
    {
        "name": "tiny",
        "title": "Tiny",
        "source": "none",
        "scenario": "quickstart",
        "claims": [
            {
                "name": "gain",
                "quantity": "netcache.throughput_ops / nocache.throughput_ops",
                "along": "workload.zipf",
                "mean": True,
                "paper": {0.9: 2.0, MEAN: 3.0},
                "artefact": {0.99: 5.0},
            },
            {
                "name": "of uniform",
                "quantity": "nocache.throughput_ops",
                "along": "workload.zipf",
                "over": {"quantity": "nocache.throughput_ops", "at": {"workload.zipf": 0.9}},
            },
        ],
    }
)


def measured(gains: dict[float, list[float]]) -> Measured:
    """Runs of NoCache at 100 operations/s and of NetCache at `gain` times that, by Zipf."""
    runs = [
        MeasuredRun(
            scheme=scheme,
            params={"workload.zipf": zipf},
            seed=seed,
            metrics={"throughput_ops": 100.0 * (gain if scheme == "netcache" else 1)},
        )
        for zipf, by_seed in gains.items()
        for seed, gain in enumerate(by_seed)
        for scheme in ("nocache", "netcache")
    ]
    return Measured(experiment="tiny", scenario="quickstart", changes=[], seeds=[0, 1], runs=runs)


def test_a_row_has_the_mean_over_seeds_and_its_difference() -> None:
    found = evaluation.rows(EXPERIMENT, measured({0.9: [2.0, 2.4], 0.99: [4.0, 4.0]}))
    at = {(row.claim.name, row.point): row for row in found}
    assert at["gain", 0.9].measured.mean == pytest.approx(math.sqrt(2.0 * 2.4))
    assert at["gain", 0.9].by_seed.difference == pytest.approx(math.sqrt(2.0 * 2.4) / 2.0 - 1)
    assert at["gain", 0.99].by_seed.difference == pytest.approx(4 / 5 - 1), "against the artefact"
    assert at["gain", MEAN].measured.mean == pytest.approx(math.sqrt(3.0 * 3.2))
    assert at["of uniform", 0.99].measured.mean == pytest.approx(1)
    assert at["of uniform", 0.99].by_seed.difference is None


def test_spread_is_the_prediction_interval_of_a_seed() -> None:
    spread = evaluation.spread([1.0, 1.1, 1.2])
    # By hand: logarithms 0, 0.09531, 0.18232; s = 0.09120; t(0.995, 2) = 9.9248.
    assert spread.mean == pytest.approx(math.exp(0.092543), rel=1e-5)
    assert spread.high is not None
    assert math.log(spread.high / spread.mean) == pytest.approx(
        9.9248 * 0.091198 * math.sqrt(4 / 3), rel=1e-3
    )
    assert spread.low == pytest.approx(spread.mean**2 / spread.high)


def test_one_seed_has_no_spread() -> None:
    assert evaluation.spread([1.0]).high is None
    assert evaluation.spread([0.0, 1.0]).high is None


def test_claim_without_a_single_point_is_refused() -> None:
    claim = EXPERIMENT.claims[0].model_copy(update={"along": None})
    experiment = EXPERIMENT.model_copy(update={"claims": [claim]})
    with pytest.raises(NetkvError, match="more than one"):
        evaluation.rows(experiment, measured({0.9: [2.0], 0.99: [4.0]}))


def test_measurements_are_read_back_from_their_file(tmp_path: Path) -> None:
    saved = measured({0.9: [2.0, 2.4]})
    saved.save(tmp_path)
    assert Measured.read(tmp_path, "tiny") == saved
    assert Measured.read(tmp_path, "other") is None
    (tmp_path / "tiny.json").write_text("{", encoding="utf-8")
    with pytest.raises(NetkvError, match=r"tiny\.json"):
        Measured.read(tmp_path, "tiny")


@pytest.mark.parametrize(
    ("status", "reason", "sentence"),
    [
        ("failed", "a node ended.", "the run of netcache with seed 3 failed: a node ended."),
        ("cancelled", CANCELLED, "the run of netcache with seed 3 was cancelled."),
    ],
)
def test_unfinished_run_is_not_hidden_in_a_mean(status: str, reason: str, sentence: str) -> None:
    run = RunResult.model_validate(
        {"id": "r", "scheme": "netcache", "seed": 3, "status": status, "reason": reason}
    )
    with pytest.raises(NetkvError, match=f"Experiment 'tiny': {sentence}"):
        measure(EXPERIMENT, [run])


def test_tables_go_between_their_markers_only() -> None:
    one = "<!-- evaluation: one -->\nold\n<!-- end -->"
    two = "<!-- evaluation: two -->\n<!-- end -->"
    text = f"a\n{one}\nb\n{two}\n"
    changed = document.replaced(text, {"one": "new\n"})
    assert changed == text.replace("old", "new")


def test_experiment_as_published_has_columns_of_its_own() -> None:
    own = measured({0.9: [2.5, 2.5], 0.99: [4.0, 4.0]})
    published = measured({0.9: [1.9, 1.9], 0.99: [5.0, 5.0]})
    found = evaluation.rows(EXPERIMENT, own, published)
    first = found[0]
    assert first.published is not None
    assert (first.measured.mean, first.published.mean) == pytest.approx((2.5, 1.9))
    assert first.by_seed.difference == pytest.approx(0.25)
    assert first.as_published.difference == pytest.approx(-0.05)
    head, _, row, *_ = document.markdown(found, "command").strip().splitlines()
    assert head.endswith("| difference | netkv, as published | 99% of seeds | difference |")
    assert (
        row
        == "| gain | 0.9 | 2.00 |  | 2.50 | 2.50 to 2.50 | **+25%** | 1.90 | 1.90 to 1.90 | -5% |"
    )
    # Compared: at 0.9, the mean, and at 0.99 with the artefact.
    counted = scores.of_rows(found)
    assert counted.by_seed.figures == Count(3, 1)
    assert counted.published.figures == counted.alike.figures == Count(3, 2)
    plain = document.markdown(evaluation.rows(EXPERIMENT, own), "command")
    assert "published" not in plain


def test_a_figure_beyond_15_percent_may_have_the_direction() -> None:
    found = evaluation.rows(EXPERIMENT, measured({0.9: [1.2, 1.2], 0.99: [0.8, 0.8]}))
    verdicts = {(row.claim.name, row.point): row.by_seed.verdict for row in found}
    assert verdicts["gain", 0.9] == "direction", "1.2 instead of 2"
    assert verdicts["gain", 0.99] == "differs", "0.8 instead of 5"
    score = scores.of_rows(found).alike
    assert score.direction == 1 + (verdicts["gain", "mean"] == "direction")
    assert score.figures.near == 0


def test_the_papers_words_are_claims_and_figures_have_kinds() -> None:
    data = EXPERIMENT.model_dump()
    claim = data["claims"][0] | {"paper": {0.9: "about equal", 0.99: 1.0, "mean": "(a remark)"}}
    claim |= {"artefact": None, "kind": {0.99: "calibrated"}}
    experiment = Experiment.model_validate({**data, "claims": [claim]})
    figures = measured({0.9: [2.0, 2.0], 0.99: [1.0, 1.0]})
    found = evaluation.rows(experiment, figures)
    assert [row.by_seed.holds for row in found] == [False, None, None]
    score = scores.of_rows(found).alike
    assert (score.words, score.figures, score.predicted) == (Count(1, 0), Count(1, 1), Count())
    table = document.markdown(found, "command")
    assert "| **does not hold** |" in table
    assert "| +0%, calibrated |" in table
    other = Experiment.model_validate({**data, "claims": [claim | {"unlike": "with ssh"}]})
    unlike = evaluation.rows(other, figures)
    assert scores.of_rows(unlike).alike == scores.Score()
    assert document.markdown(unlike, "command").count("| another quantity: with ssh |") == 3


def test_a_figure_as_published_may_be_of_another_kind() -> None:
    data = EXPERIMENT.model_dump()
    claim = data["claims"][0] | {"kind": "calibrated", "kind_as_published": {0.99: "fixed"}}
    experiment = Experiment.model_validate({**data, "claims": [claim]})
    figures = measured({0.9: [2.0, 2.0], 0.99: [5.0, 5.0]})
    first, second, _ = evaluation.rows(experiment, figures, figures)
    assert [row.by_seed.kind for row in (first, second)] == ["calibrated"] * 2
    assert [row.as_published.kind for row in (first, second)] == ["predicted", "fixed"]
    score = scores.of_rows([first, second])
    assert (score.by_seed.predicted, score.published.predicted) == (Count(), Count(1, 1))


def test_negative_control_of_the_scoreboard_moves_the_papers_figures() -> None:
    found = evaluation.rows(EXPERIMENT, measured({0.9: [2.0, 2.0], 0.99: [5.0, 5.0]}))
    score = scores.of_rows(found).alike
    assert score.figures.near >= 2
    assert score.moved == Count(score.figures.rows, 0)


def test_method_of_a_paper_is_for_experiments_that_are_run_as_published(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    claims = "claims: [{name: x, quantity: nocache.throughput_ops}]"
    file.write_text(
        "paper: P\ndocument: d.md\nmethod: [duration=3]\nexperiments:\n"
        f"- {{name: twice, title: T, source: s, scenario: quickstart, changes: [seed=2], "
        f"as_published: [warmup=1], {claims}}}\n"
        f"- {{name: once, title: T, source: s, scenario: quickstart, {claims}}}\n"
        f"- {{name: so, title: T, source: s, scenario: quickstart, method: true, "
        f"changes: [seed=4], {claims}}}\n",
        encoding="utf-8",
    )
    known = evaluation.load(str(file))
    twice, once, so = known.experiments
    own, published = known.variants(twice)
    assert (own.name, own.changes) == ("twice", ["seed=2"])
    assert published.name == "twice-as-published"
    assert published.changes == ["seed=2", "duration=3", "warmup=1"]
    assert known.variants(once) == [once]
    assert so.changes == ["duration=3", "seed=4"]


@pytest.mark.parametrize("name", evaluation.names())
def test_the_points_of_a_paper_are_points_of_its_scenario(name: str) -> None:
    for experiment in evaluation.load(name).experiments:
        scenario = loader.load(loader.find(experiment.scenario), experiment.changes)
        assert set(needed(experiment)) <= set(scenario.schemes)
        for claim in experiment.claims:
            fixed = {*claim.at, *([claim.along] if claim.along else [])}
            assert fixed == set(scenario.sweep), f"{experiment.name}: {claim.name}"
            if claim.along is None:
                continue
            swept = scenario.sweep[claim.along]
            for values in (claim.paper, claim.artefact, claim.kind, claim.kind_as_published):
                named = values if isinstance(values, dict) else {}
                assert set(named) <= {*swept, MEAN}, f"{experiment.name}: {claim.name}"


TABLES = [
    (name, experiment.name)
    for name in evaluation.names()
    for experiment in evaluation.load(name).experiments
]


@pytest.mark.parametrize(("paper", "name"), TABLES)
def test_document_tables_match_the_data(paper: str, name: str) -> None:
    known = evaluation.load(paper)
    experiment = known.experiment(name)
    text = (ROOT / "docs" / known.document).read_text(encoding="utf-8")
    # 'netkv reproduce EXPERIMENT --save docs/evaluation' writes the data.
    variants = []
    for variant in known.variants(experiment):
        data = Measured.read(DATA, variant.name)
        assert data is not None
        assert data.changes == variant.changes
        assert len(data.seeds) >= 5
        variants.append(data)
    rows = evaluation.rows(experiment, *variants)
    table = document.markdown(rows, f"netkv reproduce {name}")
    assert document.bodies(text)[name] == table


@pytest.mark.parametrize(("paper", "name"), TABLES)
def test_data_has_every_point_with_every_seed(paper: str, name: str) -> None:
    known = evaluation.load(paper)
    for variant in known.variants(known.experiment(name)):
        check_points(variant)


@pytest.mark.parametrize("paper", evaluation.names())
def test_every_row_that_differs_has_a_cause(paper: str) -> None:
    known = evaluation.load(paper)
    for experiment in known.experiments:
        if experiment.variant or experiment.control:
            continue
        data = [Measured.read(DATA, variant.name) for variant in known.variants(experiment)]
        for row in evaluation.rows(experiment, *(each for each in data if each is not None)):
            near = row.alike.verdict in (None, "near") and row.alike.holds is not False
            assert near or row.claim.cause, f"{experiment.name}: {row.claim.name} {row.point}"


def check_points(experiment: Experiment) -> None:
    scenario = loader.load(loader.find(experiment.scenario), experiment.changes)
    data = Measured.read(DATA, experiment.name)
    assert data is not None
    points = [
        dict(zip(scenario.sweep, at, strict=True)) for at in product(*scenario.sweep.values())
    ]
    for scheme, point, seed in product(needed(experiment), points, data.seeds):
        found = [
            run for run in data.runs if (run.scheme, run.params, run.seed) == (scheme, point, seed)
        ]
        assert len(found) == 1, f"{scheme} at {point} with seed {seed}"


def test_error_names_a_wrong_evaluation_and_its_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no evaluation 'farreech'"):
        evaluation.load("farreech")
    file = tmp_path / "mine.yaml"
    file.write_text("paper: Mine\ndocument: x.md\n", encoding="utf-8")
    with pytest.raises(UsageError, match=re.escape(f"{file}: 'experiments'")):
        evaluation.load(str(file))
