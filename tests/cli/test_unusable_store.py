"""`netkv scenario run` whose store cannot be written: it prints its result, once what is lost."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from netkv.runs import Store
from tests.cli.commands import NETKV, ROOT
from tests.waiting import PATIENCE_S

SCENARIO = """
name: short
schemes: [nocache]
lab: {servers: 2}
workload: {keys: 100, arrivals: {outstanding: 4}}
warmup: 0
duration: 2
"""


def _limited(most: int) -> Callable[[], None]:
    """Files of the process and of its children cannot grow beyond this, as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def _run(
    file: Path, *arguments: str, before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NETKV, "scenario", "run", str(file), "--set", "repeat=2", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
        preexec_fn=before,
    )


@pytest.fixture
def scenario(home: Path, tmp_path: Path) -> Path:
    """A scenario file; the state directory has an empty store."""
    file = tmp_path / "short.yaml"
    file.write_text(SCENARIO)
    home.mkdir(exist_ok=True)
    Store().close()
    return file


@pytest.mark.parametrize("mode", ["sim", pytest.param("live", marks=pytest.mark.live)])
@pytest.mark.parametrize("more", [0, 40_000])
def test_full_disk_costs_no_result(home: Path, scenario: Path, mode: str, more: int) -> None:
    most = (home / "runs.db").stat().st_size + more
    ended = _run(scenario, "--mode", mode, "--json", before=_limited(most))
    assert "Traceback" not in ended.stderr
    found = json.loads(ended.stdout)
    assert [run["status"] for run in found["runs"]] == ["done", "done"], ended.stderr
    assert found["runs"][0]["throughput_ops"] > 0
    assert found["not_stored"]["runs"] >= 1
    assert ended.stderr.count("the run store cannot be written") == 1
    assert ended.stderr.count("not everything is in the run store") == 1
    assert ended.returncode == 0


def test_full_disk_costs_no_table(home: Path, scenario: Path) -> None:
    most = (home / "runs.db").stat().st_size
    ended = _run(scenario, "--mode", "sim", before=_limited(most))
    assert "Traceback" not in ended.stderr
    assert "operations checked" in ended.stdout
    assert "Stored as" not in ended.stderr
    assert ended.returncode == 0


def test_locked_store_costs_no_result(home: Path, scenario: Path) -> None:
    other = sqlite3.connect(home / "runs.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ended = _run(scenario, "--mode", "sim", "--json")
    other.close()
    assert "Traceback" not in ended.stderr
    assert json.loads(ended.stdout)["not_stored"]["runs"] == 2
    assert "database is locked" in ended.stderr
    assert ended.returncode == 0


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["runs", "list"], 1),
        (["scenario", "run", "quickstart", "--mode", "sim", "--set", "duration=1"], 1),
        (["scenario", "show", "quickstart"], 0),
        (["scenario", "list"], 0),
        (["serve", "--port", "0"], 1),
    ],
)
def test_damaged_store_is_a_sentence(home: Path, command: list[str], status: int) -> None:
    home.mkdir(exist_ok=True)
    (home / "runs.db").write_bytes(b"certainly no database" * 1000)
    ended = subprocess.run(
        [*NETKV, *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert "Traceback" not in ended.stderr
    assert ended.returncode == status, ended.stderr
    assert status == 0 or "not a database" in ended.stderr


@pytest.mark.usefixtures("home")
def test_output_on_a_full_disk_is_a_sentence() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "w") as out:
        ended = subprocess.run(
            [*NETKV, "scenario", "show", "quickstart", "--json"],
            cwd=ROOT,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
    assert "Traceback" not in ended.stderr
    assert "No space left on device" in ended.stderr
    assert ended.returncode == 1
