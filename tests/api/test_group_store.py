"""Dashboards of several people on one store on a server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from netkv.runs import Store, StoreSink
from netkv.runs.owner import Owner
from tests.api import group_load
from tests.api.group_load import Load
from tests.api.serving import Served, serving
from tests.runs.postgresql import PASSWORD, Server
from tests.runs.recorded_runs import record_comparison, start
from tests.waiting import PATIENCE_S, until

JSON = {"content-type": "application/json"}


@pytest.fixture
def store(server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """An empty store on a server."""
    monkeypatch.setenv("NETKV_HOME", str(tmp_path))
    monkeypatch.setenv("NETKV_STORE", server_url)
    with Store() as opened:
        yield opened


@pytest.mark.slow
def test_fifty_writers_lose_nothing_while_three_dashboards_read(server_url: str) -> None:
    outcome = group_load.run(Load(server_url, writers=50, runs=1, seconds=12))
    assert outcome.samples == 50 * 15


def test_two_dashboards_show_and_mark_the_same_runs(served: Served, server_url: str) -> None:
    with Store(server_url) as other, serving(other) as second:
        one, two = record_comparison(served.store)
        for url in (served.url, second.url):
            runs = httpx.get(f"{url}/api/v1/runs", timeout=PATIENCE_S).json()["runs"]
            assert [run["id"] for run in runs] == [two, one]
        marked = httpx.patch(
            f"{second.url}/api/v1/runs/{one}",
            json={"tags": ["paper"], "pinned": True},
            timeout=PATIENCE_S,
        )
        assert marked.status_code == 200
        refused = httpx.request(
            "DELETE", f"{served.url}/api/v1/runs/{one}", headers=JSON, timeout=PATIENCE_S
        )
        assert "is pinned" in refused.json()["detail"]


@pytest.mark.usefixtures("slow_runner")
def test_job_does_not_wait_for_the_run_of_another_host(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Owner.this_process()
    other = Owner("another-host", replace(here.process, boot="another"))
    with monkeypatch.context() as patch, StoreSink(served.store, group="gelsewhere") as sink:
        patch.setattr(Owner, "this_process", lambda: other)
        sink.begin(start("elsewhere"))
        patch.undo()
        jobs = f"{served.url}/api/v1/jobs"
        (shown,) = httpx.get(jobs, timeout=PATIENCE_S).json()["active"]
        assert (shown["id"], shown["state"]) == ("gelsewhere", "running")
        refused = httpx.request("DELETE", f"{jobs}/gelsewhere", headers=JSON, timeout=PATIENCE_S)
        assert refused.status_code == 409
        assert "runs on another machine, another-host" in refused.json()["detail"]
        job = httpx.post(jobs, json={"scenario": "quickstart"}, timeout=PATIENCE_S).json()

        def state() -> bool:
            found = httpx.get(f"{jobs}/{job['id']}", timeout=PATIENCE_S).json()["state"]
            return bool(found == "done")

        until(state, "the job has run")
        assert served.store.head("elsewhere").status == "running"


@pytest.mark.usefixtures("slow_runner")
def test_job_has_the_password_of_the_store_but_its_record_does_not(
    postgresql: Server, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETKV_HOME", str(tmp_path))
    with (
        Store(postgresql.url(database, "scram", PASSWORD)) as store,
        serving(store) as served,
    ):
        jobs = f"{served.url}/api/v1/jobs"
        job = httpx.post(jobs, json={"scenario": "quickstart"}, timeout=PATIENCE_S).json()
        until(lambda: len(store.heads()) == 2, "the job has stored its runs")
        until(lambda: not store.running(), "they have ended")
        records = [file for file in tmp_path.rglob("*") if file.is_file()]
        assert any(job["id"] in str(file) for file in records)
        assert not any(PASSWORD.encode() in file.read_bytes() for file in records)


def test_dashboard_serves_again_when_its_server_is_back(served: Served, postgresql: Server) -> None:
    ids = record_comparison(served.store)
    runs = f"{served.url}/api/v1/runs"
    postgresql.crash()
    try:
        gone = httpx.get(runs, timeout=PATIENCE_S)
        assert gone.status_code == 503
        assert gone.json()["detail"].startswith("The run store postgresql+psycopg://tests@127.0")
        assert "Connection refused" in gone.json()["detail"]
    finally:
        postgresql.start()
    back = httpx.get(runs, timeout=PATIENCE_S).json()["runs"]
    assert [run["id"] for run in back] == ids[::-1]
