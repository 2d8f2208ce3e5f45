"""The scenario of docs/learn/a-scenario-explained.md runs, and the document explains every
option."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from ruamel.yaml import YAML

from netkv.scenarios import loader
from tests.docs.documents import ROOT, blocks

DOCUMENT = ROOT / "docs/learn/a-scenario-explained.md"
(FILE,) = blocks("yaml", DOCUMENT)


def test_explained_scenario_runs_and_meets_its_expectations(tmp_path: Path) -> None:
    """The test runs it for a shorter time with the same events."""
    file = tmp_path / "crash-over-skew.yaml"
    file.write_text(FILE.text)
    shorter = ["warmup=1", "duration=4", "repeat=1", "sweep={workload.zipf: [0.99]}"]
    times = [f"events.{number}.at={at}" for number, at in enumerate((1, 1.5, 2, 3))]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "netkv", "scenario", "run", str(file), "--json"),
            *(word for change in (*shorter, *times) for word in ("--set", change)),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NETKV_HOME": str(tmp_path / "home")},
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [run["scheme"] for run in result["runs"]] == ["nocache", "netcache"]
    assert all(threshold["ok"] for threshold in result["thresholds"])
    assert len(result["thresholds"]) == 3
    assert all("switch" in str(run["events"]) for run in result["runs"])


def test_every_option_of_the_explained_scenario_is_explained() -> None:
    text = DOCUMENT.read_text()
    table = text[text.index("| lines | meaning |") : text.index("`lab.preload` is left out")]
    data = YAML(typ="safe").load(FILE.text)
    named = set(re.findall(r"`([a-z_.]+)(?::[^`]*)?`", table))
    for option, value in data.items():
        below = value if option in ("lab", "workload") else {}
        for path in [f"{option}.{name}" for name in below] or [option]:
            assert path in named, path


def test_explained_scenario_loads_with_its_line_numbers(tmp_path: Path) -> None:
    file = tmp_path / "crash-over-skew.yaml"
    file.write_text(FILE.text)
    scenario = loader.load(file)
    assert len(scenario.schemes) * scenario.repeat * len(scenario.sweep["workload.zipf"]) == 12
