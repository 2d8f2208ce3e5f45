"""A benchmark is one file: commands, API and suite are made from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOURCE = '''
from dataclasses import dataclass
from typing import Annotated

import typer

from netkv.bench.benchmark import Benchmark, Figure, Outcome, Table


@dataclass(frozen=True)
class Plan:
    seconds: Annotated[float, typer.Option(min=0.1, max=9, help="Seconds of load.")] = 2.0
    size: Annotated[list[int] | None, typer.Option(min=1, help="A size; repeatable.")] = None


class Tape(Benchmark):
    """Measure a tape.

    It turns.
    """

    name = "bench tape"
    title = "Tape"
    measures = "bytes of a tape"
    against = "another tape"
    seconds = 7
    in_suite = True
    plan = Plan

    def run(self, plan, progress):
        progress(0, 1, "winding")
        row = {"size": (plan.size or [1])[0], "pps": plan.seconds}
        return Outcome(
            {"rows": [row]},
            [Table(("size", "a second"), [(str(row["size"]), f"{row['pps']:.1f}")]), "1.00  ratio"],
            left_out=["There is no second tape."],
            figures=[Figure("tape to tape", 1.0, at_least=0.5)],
        )


BENCHMARK = Tape()
'''
BEGIN = "import sys, json; from netkv.bench import benchmarks; benchmarks.__path__.append({!r}); "
COMMAND = "from netkv.cli import main; sys.exit(main(sys.argv[1:]))"
API = (
    "from netkv.api.jobs import benchmarks as jobs; from netkv.bench import catalogue, suite; "
    "found = jobs.find('tape'); "
    "part = suite.run(catalogue.in_suite()[-1], 0.5, lambda *_: None); "
    "print(json.dumps({'order': [each.id for each in jobs.entries()], 'title': found.title, "
    "'options': found.command.schema['properties'], 'summary': found.command.summary, "
    "'line': found.command.line({'size': [3, 4]})[3:], 'part': part.model_dump(mode='json')}))"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of modules with benchmarks."""
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "tape.py").write_text(SOURCE)
    return tmp_path / "benchmarks"


def run(folder: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    home = {"NETKV_HOME": str(folder.parent / "home"), "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, "-c", BEGIN.format(str(folder)) + code, *arguments],
        env={**os.environ, **home},
        capture_output=True,
        text=True,
        check=True,
    )


def test_a_file_is_a_command(folder: Path) -> None:
    shown = run(folder, COMMAND, "bench", "--help").stdout
    assert "tape " in shown
    assert "Measure a tape." in shown
    shown = run(folder, COMMAND, "bench", "tape", "--help").stdout
    assert "It turns." in shown
    assert "--seconds" in shown
    assert "--plot" not in shown, "it has no figures"
    done = run(folder, COMMAND, "bench", "tape", "--size", "3", "--json")
    assert json.loads(done.stdout) == {"rows": [{"size": 3, "pps": 2.0}]}
    assert "There is no second tape." in done.stderr
    lines = [line.split() for line in run(folder, COMMAND, "bench", "tape").stdout.splitlines()]
    assert ["1", "2.0"] in lines
    assert ["1.00", "ratio"] in lines


def test_a_file_is_in_the_api_and_in_the_suite(folder: Path) -> None:
    found: dict[str, Any] = json.loads(run(folder, API).stdout)
    assert found["order"][0] == "all"
    assert found["order"][-1] == "tape"
    assert (found["title"], found["summary"]) == ("Tape", "Measure a tape.")
    assert found["options"]["seconds"]["maximum"] == 9
    assert found["line"] == ["bench", "tape", "--size=3", "--size=4", "--json"]
    assert found["part"] == {
        "benchmark": "bench tape",
        "figures": [
            {"name": "tape to tape", "value": 1.0, "unit": "", "at_least": 0.5, "at_most": None}
        ],
        "document": {"rows": [{"size": 1, "pps": 0.5}]},
        "left_out": ["There is no second tape."],
        "failed": None,
    }
