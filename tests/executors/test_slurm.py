"""Scenarios on a real SLURM of one node, whose tasks and whose users die (`make test-slurm`)."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import Netkv
from tests.executors import slurm_node
from tests.executors.slurm_node import PARTITION, Slurm
from tests.executors.test_dask import (
    DURATION,
    LONG,
    check_complete,
    ended,
    start,
    stored,
    wait_for_runs,
)
from tests.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(slurm_node.missing() is not None, reason=str(slurm_node.missing())),
]
PLACE = f"slurm:{PARTITION}?tasks=2&address=127.0.0.1"


@pytest.fixture(scope="module")
def node() -> Iterator[Slurm]:
    # The path of munged's socket must be short.
    with (
        tempfile.TemporaryDirectory(prefix="slurm-") as folder,
        slurm_node.slurm(Path(folder)) as opened,
    ):
        yield opened


@pytest.fixture
def slurm(node: Slurm, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    for name, value in node.environment.items():
        monkeypatch.setenv(name, value)
    yield node
    node.ask("scancel", "--name=netkv")
    until(lambda: not node.queue() and not node.workers(), "the queue is empty")


@pytest.fixture
def scenario(many: Path) -> str:
    return str(many)


def test_array_is_cancelled_at_the_end(netkv: Netkv, slurm: Slurm, scenario: str) -> None:
    result = netkv("scenario", "run", scenario, "--on", PLACE, "--json")
    check_complete(result)
    assert f"On 2 tasks of SLURM in the partition {PARTITION}" in result.err
    until(lambda: not slurm.queue() and not slurm.workers(), "no task is left")


@pytest.mark.usefixtures("home")
def test_killed_tasks_cost_nothing(slurm: Slurm, scenario: str) -> None:
    process = start(scenario, "--on", PLACE, "--json", *LONG)
    wait_for_runs(1)
    # A worker dies by itself, and a task with all its processes.
    os.kill(slurm.workers()[0], signal.SIGKILL)
    wait_for_runs(3)
    running = [line.split()[0] for line in slurm.queue() if "RUNNING" in line]
    slurm.ask("scontrol", "requeue", running[0])  # its task comes back after two minutes
    result = ended(process)
    assert result.status == 0, result.err
    assert len(stored()) == len({run["id"] for run in result.document["runs"]}) == 12


@pytest.mark.usefixtures("home")
def test_killed_command_is_resumed(slurm: Slurm, scenario: str) -> None:
    process = start(scenario, "--on", PLACE, "--json", *LONG)
    wait_for_runs(2)
    process.kill()
    process.wait()
    for pipe in (process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()
    before = set(stored())
    until(lambda: not slurm.workers(), "its workers have ended by themselves")
    check_complete(ended(start(scenario, "--on", PLACE, "--json", *LONG)), duration=DURATION)
    assert before < set(stored())


def test_partition_that_does_not_exist_is_told(netkv: Netkv, slurm: Slurm, scenario: str) -> None:
    result = netkv("scenario", "run", scenario, "--on", "slurm:short?tasks=2")
    assert result.status == 1
    assert "SLURM has refused the job: " in result.err
    assert "partition" in result.err
    assert slurm.queue() == []
