"""Scenarios on a Dask cluster whose scheduler and workers are processes of their own, and die."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from netkv.errors import NetkvError
from netkv.executors import worker
from netkv.runs import Store
from netkv.runs.query import RunQuery
from tests.cli.commands import ROOT, CommandResult, Netkv
from tests.executors.clusters import Cluster, cluster
from tests.waiting import PATIENCE_S, until

COMMITTED = [sys.executable, "-m", "tests.executors.clients", "committed"]
OTHER = [sys.executable, "-m", "tests.executors.clients", "other"]
RUNS = 12
DURATION = 120
LONG = ("--set", f"duration={DURATION}")
"""So that not all runs have ended when the test sees that some have: for seconds on an idle
machine."""

pytestmark = pytest.mark.slow


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path) as opened:
        yield opened


@pytest.fixture
def scenario(many: Path) -> str:
    return str(many)


def start(*arguments: str) -> subprocess.Popen[str]:
    """Starts a netkv that takes results from the store."""
    return subprocess.Popen(
        [*COMMITTED, "scenario", "run", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> CommandResult:
    out, err = process.communicate(timeout=PATIENCE_S)
    return CommandResult(process.returncode, out, err)


def stored() -> list[str]:
    """The ids of the runs in the store that ended, with what they have told."""
    with Store() as store:
        return [each.id for each in store.search(RunQuery(status=("done",))).runs]


def wait_for_runs(count: int) -> None:
    until(lambda: len(stored()) >= count, f"{count} runs are stored")


def same(document: Any) -> list[dict[str, Any]]:
    """The results of a scenario, without when and where they were made."""
    runs: list[dict[str, Any]] = document["runs"]
    for run in runs:
        del run["finished_at"]
    return runs


def check_complete(result: CommandResult, duration: int = 4) -> None:
    """All runs are there, each once, with all that they have told."""
    document = result.document
    assert result.status == 0, result.err
    ids = [run["id"] for run in document["runs"]]
    assert len(set(ids)) == RUNS
    assert sorted(stored()) == sorted(ids)
    with Store() as store:
        (group,) = {store.head(each).group for each in ids}
        assert sorted(each.id for each in store.heads(group=group)) == sorted(ids)
        for each in ids:
            samples, _ = store.samples(each)
            times = [it.time for it in samples if it.phase == "measure"]
            assert times == list(range(1, duration + 1))


def test_results_are_those_of_this_machine(netkv: Netkv, dask: Cluster, scenario: str) -> None:
    dask.start_worker(jobs=2)
    here = netkv("scenario", "run", scenario, "--jobs", "1", "--json")
    there = netkv("scenario", "run", scenario, "--on", dask.address, "--json", "--again")
    assert there.status == 0, there.err
    assert json.dumps(same(there.document)) == json.dumps(same(here.document))
    assert f"On the cluster {dask.address.replace('dask', 'tcp')}, 2 units at a time" in there.err
    check_complete(there)


@pytest.mark.usefixtures("home")
def test_worker_that_is_killed_costs_nothing(dask: Cluster, scenario: str) -> None:
    first = dask.start_worker(jobs=2)
    process = start(scenario, "--on", dask.address, "--json", *LONG)
    wait_for_runs(2)
    first.kill()
    # Nobody is left for a while, which is told.
    assert process.stderr is not None
    lines = iter(process.stderr.readline, "")
    assert any("is left" in line and "wait for new ones" in line for line in lines)
    dask.start_worker(jobs=2)
    check_complete(ended(process), duration=DURATION)


@pytest.mark.usefixtures("home")
def test_command_that_is_killed_is_resumed(dask: Cluster, scenario: str) -> None:
    dask.start_worker(jobs=2)
    process = start(scenario, "--on", dask.address, "--json", *LONG)
    wait_for_runs(2)
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    before = set(stored())
    result = ended(start(scenario, "--on", dask.address, "--json", *LONG))
    check_complete(result, duration=DURATION)
    assert before < set(stored())
    assert f" of {RUNS} runs were stored already" in result.err


@pytest.mark.usefixtures("home")
def test_scheduler_that_is_killed_ends_the_command_with_what_to_do(
    dask: Cluster, scenario: str
) -> None:
    theirs = dask.start_worker(jobs=2)
    process = start(scenario, "--on", dask.address, "--json", *LONG)
    wait_for_runs(2)
    dask.scheduler.kill()
    result = ended(process)
    assert result.status == 1
    assert "cannot be reached any more" in result.err
    assert "the same command resumes" in result.err
    assert "Traceback" not in result.err
    theirs.wait(PATIENCE_S)
    before = stored()
    assert len(before) >= 2
    dask.start_scheduler()
    dask.start_worker(jobs=2)
    result = ended(start(scenario, "--on", dask.address, "--json", *LONG))
    assert result.status == 0, result.err
    assert set(before) < set(stored())
    assert len(stored()) == len(set(stored())) == RUNS


@pytest.mark.usefixtures("home")
def test_interrupt_ends_the_units_on_workers(netkv: Netkv, dask: Cluster, scenario: str) -> None:
    dask.start_worker(jobs=2)
    # Each takes minutes, and nothing of them is stored before their end.
    process = start(scenario, "--on", dask.address, "--set", "duration=80000")
    workers = Client(dask.address.replace("dask:", "tcp:"), set_as_default=False)
    until(lambda: workers.processing() and any(workers.processing().values()), "units are executed")
    process.send_signal(signal.SIGINT)
    result = ended(process)
    assert result.status == 130
    assert "Interrupted before a run began: nothing is stored." in result.err
    until(lambda: not any(workers.processing().values()), "no unit is left")
    workers.close()
    # Their processes are free again.
    check_complete(netkv("scenario", "run", scenario, "--on", dask.address, "--json", "--again"))


def test_worker_with_another_netkv_is_refused(netkv: Netkv, dask: Cluster, scenario: str) -> None:
    dask.start_worker(*OTHER)
    result = netkv("scenario", "run", scenario, "--on", dask.address)
    assert result.status == 2
    assert "has this netkv, so none may execute its units" in result.err
    assert "It has netkv 0.0.1 (0123456789), and units need netkv " in result.err
    # Beside one that fits it is not used.
    dask.start_worker()
    result = netkv("scenario", "run", scenario, "--on", dask.address, "--json")
    assert result.status == 0, result.err
    assert "gets no units. It has netkv 0.0.1" in result.err


def test_worker_without_a_scheduler_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_DEATH_S", 0.5)
    with pytest.raises(NetkvError, match=r"The scheduler tcp://127\.0\.0\.1:1 cannot be reached"):
        asyncio.run(worker.work("tcp://127.0.0.1:1", 1, None, ends_with_input=False))


def test_soak_on_a_cluster_finds_what_it_finds_here(netkv: Netkv, dask: Cluster) -> None:
    dask.start_worker(jobs=2)
    command = ("soak", "netcache", "--seeds", "8", "--json")
    here, there = netkv(*command), netkv(*command, "--on", dask.address)
    assert there.status == 0, there.err
    for each in ("seeds", "operations", "faults", "unchecked_reads", "violations"):
        assert there.document[each] == here.document[each]
