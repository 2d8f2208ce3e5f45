"""Every number of the evaluations has one line that says where it comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv import evaluation
from netkv.errors import UsageError
from netkv.evaluation import constant_values
from netkv.evaluation.constant_values import Values
from netkv.sim import profiles
from tests.cli.commands import ROOT


@pytest.mark.parametrize("name", evaluation.names())
def test_each_number_has_exactly_one_constant(name: str) -> None:
    values = Values(evaluation.load(name))
    assert values.figures, "no profile at all"
    assert values.unexplained() == []
    assert values.unknown() == []


def test_number_without_a_constant_and_constant_without_a_number_are_found(
    tmp_path: Path,
) -> None:
    text = (ROOT / "netkv/data/papers/netcache.yaml").read_text(encoding="utf-8")
    changed = text.replace("[lab.host_queue]", "[lab.no_such_queue]", 1)
    assert changed != text
    file = tmp_path / "own.yaml"
    file.write_text(changed, encoding="utf-8")
    values = Values(evaluation.load(str(file)))
    assert values.unexplained() == ["lab.host_queue: 0 constants"]
    assert values.unknown() == ["room for requests at a server: lab.no_such_queue"]


def test_numbers_are_those_of_profiles_and_scenarios() -> None:
    lines = {
        (name, kind): values
        for name, values, kind, _ in constant_values.table(evaluation.load("farreach"))
    }
    put = dict(profiles.figures(profiles.get("farreach-artefact")))["server.put.mean"]
    shown = lines["write at a server", "calibrated"]
    assert shown == f"`farreach-artefact`: `server.put` {put:g}"
    assert "`lab.hot_threshold` 20" in lines["hot key", "source"]
    assert "{outstanding: 256}" in lines["requests under way", "fitted"]


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
