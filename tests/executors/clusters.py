"""A Dask scheduler and workers of netkv for tests, each a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.commands import NETKV, ROOT
from tests.waiting import until

SCENARIO = """\
name: many
schemes: [nocache, netcache]
mode: sim
lab: {servers: 2, service_rate: 500, cache_entries: 10}
workload: {keys: 100, writes: 0.1, arrivals: {outstanding: 4}}
warmup: 0.5
duration: 4
repeat: 6
expect: [each.linearizable == 1]
"""


class Cluster:
    """A scheduler on a free loopback port, and workers."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._started: list[subprocess.Popen[bytes]] = []
        self.address = ""

    def start_scheduler(self) -> None:
        """Starts the scheduler; a later one has another address."""
        file = self._directory / "scheduler.json"
        file.unlink(missing_ok=True)
        self.scheduler = self._start(
            *(sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"),
            *("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)),
        )
        found = until(lambda: _address(file), "the scheduler listens")
        self.address = f"dask://{found}"

    def start_worker(self, *command: str, jobs: int = 1) -> subprocess.Popen[bytes]:
        """Starts a worker; `command` is another netkv."""
        address = self.address.replace("dask:", "tcp:")
        return self._start(*(command or NETKV), "worker", address, "--jobs", str(jobs))

    def end(self) -> None:
        """Kills all processes."""
        for process in self._started:
            process.kill()
        for process in self._started:
            process.wait()

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        log = (self._directory / "cluster.log").open("ab")
        with log:
            process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ
            )
        self._started.append(process)
        return process


def _address(file: Path) -> str | None:
    try:
        text = json.loads(file.read_text(encoding="utf-8"))["address"]
    except (OSError, ValueError, KeyError):
        return None
    return str(text).removeprefix("tcp://")


@contextmanager
def cluster(directory: Path) -> Iterator[Cluster]:
    """A cluster with a scheduler and no workers; it ends with the context."""
    made = Cluster(directory)
    try:
        made.start_scheduler()
        yield made
    finally:
        made.end()
