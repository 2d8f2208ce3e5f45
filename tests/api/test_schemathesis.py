"""Valid and invalid requests of all kinds, made from the OpenAPI document by schemathesis.

All its checks count: no internal error, statuses, media types and bodies as described, wrong
requests refused, right ones accepted, and so on. What it may not know is in `schemathesis.toml`.

    NETKV_API_EXAMPLES=200 .venv/bin/python -m pytest tests/api/test_schemathesis.py

makes more requests than the suite does.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from netkv.api import labs
from netkv.api.jobs import record
from netkv.api.jobs.record import Record
from netkv.api.models.jobs import JobState
from netkv.labs import daemon
from netkv.runs import Store, StoreSink
from netkv.scenarios.results import ScenarioResult
from tests.api.live_lab import OPTIONS
from tests.api.serving import Served, serving
from tests.runs.recorded_runs import record as record_run
from tests.runs.recorded_runs import record_comparison, start
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
EXAMPLES = os.environ.get("NETKV_API_EXAMPLES", "8")
"""Requests of each kind to each operation, besides those at the limits of parameters."""


@pytest.fixture
def idle(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server with runs and jobs that starts no process: jobs stay in the queue, labs are refused
    as if there were too many, and nobody waits, as when the server ends."""
    for group in ("gfirst", "gsecond"):
        record_comparison(store, group)
    with StoreSink(store) as sink:
        for number in range(4):
            record_run(sink, start(f"single-{number}", "netcache"))
    with record.locked():
        for state in ("done", "failed", "queued"):
            _save_job(state, store)
    monkeypatch.setattr(labs, "MAX_LABS", 0)
    closing = asyncio.Event()
    closing.set()
    # Another server would start the jobs.
    with record.scheduling() as free, serving(store, closing=closing) as served:
        assert free
        yield served


def _save_job(state: JobState, store: Store) -> None:
    job = Record(
        id=f"job-{state}",
        title="quickstart",
        request={"scenario": "quickstart"},
        command=["false"],
        store=store.url,
        created_at=time.time(),
        state=state,
    )
    job.save()
    (job.directory / "log").write_text("Messages.\n", encoding="utf-8")
    if state == "done":
        result = ScenarioResult(
            scenario="quickstart",
            title="NetCache against NoCache",
            mode="live",
            target="engine",
            seed=1,
            runs=[],
            summary=[],
            thresholds=[],
        )
        (job.directory / "result.json").write_text(result.model_dump_json(), encoding="utf-8")


@pytest.fixture
def with_lab(idle: Served) -> Iterator[Served]:
    """The same server and a lab that is up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labs, "MAX_LABS", 1)
        request = {"name": "fuzzed", **OPTIONS}
        made = httpx.post(
            f"{idle.url}/api/v1/labs", params={"wait": 120}, json=request, timeout=PATIENCE_S
        ).json()
    try:
        assert made["state"] == "ready", made["text"]
        yield idle
    finally:
        daemon.down("fuzzed")


def test_api_does_what_its_description_says(idle: Served, tmp_path: Path) -> None:
    check(idle, tmp_path)


def test_labs_do_what_their_description_says(with_lab: Served, tmp_path: Path) -> None:
    """With the names of a lab and of its parts; it stays up, whatever happens to its nodes."""
    check(with_lab, tmp_path, "--include-tag=labs", "--exclude-operation-id=delete_lab")
    assert daemon.found("fuzzed").alive


def check(served: Served, directory: Path, *options: str) -> None:
    """Runs schemathesis; `directory` is for its files."""
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        f"--config-file={CONFIGURATION}",
        "run",
        f"{served.url}/api/v1/openapi.json",
        f"--max-examples={EXAMPLES}",
        *options,
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SCHEMATHESIS_HOOKS": "tests.api.schemathesis_hooks",
    }
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
