"""The output, the files and the errors of `netkv reproduce`."""

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
        "reproduce", str(mine), "--seeds", "3", "--save", str(tmp_path / "data"), "--json"
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
    again = netkv("reproduce", str(mine), *kept, "--json")
    assert again.document == result.document
    assert f"{rows[0]['mean']:.2f}" in file.read_text(encoding="utf-8")


def test_unknown_evaluation_and_experiment_are_refused(netkv: Netkv) -> None:
    result = netkv("reproduce", "farreech")
    assert result.status == 2
    assert "There is no evaluation or experiment 'farreech'" in result.err
    assert "farreach" in result.err
    assert netkv("reproduce", "netcache", "figure-10").status == 2
    both = netkv("reproduce", "netcache", "--shipped", "--from", ".")
    assert both.status == 2
    assert "--from and --shipped" in both.err


def test_without_a_name_the_evaluations_are_listed(netkv: Netkv) -> None:
    result = netkv("reproduce", "--json")
    papers = {each["name"]: each["experiments"] for each in result.document["evaluations"]}
    skew = next(each for each in papers["netcache"] if each["name"] == "netcache-skew")
    own = skew["scores"]["alike"]["figures"]
    assert 0 < own["near"] <= own["rows"]
    printed = netkv("reproduce").out
    assert re.search(rf"netcache-skew .* {own['near']} of {own['rows']}", printed)
    assert printed.count("as published") > len(papers)
    assert "variant, not counted" in printed


def test_experiments_share_a_pool(netkv: Netkv, mine: Path) -> None:
    text = mine.read_text(encoding="utf-8")
    head, _, experiment = text.partition("experiments:\n")
    two = experiment.replace("name: mine", "name: other").replace(
        "    as_published", "    # as_published"
    )
    mine.write_text(f"{head}experiments:\n{experiment}{two}", encoding="utf-8")
    first = netkv("reproduce", str(mine), "--seeds", "1", "--on", "local:2", "--json")
    assert first.status == 0, first.err
    assert "On 2 processes of this machine, 2 units at a time" in first.err
    names = [each["name"] for each in first.document["experiments"]]
    assert names == ["mine", "other"]
    assert "3 experiments, 10 runs" in first.err
    # One of a file's experiments, with its name after the file.
    one = netkv("reproduce", str(mine), "other", "--seeds", "1", "--json")
    assert [each["name"] for each in one.document["experiments"]] == ["other"]
    assert one.document["experiments"][0]["rows"] == first.document["experiments"][1]["rows"]


def test_report_and_artifact_have_each_claim(netkv: Netkv, tmp_path: Path) -> None:
    result = netkv(
        *("reproduce", "netcache-skew", "--shipped"),
        *("--report", str(tmp_path / "report"), "--artifact", str(tmp_path / "artifact")),
    )
    assert result.status == 0, result.err
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "NetCache over NoCache" in page
    assert "data:image/svg+xml" in page
    assert "All that the paper states" in page
    assert "not shown: " in page
    assert "<h3>Constants</h3>" in page
    assert "lab.hot_threshold 200" in page
    assert not re.search(r"(src|href)=.?https?:", page), "the page needs no network"
    names = {file.suffix for file in (tmp_path / "report" / "figures").iterdir()}
    assert names == {".svg", ".pdf", ".csv", ".tex"}
    rows = (tmp_path / "report" / "data" / "netcache-skew.csv").read_text(encoding="utf-8")
    assert rows.startswith("quantity,at,paper,artefact,kind,mean,low,high")
    readme = (tmp_path / "artifact" / "README.md").read_text(encoding="utf-8")
    assert "`netkv reproduce netcache-skew`" in readme
    assert "- netcache, figures 1 to 8: " in readme
    assert "netkv reproduce netcache-skew" in (tmp_path / "artifact" / "run.sh").read_text()
    assert (tmp_path / "artifact" / "expected" / "netcache-skew.md").is_file()
    file = tmp_path / "file"
    file.touch()
    refused = netkv("reproduce", "netcache-skew", "--shipped", "--report", str(file))
    assert refused.status == 1
    assert "cannot be written" in refused.err


def test_control_that_agrees_with_the_paper_fails(netkv: Netkv, mine: Path) -> None:
    text = mine.read_text(encoding="utf-8")
    control = text.replace("    claims:\n", "    control: true\n    claims:\n").replace(
        '    as_published: ["sweep={lab.servers: [2]}"]\n', ""
    )
    # What is compared is 1 by its set-up.
    mine.write_text(
        control.replace("/ nocache.", "/ netcache.").replace("{2: 1.5}", "{2: 1.1}"),
        encoding="utf-8",
    )
    agrees = netkv("reproduce", str(mine), "mine", "--seeds", "1")
    assert agrees.status == 1
    assert "The control mine agrees with the paper in 1 of 1 rows" in agrees.err
    mine.write_text(mine.read_text().replace("{2: 1.1}", "{2: 2.2}"), encoding="utf-8")
    misses = netkv("reproduce", str(mine), "mine", "--seeds", "1")
    assert misses.status == 0, misses.err
    assert "misses the paper's figures, as it must: 0 of 1" in misses.err


def test_quick_runs_what_an_experiment_says(netkv: Netkv, mine: Path, tmp_path: Path) -> None:
    assert netkv("reproduce", str(mine), "--quick", "--json").document == {"experiments": []}
    text = mine.read_text(encoding="utf-8")
    mine.write_text(
        text.replace("    claims:\n", "    quick: [duration=0.5]\n    claims:\n"), encoding="utf-8"
    )
    result = netkv(
        "reproduce", str(mine), "--quick", "--seeds", "2", "--save", str(tmp_path), "--json"
    )
    assert result.status == 0, result.err
    (experiment,) = result.document["experiments"]
    assert experiment["name"] == "mine-quick"
    assert [(row["at"], row["seeds"]) for row in experiment["rows"]] == [(2, 2)]
    assert (tmp_path / "mine-quick.json").is_file()
    file = tmp_path / "doc.md"
    file.write_text("<!-- evaluation: mine-quick -->\n<!-- end -->\n", encoding="utf-8")
    assert netkv("reproduce", str(mine), "--quick", "--from", str(tmp_path), "--write", str(file))
    assert f"`netkv reproduce {mine} mine --quick`, 2 seeds." in file.read_text(encoding="utf-8")
