"""The command line with a run store on a server: the same commands, and archives between stores."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from netkv.runs import Store, default_store
from tests.cli.commands import NETKV, ROOT, Netkv, assert_wrong_usage
from tests.runs.postgresql import PASSWORD, Server
from tests.runs.raw_store import execute
from tests.runs.recorded_runs import record_comparison

SCENARIO = """
name: short
mode: sim
schemes: [nocache, netcache]
lab: {servers: 2}
workload: {keys: 100, arrivals: {outstanding: 4}}
warmup: 0
duration: 1
"""


@pytest.fixture
def on_server(server_url: str, monkeypatch: pytest.MonkeyPatch, home: Path) -> str:
    """The store of all commands is on a server."""
    assert home
    monkeypatch.setenv("NETKV_STORE", server_url)
    return server_url


@pytest.mark.usefixtures("on_server")
def test_runs_are_listed_compared_and_deleted(netkv_in_process: Netkv) -> None:
    with Store() as store:
        one, two = record_comparison(store)
    listed = netkv_in_process("runs", "list", "--sort", "hit_ratio", "--json").document
    assert [run["id"] for run in listed["runs"]] == [two, one]
    assert netkv_in_process("runs", "show", one, "--json").document["status"] == "done"
    compared = netkv_in_process("runs", "compare", "gcompared", "--json").document
    assert [row["scheme"] for row in compared["rows"]] == ["nocache", "netcache"]
    assert netkv_in_process("runs", "export", one, "--csv").out.count("\n") == 24
    assert netkv_in_process("runs", "delete", one, "--yes").status == 0
    assert netkv_in_process("runs", "list", "--json").document["total"] == 1
    assert default_store.newest(5) == [], "completion does not wait for a server"
    overview = netkv_in_process("scenario", "list", "--json").document
    assert overview


@pytest.mark.usefixtures("on_server")
def test_simulated_scenario_is_stored(netkv_in_process: Netkv, tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    file.write_text(SCENARIO)
    for _ in range(2):
        done = netkv_in_process("scenario", "run", str(file), "--json")
        assert done.status == 0, done.err
        with Store() as store:
            heads = store.heads()
            assert {head.status for head in heads} == {"done"}
            assert len(heads) == 2
            assert all(store.samples(head.id)[0] for head in heads)


def test_archive_moves_runs_between_stores(
    netkv_in_process: Netkv, home: Path, tmp_path: Path, server_url: str
) -> None:
    assert home
    with Store() as store:
        ids = record_comparison(store)
    file = tmp_path / "runs.jsonl"
    done = netkv_in_process("runs", "export", ids[0], "--archive", "-o", str(file))
    assert done.err == f"Wrote 1 group to {file}.\n"
    added = netkv_in_process("runs", "import", str(file), NETKV_STORE=server_url)
    assert added.err == "Added 2 runs.\n"
    again = netkv_in_process("runs", "import", str(file), "--json", NETKV_STORE=server_url)
    assert again.document == {"added": [], "replaced": [], "skipped": ids}
    whole = netkv_in_process("runs", "export", "--archive", NETKV_STORE=server_url)
    assert whole.out == file.read_text()
    piped = subprocess.run(
        [*NETKV, "runs", "import", "-", "--json"],
        input=whole.out,
        cwd=ROOT,
        env={**os.environ, "NETKV_STORE": f"sqlite:///{tmp_path / 'third.db'}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"added"' in piped.stdout


def test_wrong_use_of_archives_is_a_sentence(netkv_in_process: Netkv, tmp_path: Path) -> None:
    assert_wrong_usage(netkv_in_process("runs", "export"), "Name the runs or groups to export")
    both = netkv_in_process("runs", "export", "--archive", "--csv")
    assert_wrong_usage(both, "Only one of --json, --csv, --parquet, --html and --archive")
    missing = netkv_in_process("runs", "import", str(tmp_path / "missing.jsonl"))
    assert missing.status == 1
    assert "missing.jsonl cannot be read: No such file or directory." in missing.err
    (tmp_path / "text").write_text("no archive\n")
    wrong = netkv_in_process("runs", "import", str(tmp_path / "text"))
    assert f"{tmp_path / 'text'}:1: This is not JSON" in wrong.err
    nowhere = netkv_in_process("runs", "export", "--archive", "-o", str(tmp_path / "no" / "file"))
    assert nowhere.status == 1
    assert "cannot be written: No such file or directory." in nowhere.err


def test_upgrade_says_what_it_has_done(netkv_in_process: Netkv, on_server: str) -> None:
    missing = netkv_in_process("runs", "upgrade")
    assert_wrong_usage(missing, "There is no run store postgresql+psycopg://tests@127.0.0.1:")
    Store().close()
    assert "nothing was changed" in netkv_in_process("runs", "upgrade").out
    execute(on_server, "UPDATE store_info SET version = 7")
    execute(on_server, "ALTER TABLE groups DROP COLUMN last_change, DROP COLUMN seen_at")
    execute(on_server, "ALTER TABLE runs DROP COLUMN peak_memory")
    refused = netkv_in_process("runs", "list")
    assert (refused.status, "'netkv runs upgrade' upgrades it" in refused.err) == (1, True)
    done = netkv_in_process("runs", "upgrade")
    assert "from version 7 to 8.\nVersion 8: Signs of life of writers" in done.out
    assert netkv_in_process("runs", "list").status == 0


def test_password_is_nowhere(
    netkv: Netkv, postgresql: Server, database: str, home: Path, tmp_path: Path
) -> None:
    """Neither in what a run prints, nor in what it stores, nor on the command line of a process."""
    file = tmp_path / "short.yaml"
    file.write_text(SCENARIO)
    url = postgresql.url(database, "scram", PASSWORD)
    done = netkv("scenario", "run", str(file), "--jobs", "2", NETKV_STORE=url)
    assert done.status == 0, done.err
    listed = netkv("runs", "export", "--archive", NETKV_STORE=url)
    wrong = netkv("runs", "list", NETKV_STORE=url.replace(f"/{database}", "/missing"))
    assert wrong.status == 1
    assert "The run store postgresql+psycopg://scram:***@127.0.0.1" in wrong.err
    for text in (done.out, done.err, listed.out, wrong.err):
        assert PASSWORD not in text
    for kept in home.rglob("*"):
        assert not kept.is_file() or PASSWORD.encode() not in kept.read_bytes()
