"""Jobs of the API: the queue, progress, cancelling, waiting, and the end of a server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from netkv.api.jobs import record
from netkv.api.jobs.queue import Queue
from netkv.runs import Store, StoreSink
from netkv.scenarios.results import CANCELLED
from tests.api.serving import Served
from tests.runs.recorded_runs import start
from tests.waiting import PATIENCE_S, until

ROOT = Path(__file__).parents[2]
JSON = {"content-type": "application/json"}

get = partial(httpx.get, timeout=PATIENCE_S)
post = partial(httpx.post, timeout=PATIENCE_S)


def delete(url: str, **more: Any) -> httpx.Response:
    return httpx.request("DELETE", url, headers=JSON, timeout=PATIENCE_S, **more)


def submit(served: Served, **request: Any) -> dict[str, Any]:
    answer = post(f"{served.url}/api/v1/jobs", json={"scenario": "quickstart", **request})
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    return found


def wait_for(url: str, job: dict[str, Any], *states: str) -> dict[str, Any]:
    """Waits until the job is in one of these states; returns it."""

    def reached() -> dict[str, Any] | None:
        found: dict[str, Any] = get(f"{url}/api/v1/jobs/{job['id']}").json()
        return found if found["state"] in states else None

    return until(reached, f"the job is {' or '.join(states)}", every_s=0.05)


@pytest.mark.usefixtures("slow_runner")
def test_jobs_run_one_after_the_other(served: Served, tmp_path: Path) -> None:
    (tmp_path / "hold").touch()
    first = submit(served)
    wait_for(served.url, first, "running")
    second, third = submit(served, schemes=["nocache"]), submit(served, schemes=["netcache"])
    assert [second["state"], second["position"]] == ["queued", 1]
    assert third["position"] == 2
    listed = get(f"{served.url}/api/v1/jobs").json()["active"]
    assert [job["id"] for job in listed] == [job["id"] for job in (first, second, third)]
    assert [run["status"] for run in listed[0]["runs"]] == ["running"]
    (tmp_path / "hold").unlink()
    done = get(f"{served.url}/api/v1/jobs/{third['id']}", params={"wait": PATIENCE_S}).json()
    assert [done["state"], done["ok"], done["position"]] == ["done", True, None]
    ended = [get(f"{served.url}/api/v1/jobs/{job['id']}").json() for job in (first, second, third)]
    assert [run["scheme"] for run in ended[0]["runs"]] == ["nocache", "netcache"]
    for before, after in pairwise(ended):
        assert before["finished_at"] <= after["started_at"]
    result = get(f"{served.url}/api/v1/jobs/{third['id']}/result").json()
    assert result["runs"][0]["status"] == "done"


@pytest.mark.usefixtures("slow_runner")
def test_cancelled_job_keeps_its_samples(served: Served) -> None:
    job = submit(served, repeat=100)
    running = wait_for(served.url, job, "running")
    (run,) = running["runs"]
    series = f"{served.url}/api/v1/runs/{run['id']}/series"
    until(lambda: get(series).json()["columns"]["time"], "the run has samples")
    stopped = delete(f"{served.url}/api/v1/jobs/{job['id']}", params={"wait": PATIENCE_S})
    assert stopped.status_code == 202
    (run,) = stopped.json()["runs"]
    assert [stopped.json()["state"], run["status"], run["reason"]] == [
        "cancelled",
        "cancelled",
        CANCELLED,
    ]
    again = delete(f"{served.url}/api/v1/jobs/{job['id']}")
    assert again.status_code == 409
    assert again.json()["detail"] == f"Job {job['id']} has ended: it is cancelled."


@pytest.mark.usefixtures("slow_runner")
def test_queued_job_can_be_cancelled(served: Served, tmp_path: Path) -> None:
    (tmp_path / "hold").touch()
    first = submit(served)
    wait_for(served.url, first, "running")
    second = submit(served)
    assert delete(f"{served.url}/api/v1/jobs/{second['id']}").json()["state"] == "cancelled"
    (tmp_path / "hold").unlink()
    wait_for(served.url, first, "done")
    assert get(f"{served.url}/api/v1/jobs/{second['id']}").json()["runs"] == []


@pytest.mark.usefixtures("slow_runner")
def test_job_that_does_not_start_reports_the_error(served: Served) -> None:
    job = wait_for(served.url, submit(served, scenario="hot-in"), "failed")
    assert "port 9559 is in use" in job["error"]
    assert "port 9559" in get(f"{served.url}/api/v1/jobs/{job['id']}/log").json()["text"]
    missing = get(f"{served.url}/api/v1/jobs/{job['id']}/result")
    assert missing.status_code == 409
    assert "it is failed" in missing.json()["detail"]


@pytest.mark.usefixtures("slow_runner")
def test_own_scenario_runs_from_yaml_and_from_json(served: Served) -> None:
    for own in (
        {"yaml": "name: mine\nschemes: [nocache]\nduration: 3\n"},
        {"document": {"name": "mine", "schemes": ["nocache"], "duration": 3}},
    ):
        job = submit(served, scenario=None, **own)
        assert job["title"] == "mine"
        assert wait_for(served.url, job, "done", "failed")["state"] == "done"
        kept = (record.directory() / job["id"] / "scenario.yaml").read_text()
        assert "mine" in kept


@pytest.mark.parametrize(
    ("request_", "field", "part"),
    [
        ({"scenario": "quickstart", "sed": 1}, "sed", "not permitted"),
        ({"scenario": "quickstrat"}, "", "Did you mean 'quickstart'?"),
        ({"scenario": "quickstart", "set": ["workload.zipff=1"]}, "workload.zipff", "zipf"),
        ({"scenario": "quickstart", "set": ["workload.zipf"]}, "", "should look like"),
        ({"yaml": "name: a\nschemes: [nocache]\nduration: x\n"}, "duration", "scenario.yaml:3"),
        ({"yaml": "a: ["}, "", "is not YAML"),
        ({"scenario": "quickstart", "yaml": "name: a"}, "", "exactly one"),
        ({}, "", "exactly one"),
        ({"scenario": "../../etc/passwd"}, "scenario", "match pattern"),
        ({"scenario": "quickstart", "set": ["lab.profile=/etc/x.json"]}, "lab.profile", "a file"),
        (
            {"scenario": "quickstart", "set": ["sweep={lab.profile: [/etc/x.json]}"]},
            "lab.profile",
            "a file",
        ),
    ],
)
def test_wrong_request_names_the_field(
    served: Served, request_: dict[str, Any], field: str, part: str
) -> None:
    for path in ("jobs", "scenarios/check"):
        answer = post(f"{served.url}/api/v1/{path}", json=request_)
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert part in problem["detail"]
        if field:
            assert field in [each["field"] for each in problem["errors"]]
    assert get(f"{served.url}/api/v1/jobs").json() == {"active": [], "ended": []}


def test_check_of_a_scenario_has_its_plan(served: Served) -> None:
    request = {"scenario": "quickstart", "set": ["sweep={workload.zipf: [0.9, 0.99]}"], "repeat": 2}
    checked = post(f"{served.url}/api/v1/scenarios/check", json=request).json()
    assert len(checked["plan"]) == checked["runs"] == 8
    first = checked["plan"][0]
    assert first.pop("seconds") > 0
    assert first == {
        "scheme": "nocache",
        "params": {"workload.zipf": 0.9},
        "repeat": 0,
    }
    assert checked["mode"] == "live"
    assert checked["warnings"] == []


def test_check_warns_of_a_load_that_cannot_be_served(served: Served) -> None:
    request = {"scenario": "quickstart", "set": ["workload.arrivals={rate: 100000}"]}
    (warning,) = post(f"{served.url}/api/v1/scenarios/check", json=request).json()["warnings"]
    assert "A load of 100,000 operations/s cannot be served with nocache" in warning


@pytest.mark.usefixtures("slow_runner")
def test_job_waits_for_a_run_of_a_terminal(served: Served) -> None:
    with StoreSink(served.store, group="gterminal") as sink:
        sink.begin(start("elsewhere"))
        (terminal,) = get(f"{served.url}/api/v1/jobs").json()["active"]
        assert [terminal["source"], terminal["id"]] == ["terminal", "gterminal"]
        job = submit(served)
        assert job["state"] == "queued"
        assert get(f"{served.url}/api/v1/jobs/gterminal").json()["runs"][0]["id"] == "elsewhere"
    wait_for(served.url, job, "done")


@pytest.mark.usefixtures("slow_runner")
def test_full_queue_refuses_more(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netkv.api.jobs.queue.MAX_QUEUED", 2)
    (tmp_path / "hold").touch()
    wait_for(served.url, submit(served), "running")
    for _ in range(2):
        submit(served)
    refused = post(f"{served.url}/api/v1/jobs", json={"scenario": "quickstart"})
    assert refused.status_code == 429
    assert "2 jobs are queued" in refused.json()["detail"]


SERVER = """
import sys
from pathlib import Path
from netkv.api import server
from netkv.api.jobs import requests

def command(request, group, directory):
    return [sys.executable, "-m", "tests.api.slow_runner", group, "quickstart", "1"]

requests.scenario_command = command
server.run(0)
"""


@contextmanager
def server() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a process of its own, over the store of the test."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        try:
            assert process.stderr is not None
            url = process.stderr.readline().split()[1]
            yield process, url
        finally:
            process.kill()


def test_job_survives_its_server(store: Store, tmp_path: Path) -> None:
    (tmp_path / "hold").touch()
    with server() as (process, url):
        job = submit(Served(url, store))
        queued = submit(Served(url, store))
        wait_for(url, job, "running")
        process.kill()
        process.wait()
    (tmp_path / "hold").unlink()
    with server() as (_, url):
        assert wait_for(url, job, "done")["ok"]
        assert wait_for(url, queued, "done")["ok"], "the next server starts the queued job"
    times = store.record(f"{job['id']}-nocache").series["time"]
    assert times == sorted(times)
    assert len(times) == 23, "no sample is missing"


def test_server_that_is_stopped_cancels_its_jobs(store: Store, tmp_path: Path) -> None:
    (tmp_path / "hold").touch()
    with server() as (process, url):
        job, queued = submit(Served(url, store)), submit(Served(url, store))
        wait_for(url, job, "running")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    found = {each.id: each for each in record.all_records()}
    assert [found[job["id"]].state, found[queued["id"]].state] == ["cancelled", "cancelled"]
    left = found[job["id"]].process
    assert left is not None
    assert not left.alive


def is_done(queue: Queue, job_id: str) -> bool:
    return queue.job(job_id).state == "done"


def test_old_jobs_are_forgotten_but_not_their_runs(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "KEPT", 2)
    queue = Queue(store)
    queue.start()
    try:
        for number in range(5):
            job = queue.submit(
                title=f"job-{number}",
                request={},
                command=lambda *_: [sys.executable, "-c", "print('{}')"],
            )
            until(partial(is_done, queue, job.id), "the job has ended")
        assert [each.title for each in record.all_records()] == ["job-2", "job-3", "job-4"]
    finally:
        queue.close()


def test_damaged_job_on_disk_does_not_disturb_the_others(served: Served) -> None:
    broken = record.directory() / "gbroken"
    broken.mkdir(parents=True)
    (broken / "job.json").write_text("{")
    assert get(f"{served.url}/api/v1/jobs").json() == {"active": [], "ended": []}
    assert get(f"{served.url}/api/v1/jobs/gbroken").status_code == 404
    assert os.listdir(broken) == ["job.json"]
