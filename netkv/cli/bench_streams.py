"""What open pages cost a live run: `python -m netkv.cli.bench_streams [STREAMS [ROUNDS [RATE]]]`.

A server of its own runs the same live scenario in turns, without streams and with STREAMS (100)
that are read and one that is not. The command prints the throughput of each run, their ratio in
each round, and how many streams got each sample of the run, as JSON. Streams, server and rack share
the machine, as they do for somebody who watches an experiment on a laptop. The servers serve RATE
operations a second, as in the scenarios that ship; with 0 the machine is the limit, and all that
the streams cost is missing from the throughput.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from netkv import schemes
from netkv.api_client import Client
from netkv.errors import NetkvError, UsageError
from netkv.scenarios.results import RunResult


def scenario(duration: float, service_rate: int | None) -> dict[str, Any]:
    """A live run: reads and writes of skewed popularity, answered by a switch and servers."""
    lab = {"servers": 8, "service_rate": service_rate, "cache_entries": 1000}
    load = {"keys": 10_000, "zipf": 0.99, "writes": 0.05, "arrivals": {"outstanding": 64}}
    return {
        "name": "watched",
        "schemes": [schemes.default().name],
        "lab": lab,
        "workload": load,
        "warmup": 2,
        "duration": duration,
    }


_BUFFER = 4096
"""Bytes that the kernel keeps for the stream that is not read: it must fill within the run."""
_PATIENCE_S = 30.0
_SAMPLES = 1000
"""More than a run of a minute has."""
_MAX_STREAMS = 199
_MAX_ROUNDS = 100
_START_S = 60.0

_Seen = tuple[str, float]
"""Run and time of a sample."""


class Round(BaseModel):
    """The same scenario without and with streams."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    alone_ops: float
    watched_ops: float
    samples: int
    """Samples that the watched run has stored."""
    complete: int
    """Streams that got each of them once and in order, of those that are read."""
    server_alone_cpu_s: float
    """Processor time of the server during the run without streams."""
    server_cpu_s: float
    """The same during the watched run."""
    readers_cpu_s: float
    """Processor time of the process that reads the streams."""

    @property
    def ratio(self) -> float:
        """Throughput with streams over throughput without."""
        return self.watched_ops / self.alone_ops


class Watched(BaseModel):
    """All rounds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    streams: int
    """Streams that are read; one more is not."""
    ratio: float
    """Median of the rounds."""
    ratios: list[float]
    rounds: list[Round]


def measure(streams: int, rounds: int, scenario: dict[str, Any]) -> Watched:
    """Runs all rounds. Raises `NetkvError` if the server does not start or a run fails."""
    with tempfile.TemporaryDirectory(prefix="netkv-streams-") as home, _server(Path(home)) as at:
        bench = _Bench(*at, streams=streams, scenario=scenario)
        # The order changes, so that a machine that gets slower or faster favours neither.
        found = [bench.round(watched_first=number % 2 == 1) for number in range(rounds)]
    ratios = [each.ratio for each in found]
    return Watched(streams=streams, ratio=statistics.median(ratios), ratios=ratios, rounds=found)


@dataclass(frozen=True)
class _Bench:
    url: str
    pid: int
    """The server's process."""
    streams: int
    scenario: dict[str, Any]

    def round(self, watched_first: bool) -> Round:
        """The scenario once without and once with streams."""
        if not watched_first:
            alone, alone_cpu = self._alone()
        own, server = time.process_time(), _cpu_s(self.pid)
        ops, samples, complete = asyncio.run(self._watched())
        own, server = time.process_time() - own, _cpu_s(self.pid) - server
        if watched_first:
            alone, alone_cpu = self._alone()
        return Round(
            alone_ops=alone,
            watched_ops=ops,
            samples=samples,
            complete=complete,
            server_alone_cpu_s=alone_cpu,
            server_cpu_s=server,
            readers_cpu_s=own,
        )

    def _alone(self) -> tuple[float, float]:
        """Throughput, and processor time of the server, without streams."""
        cpu = _cpu_s(self.pid)
        ops = self._run().throughput_ops or 0.0
        return ops, _cpu_s(self.pid) - cpu

    def _run(self) -> RunResult:
        """Runs the scenario live."""
        (run,) = Client(self.url).run(self.scenario, mode="live").runs
        if run.status != "done":
            raise NetkvError(run.reason or f"The run is {run.status}.")
        return run

    async def _watched(self) -> tuple[float, int, int]:
        """The throughput while streams are open, the run's samples, and complete streams."""
        address = urlsplit(self.url)
        host, port = address.hostname or "", address.port or 0
        seen: list[list[_Seen]] = [[] for _ in range(self.streams)]
        tasks = [asyncio.create_task(_read(host, port, each)) for each in seen]
        with socket.socket() as silent:
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
            silent.connect((host, port))
            silent.sendall(_request(host, port))
            try:
                run = await asyncio.to_thread(self._run)
                series = Client(self.url).series(run.id, limit=_SAMPLES)
                expected = [(run.id, each) for each in series.columns["time"]]
                await _all_seen(seen, expected[-1], tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        complete = sum([it for it in each if it[0] == run.id] == expected for each in seen)
        return run.throughput_ops or 0.0, len(expected), complete


@contextmanager
def _server(home: Path) -> Iterator[tuple[str, int]]:
    """A server with a state directory of its own: its address and process."""
    log = home / "server.log"
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "netkv", "serve", "--port", "0"],
            env={**os.environ, "NETKV_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        yield _address(process, log), process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """The address that the server prints."""
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r"http://\S+:\d+", log.read_text(encoding="utf-8"))
        if found:
            return found[0]
        time.sleep(0.05)
    raise NetkvError(f"The server has not started: {log.read_text(encoding='utf-8').strip()}")


async def _all_seen(seen: list[list[_Seen]], last: _Seen, tasks: list[asyncio.Task[None]]) -> None:
    """Waits until each stream has the last sample, or has ended, or for `_PATIENCE_S`."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        if all(last in each or task.done() for each, task in zip(seen, tasks, strict=True)):
            return
        await asyncio.sleep(0.1)


async def _read(host: str, port: int, seen: list[_Seen]) -> None:
    """Notes the run and time of each sample of a stream."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(_request(host, port))
        kind = ""
        while line := await reader.readline():
            if line.startswith(b"event: "):
                kind = line[7:].decode().strip()
            elif line.startswith(b"data: ") and kind == "sample":
                sample = json.loads(line[6:])
                seen.append((sample["run"], sample["sample"]["time"]))
    finally:
        writer.close()


def _request(host: str, port: int) -> bytes:
    return (
        f"GET /api/v1/stream HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/event-stream\r\n\r\n"
    ).encode()


def _cpu_s(pid: int) -> float:
    """Processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _arguments() -> tuple[int, int, int | None]:
    """Streams, rounds and service rate of the command line."""
    given = [*sys.argv[1:], *("100", "5", "500")[len(sys.argv) - 1 :]]
    if len(given) != 3 or not all(each.isdecimal() for each in given):
        raise UsageError("Give the numbers of streams and of rounds, and a rate of the servers.")
    streams, rounds, rate = (int(each) for each in given)
    if not (1 <= streams <= _MAX_STREAMS and 1 <= rounds <= _MAX_ROUNDS):
        raise UsageError(f"Streams should be 1 to {_MAX_STREAMS}, rounds 1 to {_MAX_ROUNDS}.")
    return streams, rounds, rate or None


if __name__ == "__main__":
    try:
        streams, rounds, rate = _arguments()
        print(measure(streams, rounds, scenario(15, rate)).model_dump_json(indent=2))
    except NetkvError as error:
        sys.exit(f"error: {error}")
