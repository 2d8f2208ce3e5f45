"""The script of examples/scenario-study runs its scenarios and makes their figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from netkv.scenarios import loader
from tests.docs.documents import ROOT

FOLDER = ROOT / "examples/scenario-study"
SCENARIOS = ("cache-size", "writes")
SHORT = ["warmup=0.2", "duration=0.3", "lab.servers=2", "workload.keys=5000"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario_of_the_study_loads(name: str) -> None:
    scenario = loader.load(FOLDER / f"{name}.yaml")
    assert scenario.mode == "sim"
    assert len(scenario.plots) == 2


@pytest.mark.slow
def test_study_writes_documents_figures_and_a_table(tmp_path: Path) -> None:
    """The test runs it for a shorter time, with fewer servers and keys."""
    results = tmp_path / "results"
    changes = [word for change in SHORT for word in ("--set", change)]
    done = subprocess.run(
        [sys.executable, str(FOLDER / "study.py"), str(results), *changes],
        capture_output=True,
        text=True,
        env={**os.environ, "NETKV_HOME": str(tmp_path / "home")},
    )
    assert done.returncode == 0, done.stderr
    table = (results / "table.md").read_text()
    assert done.stdout.strip() == table.strip()
    for name in SCENARIOS:
        document = json.loads((results / f"{name}.json").read_text())
        assert len(document["runs"]) == 12
        assert all(each["ok"] for each in document["thresholds"])
        assert len(list((results / name).glob("*.svg"))) == 2
    for value in ("lab.cache_entries = 10000", "workload.writes = 0.5"):
        assert f"| {value} | " in table
