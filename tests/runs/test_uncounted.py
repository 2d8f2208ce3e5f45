"""Metrics that the netkv of a stored run did not count are unknown, not 0."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from netkv.runs import Store, StoreSink
from netkv.runs.query import RunQuery
from tests.runs.recorded_runs import record, result, samples, start

UNCOUNTED = ("dropped_frames", "hits_ops")


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with a finished run "old" without these metrics."""
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    monkeypatch.setenv("NETKV_STORE", url)
    with Store(url) as store, StoreSink(store) as sink:
        record(sink, start("old", "netcache"))
    with sqlite3.connect(tmp_path / "runs.db") as raw:
        for name in UNCOUNTED:
            raw.execute(f"UPDATE runs SET figures = json_remove(figures, '$.{name}')")
            raw.execute(f"UPDATE samples SET metrics = json_remove(metrics, '$.{name}')")
    raw.close()
    return url


def export(url: str, *options: str) -> str:
    """What `netkv runs export` prints about the run."""
    return subprocess.run(
        [sys.executable, "-m", "netkv", "runs", "export", "old", *options],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, "NETKV_STORE": url},
    ).stdout


def test_uncounted_metrics_of_a_run_are_exported_as_unknown(url: str) -> None:
    (run,) = json.loads(export(url))["runs"]
    for name in UNCOUNTED:
        assert run[name] is None
        assert run["series"][name] == [None] * len(run["series"]["time"])
    assert run["lost_ops"] is not None, "it was counted"
    rows = list(csv.DictReader(io.StringIO(export(url, "--csv"))))
    assert rows
    for row in rows:
        assert [row[name] for name in UNCOUNTED] == ["", ""]
        assert row["lost_ops"] != ""


def test_unknown_counts_are_the_last_of_an_order(url: str) -> None:
    with Store(url) as store:
        with StoreSink(store) as sink:
            new = start("new", "netcache")
            sink.begin(new)
            measured = [sample for sample in samples(new) if sample.phase == "measure"]
            sink.finish(result(new, measured).model_copy(update={"dropped_frames": 0}))
        for descending in (False, True):
            query = RunQuery(sort="dropped_frames", descending=descending)
            assert store.search(query).runs[0].id == "new"


def test_unfinished_run_has_unknown_counts(url: str) -> None:
    """Its figures are made of its intervals when the store is opened again."""
    with sqlite3.connect(url.removeprefix("sqlite:///")) as raw:
        raw.execute("UPDATE runs SET status = 'running', figures = '{}'")
        raw.execute("UPDATE groups SET owner_boot = 'an earlier one'")
    raw.close()
    with Store(url) as store:
        head = store.head("old")
    assert head.status == "failed"
    assert head.throughput_ops > 0
    assert [getattr(head, name) for name in UNCOUNTED] == [None, None]
