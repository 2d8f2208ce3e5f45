"""Every number of the evaluations has one line that says where it comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv import evaluation
from netkv.errors import UsageError
from netkv.evaluation.constant_values import Values
from netkv.sim import profiles
from tests.cli.commands import ROOT


@pytest.mark.parametrize("name", evaluation.names())
def test_each_number_has_exactly_one_constant(name: str) -> None:
    values = Values(evaluation.load(name))
    assert values.figures, "no profile at all"
    assert values.faults() == []


def test_number_without_a_constant_and_constant_without_a_number_are_found(
    tmp_path: Path,
) -> None:
    text = (ROOT / "netkv/data/papers/netcache.yaml").read_text(encoding="utf-8")
    changed = text.replace("[lab.host_queue]", "[lab.no_such_queue]", 1)
    assert changed != text
    file = tmp_path / "own.yaml"
    file.write_text(changed, encoding="utf-8")
    values = Values(evaluation.load(str(file)))
    assert values.faults() == [
        "'lab.host_queue' has no constant; it needs one.",
        "The constant 'room for requests at a server' has 'lab.no_such_queue', which is no number "
        "of the experiments.",
    ]


def test_numbers_are_those_of_profiles_and_scenarios() -> None:
    lines = {
        (name, kind): values
        for name, values, kind, _ in Values(evaluation.load("farreach")).table()
    }
    put = dict(profiles.figures(profiles.get("farreach-artefact")))["server.put.mean"]
    shown = lines["write at a server", "calibrated"]
    assert shown == f"`farreach-artefact`: `server.put` {put:g}"
    assert "`lab.hot_threshold` 20" in lines["hot key", "source"]
    assert "{outstanding: 1024}" in lines["requests under way", "source"]
    # Exp#8 sweeps the period, so that the base of its sweep is no value.
    assert "`lab.snapshot_period` 10 or 4" in lines["snapshot period", "source"]


def test_what_a_scenario_sweeps_is_no_constant() -> None:
    found = evaluation.load("farreach")
    (skew,) = (each for each in found.experiments if each.name == "farreach-skew")
    only = found.model_copy(update={"experiments": [skew]})
    assert "workload.zipf" not in Values(only).options
    assert "workload.writes" in Values(only).options


@pytest.mark.parametrize(
    ("constant", "message"),
    [
        ("{name: one, kind: source, origin: a book}", "neither figures nor options"),
        ("{name: one, kind: guessed, origin: a book, options: [warmup]}", "kind"),
    ],
)
def test_wrong_constants_are_refused(tmp_path: Path, constant: str, message: str) -> None:
    text = (ROOT / "netkv/data/papers/netcache.yaml").read_text(encoding="utf-8")
    file = tmp_path / "own.yaml"
    file.write_text(
        text.replace("constants:\n", f"constants:\n  - {constant}\n", 1), encoding="utf-8"
    )
    with pytest.raises(UsageError, match=message):
        evaluation.load(str(file))
