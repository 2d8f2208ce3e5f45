"""An upgrade of a run store keeps every figure of every run.

`data/store-version-3.db` was written by netkv at 1d12e78, the last revision with version 3 of the
tables. It has short simulated runs of quickstart, switch-crash, multiget-size-sweep (two repeats)
and farreach-recovery, and one of quickstart that was killed with SIGKILL.
`store-version-3.json.gz` has the output of that revision for this store: `runs export`,
`runs compare --json` (of all runs), `runs export --csv` and `/api/runs`.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from netkv.lab.spec import LabSpec
from netkv.runs import Store, StoreSink
from netkv.runs.query import RunQuery
from netkv.runs.schema import VERSION, Base
from netkv.scenarios.results import CANCELLED
from tests.runs.recorded_runs import result, samples, start

DATA = Path(__file__).parent / "data"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return Path(shutil.copy(DATA / "store-version-3.db", tmp_path / "runs.db"))


@pytest.fixture(scope="module")
def before() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        gzip.decompress((DATA / "store-version-3.json.gz").read_bytes())
    )
    return found


def netkv(file: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "netkv", *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, "NETKV_STORE": f"sqlite:///{file}"},
    )
    return done.stdout


def assert_has(found: Any, expected: Any, where: str = "") -> None:
    """Check that `found` has all values of `expected`; it may have more."""
    if isinstance(expected, dict):
        for name, value in expected.items():
            assert name in found, f"{where}.{name}"
            assert_has(found[name], value, f"{where}.{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for index, value in enumerate(expected):
            assert_has(found[index], value, f"{where}.{index}")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-12), where
    else:
        assert found == expected, where
        assert type(found) is type(expected), where


def test_upgrade_keeps_every_figure_of_every_run(file: Path, before: dict[str, Any]) -> None:
    runs = before["runs"]
    ids = [run["id"] for run in runs]
    exported = json.loads(netkv(file, "runs", "export", *ids))
    assert_has(exported["runs"], runs)
    farreach = next(run for run in runs if run["scheme"] == "farreach")
    assert max(farreach["series"]["preserved"]) > 0, "the store has such values"
    assert_has(json.loads(netkv(file, "runs", "show", farreach["id"], "--json")), farreach)
    assert_has(json.loads(netkv(file, "runs", "compare", *ids, "--json")), before["compare"])
    rows = csv.DictReader(io.StringIO(netkv(file, "runs", "export", *ids, "--csv")))
    assert_has(list(rows), list(csv.DictReader(io.StringIO(before["csv"]))))
    with Store(f"sqlite:///{file}") as store:
        assert_has([head.model_dump(mode="json") for head in store.heads()], before["heads"])


def test_store_of_each_older_version_can_be_opened(file: Path, before: dict[str, Any]) -> None:
    """Version 2 added recoveries, version 3 the counts of write-back."""
    with sqlite3.connect(file) as raw:
        for name in ("unknown", "ignored", "preserved", "preserved_bytes"):
            raw.execute(f"ALTER TABLE samples DROP COLUMN {name}")
        raw.execute("ALTER TABLE samples DROP COLUMN control_plane_mib_per_s_by_switch")
        raw.execute("ALTER TABLE events DROP COLUMN recovery")
        raw.execute("UPDATE store_info SET version = 1")
        for name in ("control_plane_mib_per_s", "recoveries"):
            raw.execute(f"UPDATE runs SET figures = json_remove(figures, '$.{name}')")
    raw.close()
    for _ in range(2):
        with Store(f"sqlite:///{file}") as store:
            for run in before["runs"]:
                found = store.record(run["id"])
                assert found.throughput_ops == run["throughput_ops"]
                assert found.control_plane_mib_per_s == run["control_plane_mib_per_s"], "from bytes"
                assert (
                    found.series["control_plane_mib_per_s"]
                    == (run["series"]["control_plane_mib_per_s"])
                )
                assert set(found.series["preserved"]) == {0}
                assert found.recoveries == []


UNCOUNTED = ("dropped_frames", "hits_ops")
"""Metrics that netkv did not have when it wrote the store."""


def test_what_an_older_netkv_did_not_count_is_unknown(file: Path, before: dict[str, Any]) -> None:
    """Before, such runs had dropped no frames and answered no reads in the switch."""
    runs = {run["id"]: run for run in before["runs"]}
    for run in json.loads(netkv(file, "runs", "export", *runs))["runs"]:
        for name in UNCOUNTED:
            assert run[name] is None
            assert run["series"][name] == [None] * len(run["series"]["time"])
        assert run["lost_ops"] == runs[run["id"]]["lost_ops"], "it was counted"
    for row in csv.DictReader(io.StringIO(netkv(file, "runs", "export", *runs, "--csv"))):
        assert [row[name] for name in UNCOUNTED] == ["", ""]
        assert row["lost_ops"] != ""


def test_unknown_counts_are_the_last_of_an_order(file: Path) -> None:
    with Store(f"sqlite:///{file}") as store:
        new = start("new", "netcache")
        with StoreSink(store) as sink:
            sink.begin(new)
            measured = [sample for sample in samples(new) if sample.phase == "measure"]
            sink.finish(result(new, measured).model_copy(update={"dropped_frames": 0}))
        for descending in (False, True):
            query = RunQuery(sort="dropped_frames", descending=descending)
            assert store.search(query).runs[0].id == "new"


def test_run_that_an_older_netkv_left_unfinished_has_unknown_counts(
    file: Path, before: dict[str, Any]
) -> None:
    """Its figures are made of its intervals when a newer netkv opens the store."""
    run_id = next(run["id"] for run in before["runs"] if run["scheme"] == "farreach")
    with sqlite3.connect(file) as raw:
        raw.execute("UPDATE runs SET status = 'running', figures = '{}' WHERE id = ?", (run_id,))
    raw.close()
    with Store(f"sqlite:///{file}") as store:
        head = store.head(run_id)
    assert head.status == "failed"
    assert head.throughput_ops > 0
    assert head.lost_ops == 0
    assert [getattr(head, name) for name in (*UNCOUNTED, "recirculations_per_s")] == [None] * 3


def test_parameters_of_stored_runs_have_current_names(file: Path) -> None:
    with Store(f"sqlite:///{file}") as store:
        for head in store.heads():
            lab = store.record(head.id).parameters["lab"]
            assert lab["external_clients"] == 4
            assert set(lab) <= set(LabSpec.model_fields)


def test_metrics_are_stored_without_own_columns(file: Path) -> None:
    Store(f"sqlite:///{file}").close()
    with sqlite3.connect(file) as raw:
        columns = {row[1] for row in raw.execute("PRAGMA table_info(samples)")}
        assert not columns & {"unknown", "ignored", "preserved", "preserved_bytes"}
        assert raw.execute("SELECT version FROM store_info").fetchone() == (VERSION,)
        (most,) = raw.execute(
            "SELECT max(json_extract(samples.metrics, '$.preserved')) FROM samples "
            "JOIN runs ON runs.id = samples.run_id WHERE runs.scheme = 'farreach'"
        ).fetchone()
        assert most > 0
    raw.close()


def test_interrupted_runs_of_older_stores_are_cancelled(file: Path, before: dict[str, Any]) -> None:
    first, second, third = (run["id"] for run in before["runs"][:3])
    with sqlite3.connect(file) as raw:
        for run_id, reason in (
            (first, "Interrupted by the user."),
            (second, "It was interrupted."),
            (third, "A node failed."),
        ):
            statement = "UPDATE runs SET status = 'failed', reason = ? WHERE id = ?"
            raw.execute(statement, (reason, run_id))
    raw.close()
    with Store(f"sqlite:///{file}") as store:
        for run_id in (first, second):
            assert (store.head(run_id).status, store.head(run_id).reason) == (
                "cancelled",
                CANCELLED,
            )
        assert store.head(third).status == "failed", "it was not stopped by the user"


def test_notes_of_older_stores_have_the_faults_that_begin_and_end(
    file: Path, before: dict[str, Any]
) -> None:
    run_id = before["runs"][0]["id"]
    notes = [
        "link of servers-0: loss 0.1, delay 0.002 s",
        "Injected: partition controller",
        "link of servers-0: in order",
        "shift hot-in of 200 keys",
        "Healed: heal controller",
        "Injected: slow servers-1: factor 2.5",
        "kill switch",
        "Injected: slow servers-1: factor 1",
        "start servers-0, storage lost",
        "rate 5e+04",
        "not verified: switch down at the end",
        "kill controller after 3 more actions",
    ]
    with sqlite3.connect(file) as raw:
        raw.execute("DELETE FROM events WHERE run_id = ?", (run_id,))
        for note in notes:
            statement = "INSERT INTO events (run_id, time, kind, node, text) VALUES (?, 1, ?, ?, ?)"
            raw.execute(statement, (run_id, "note", "rack", note))
    raw.close()
    with Store(f"sqlite:///{file}") as store:
        events = store.events(run_id)
    assert [(event.kind, event.node, event.text) for event in events] == [
        ("note", "rack", note) for note in notes
    ]
    changes = [event.change for event in events]
    found = [each and (each.cause, each.action, each.begins, each.ends) for each in changes]
    assert found == [
        ("scenario", "link", 1, ()),
        ("user", "partition", 2, ()),
        ("scenario", "link", None, (1,)),
        ("scenario", "shift", None, ()),
        ("duration", "heal", None, (2,)),
        ("user", "slow", 3, ()),
        ("scenario", "kill", 4, ()),
        ("user", "slow", None, (3,)),
        ("scenario", "start", None, ()),
        ("scenario", "rate", None, ()),
        None,
        ("scenario", "kill", 5, ()),
    ]
    assert changes[1] is not None
    assert changes[1].what == "partition controller", "without the prefix"


def test_runs_of_older_stores_can_be_tagged_and_pinned(file: Path, before: dict[str, Any]) -> None:
    run_id = before["runs"][0]["id"]
    with Store(f"sqlite:///{file}") as store:
        head = store.head(run_id)
        assert (head.tags, head.note, head.pinned) == ([], "", False)
        assert (store.planned(head.group), store.progress(head.group)) == ([], None)
        store.tag([run_id], add=["old"])
        store.pin([run_id], True)
        assert [each.id for each in store.search(RunQuery(tags=["old"], pinned=True)).runs] == [
            run_id
        ]


def test_upgraded_store_has_the_tables_of_a_new_one(file: Path, tmp_path: Path) -> None:
    Store(f"sqlite:///{file}").close()
    new = tmp_path / "new.db"
    Store(f"sqlite:///{new}").close()

    def tables(path: Path) -> dict[str, Any]:
        with sqlite3.connect(path) as raw:
            found = {
                name: {
                    (row[1], row[2].replace("FLOAT", "DOUBLE"), row[3])
                    for row in raw.execute(f"PRAGMA table_info({name})")
                }
                for name in Base.metadata.tables
            }
            indexes = raw.execute(
                "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
            ).fetchall()
        raw.close()
        return {**found, "indexes": set(indexes)}

    assert tables(file) == tables(new)
