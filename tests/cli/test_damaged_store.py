"""A run store that is damaged or read-only, on the command line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from netkv.runs import Store
from tests.cli.commands import NETKV, ROOT, CommandResult, Netkv
from tests.runs.read_only import commands_without_writing
from tests.runs.recorded_runs import record_comparison
from tests.waiting import PATIENCE_S


@pytest.fixture
def stored(home: Path) -> list[str]:
    """Ids of two runs in the store."""
    assert home
    with Store() as store:
        return record_comparison(store)


def _damage(file: Path) -> None:
    """Overwrites the first page, with the header, by zeros."""
    with file.open("r+b") as opened:
        opened.write(bytes(4096))


@pytest.mark.parametrize(
    "command", [("runs", "list"), ("runs", "show", "x"), ("scenario", "run", "quickstart")]
)
def test_damaged_store_names_its_repair(
    netkv_in_process: Netkv, stored: list[str], home: Path, command: tuple[str, ...]
) -> None:
    assert stored
    _damage(home / "runs.db")
    done = netkv_in_process(*command)
    assert done.status == 1
    assert "'netkv runs repair' saves the runs that can be read" in done.err
    assert "Traceback" not in done.err


def test_repaired_store_has_its_runs(
    netkv_in_process: Netkv, home: Path, stored: list[str]
) -> None:
    assert "is not damaged" in netkv_in_process("runs", "repair").out
    _damage(home / "runs.db")
    done = netkv_in_process("runs", "repair")
    assert done.status == 0
    assert f"Saved 2 runs in {home / 'runs.db'}." in done.out
    assert f"The damaged store is {home / 'runs.db.damaged-'}" in done.out
    found = netkv_in_process("runs", "list", "--json").document["runs"]
    assert {run["id"] for run in found} == set(stored)


def test_repair_as_a_document(netkv_in_process: Netkv, home: Path, stored: list[str]) -> None:
    assert netkv_in_process("runs", "repair", "--json").document is None
    _damage(home / "runs.db")
    document = netkv_in_process("runs", "repair", "-o", str(home / "new.db"), "--json").document
    assert document == {
        "file": str(home / "new.db"),
        "damaged": str(home / "runs.db"),
        "saved": sorted(stored),
        "lost": [],
        "incomplete": {},
    }


def test_read_only_folder_is_read(home: Path, stored: list[str]) -> None:
    before = commands_without_writing(home)

    def netkv(*arguments: str) -> CommandResult:
        done = subprocess.run(
            [*before, *NETKV, *arguments],
            cwd=ROOT,
            env={**os.environ, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert "Traceback" not in done.stderr
        return CommandResult(done.returncode, done.stdout, done.stderr)

    listed = netkv("runs", "list")
    assert listed.status == 0, listed.err
    assert all(run in listed.out for run in stored)
    assert netkv("runs", "show", stored[0]).status == 0
    assert "netcache" in netkv("runs", "compare", *stored).out
    assert netkv("runs", "export", stored[0], "--csv").out.startswith("run,")
    for change in (
        ("runs", "tag", stored[0], "--add", "paper"),
        ("scenario", "run", "quickstart"),
    ):
        refused = netkv(*change)
        assert refused.status == 1
        assert "is read-only. Its runs can be listed" in refused.err
    with Store() as store:
        assert store.head(stored[0]).tags == []
