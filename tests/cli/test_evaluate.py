"""The output, the files and the errors of `netkv evaluate`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.commands import Netkv

EVALUATION = """\
paper: A paper of mine
document: none.md
method: [workload.placement=ycsb]
experiments:
  - name: mine
    title: Gain over servers
    source: section 1
    scenario: {scenario}
    as_published: ["sweep={{lab.servers: [2]}}"]
    claims:
      - name: NetCache over NoCache
        quantity: netcache.throughput_ops / nocache.throughput_ops
        along: lab.servers
        paper: {{2: 1.5}}
"""


@pytest.fixture
def mine(tmp_path: Path, short_scenario: Path) -> Path:
    text = short_scenario.read_text(encoding="utf-8")
    short_scenario.write_text(
        f"{text}mode: sim\nsweep: {{lab.servers: [2, 4]}}\n", encoding="utf-8"
    )
    file = tmp_path / "mine.yaml"
    file.write_text(EVALUATION.format(scenario=short_scenario), encoding="utf-8")
    return file


def test_evaluation_of_the_user_is_run_saved_and_written(
    netkv: Netkv, mine: Path, tmp_path: Path
) -> None:
    result = netkv(
        "evaluate", str(mine), "--seeds", "3", "--save", str(tmp_path / "data"), "--json"
    )
    assert result.status == 0, result.err
    rows = result.document["experiments"][0]["rows"]
    assert [row["at"] for row in rows] == [2, 4]
    for row in rows:
        assert row["seeds"] == 3
        assert row["low"] < row["mean"] < row["high"]
    published = rows[0]["as_published"]
    assert published["seeds"] == 3
    assert published["difference"] == pytest.approx(published["mean"] / 1.5 - 1)
    assert rows[1]["as_published"] is None
    assert (tmp_path / "data" / "mine-as-published.json").is_file()
    assert rows[0]["difference"] == pytest.approx(rows[0]["mean"] / 1.5 - 1)
    assert rows[1]["difference"] is None

    file = tmp_path / "doc.md"
    file.write_text("<!-- evaluation: mine -->\n<!-- end -->\n", encoding="utf-8")
    kept = ["--from", str(tmp_path / "data"), "--write", str(file)]
    again = netkv("evaluate", str(mine), *kept, "--json")
    assert again.document == result.document
    assert f"{rows[0]['mean']:.2f}" in file.read_text(encoding="utf-8")


def test_unknown_evaluation_and_experiment_are_refused(netkv: Netkv) -> None:
    assert netkv("evaluate", "farreech").status == 2
    result = netkv("evaluate", "netcache", "figure-10")
    assert result.status == 2
    assert "netcache-skew" in result.err


def test_without_a_name_the_evaluations_are_listed(netkv: Netkv) -> None:
    result = netkv("evaluate", "--json")
    papers = {each["name"]: each["experiments"] for each in result.document["evaluations"]}
    skew = next(each for each in papers["netcache"] if each["name"] == "netcache-skew")
    own = skew["scores"]["by_seed"]
    assert 0 < own["near"] <= own["rows"]
    printed = netkv("evaluate").out
    assert re.search(rf"netcache-skew .* {own['near']} of {own['rows']}", printed)
    assert printed.count("as published") == len(papers)
