"""The gateway of a lab that is up, beside a redis-server: the same `redis-benchmark` for both.

They take short turns, so that other load of the machine affects both equally; a figure is the
median of its turns, and a ratio the median of the ratios within a round.

Switch, servers and both threads of the gateway share the cores of the machine with the load, while
a redis-server has one thread. A second ratio leaves that out: it compares the processor time that
the busiest thread of each takes for a request. That is the ratio of the rates if each thread has a
core, and if the rack keeps up.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Literal, Self

import redis

from netkv.bench import stores
from netkv.bench.benchmark import Progress
from netkv.bench.benchmarks.gateway import Plan
from netkv.bench.result import BenchResult, Document, Executor, this_machine
from netkv.errors import NetkvError

CONNECTIONS = 50
ROUNDS = 3
_FIRST_RATE = 2_000
"""Requests per second that the first turn assumes."""


@dataclass(frozen=True)
class _Turn:
    """The result of one turn."""

    load: stores.Percentiles
    thread_ns: float
    """Processor time of the busiest thread for one request."""


@dataclass
class _Row:
    """One command with one pipeline depth, and the results of its turns."""

    command: Literal["get", "set"]
    pipeline: int
    gateway: list[_Turn] = field(default_factory=list)
    redis: list[_Turn] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The path of its results."""
        return self.command if self.pipeline == 1 else f"{self.command}-pipelined"


def run(plan: Plan, progress: Progress) -> Document:
    """Measures; raises `NetkvError` if no lab is up or a program is missing."""
    rows = [_Row(command, pipeline) for pipeline in (1, 16) for command in ("get", "set")]
    count = ROUNDS + 1
    progress(0, count, f"filling {plan.entries:,} keys")
    with (
        _gateway(plan.lab) as (scheme, port),
        stores.redis(plan.entries, plan.value_size) as redis_port,
    ):
        stores.fill(port, plan.entries, plan.value_size)
        for turn in range(ROUNDS):
            progress(1 + turn, count, f"round {turn + 1}")
            for row in rows:
                _measure(plan, row, row.gateway, port)
                _measure(plan, row, row.redis, redis_port)
    progress(count, count, "")
    return Document(
        machine=this_machine(),
        results=[each for row in rows for each in _results(plan, row, scheme)],
        ratios=dict(each for row in rows for each in _ratios(row)),
    )


def _ratios(row: _Row) -> Iterator[tuple[str, float]]:
    name = f"{row.name.replace('-', '_')}_throughput_to_redis"
    turns = list(zip(row.gateway, row.redis, strict=True))
    yield name, round(median(a.load.rate / b.load.rate for a, b in turns), 4)
    yield f"{name}_with_cores", round(median(b.thread_ns / a.thread_ns for a, b in turns), 4)


def _measure(plan: Plan, row: _Row, turns: list[_Turn], port: int) -> None:
    rate = turns[-1].load.rate if turns else _FIRST_RATE
    with redis.Redis(port=port) as server:
        before = _Spent.of(server)
        load = stores.redis_benchmark(
            port,
            requests=max(int(rate * plan.seconds / ROUNDS), 500),
            connections=CONNECTIONS,
            pipeline=row.pipeline,
            entries=plan.entries,
            value_size=plan.value_size,
            command=row.command,
        )
        turns.append(_Turn(load, _Spent.of(server).thread_ns_since(before)))


@dataclass(frozen=True)
class _Spent:
    """What a server has spent since it started."""

    thread_ns: dict[str, int]
    """Processor time of each thread."""
    requests: int

    @classmethod
    def of(cls, server: redis.Redis) -> Self:
        """What it has spent until now, according to it and to the kernel."""
        info = server.info()
        threads = Path(f"/proc/{info['process_id']}/task").iterdir()
        spent = {each.name: int((each / "schedstat").read_text().split()[0]) for each in threads}
        return cls(spent, info["total_commands_processed"])

    def thread_ns_since(self, before: Self) -> float:
        """Processor time of the busiest thread for one request."""
        spent = (ns - before.thread_ns.get(name, 0) for name, ns in self.thread_ns.items())
        return max(spent) / (self.requests - before.requests)


def _results(plan: Plan, row: _Row, scheme: str) -> Iterator[BenchResult]:
    sides: tuple[tuple[Executor, str, list[_Turn]], ...] = (
        ("gateway", scheme, row.gateway),
        ("redis", "redis", row.redis),
    )
    for executor, program, turns in sides:
        yield BenchResult(
            program=program,
            path=row.name,
            executor=executor,
            entries=plan.entries,
            value_size=plan.value_size,
            pps=round(median(turn.load.rate for turn in turns)),
            ns_p50=median(turn.load.ns_p50 for turn in turns),
            ns_p99=median(turn.load.ns_p99 for turn in turns),
        )


@contextlib.contextmanager
def _gateway(lab: str | None) -> Iterator[tuple[str, int]]:
    """A gateway in its own process, as users run it; yields the scheme of its lab and its port."""
    command = [sys.executable, "-m", "netkv", "gateway", "--port", "0", "--timeout", "10", "--json"]
    if lab is not None:
        command += ["--lab", lab]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Its own process group: Ctrl-C reaches only netkv, which then ends it.
        process_group=0,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            document_text = ""
            while not document_text.endswith("}\n"):
                line = process.stdout.readline()
                if not line:
                    raise NetkvError(process.stderr.read().strip() or "The gateway has ended.")
                document_text += line
            document = json.loads(document_text)
            yield document["scheme"], document["port"]
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
