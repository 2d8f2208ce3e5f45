"""The gateway of a lab that is up, beside a redis-server: the same `redis-benchmark` for both.

They take short turns, so that other load of the machine affects both equally; a figure is the
median of its turns, and a ratio the median of the ratios within a round.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from netkv.bench import stores
from netkv.bench.result import Benchmark, BenchResult, Executor, this_machine
from netkv.errors import NetkvError

CONNECTIONS = 50
ROUNDS = 3
_FIRST_RATE = 2_000
"""Requests per second that the first turn assumes."""

Progress = Callable[[int, int, str], None]
"""Called with the step that begins (from 0), the number of steps, and a label."""


@dataclass(frozen=True)
class Plan:
    """Parameters of the benchmark."""

    lab: str | None = None
    entries: int = 1_000
    value_size: int = 64
    seconds: float = 3.0
    """Seconds of load for each row, approximately."""


@dataclass
class _Row:
    """One command with one pipeline depth, and the results of its turns."""

    command: Literal["get", "set"]
    pipeline: int
    gateway: list[stores.Percentiles] = field(default_factory=list)
    redis: list[stores.Percentiles] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The path of its results."""
        return self.command if self.pipeline == 1 else f"{self.command}-pipelined"


def run(plan: Plan, progress: Progress) -> Benchmark:
    """Measures; raises `NetkvError` if no lab is up or a program is missing."""
    rows = [_Row(command, pipeline) for pipeline in (1, 16) for command in ("get", "set")]
    count = ROUNDS + 1
    progress(0, count, f"filling {plan.entries:,} keys")
    with _gateway(plan.lab) as (scheme, port), stores.redis(plan.entries, plan.value_size) as redis:
        stores.fill(port, plan.entries, plan.value_size)
        for turn in range(ROUNDS):
            progress(1 + turn, count, f"round {turn + 1}")
            for row in rows:
                _measure(plan, row, row.gateway, port)
                _measure(plan, row, row.redis, redis)
    progress(count, count, "")
    return Benchmark(
        machine=this_machine(),
        results=[each for row in rows for each in _results(plan, row, scheme)],
        ratios={
            f"{row.name.replace('-', '_')}_throughput_to_redis": round(
                median(a.rate / b.rate for a, b in zip(row.gateway, row.redis, strict=True)), 4
            )
            for row in rows
        },
    )


def _measure(plan: Plan, row: _Row, turns: list[stores.Percentiles], port: int) -> None:
    rate = turns[-1].rate if turns else _FIRST_RATE
    turns.append(
        stores.redis_benchmark(
            port,
            requests=max(int(rate * plan.seconds / ROUNDS), 500),
            connections=CONNECTIONS,
            pipeline=row.pipeline,
            entries=plan.entries,
            value_size=plan.value_size,
            command=row.command,
        )
    )


def _results(plan: Plan, row: _Row, scheme: str) -> Iterator[BenchResult]:
    sides: tuple[tuple[Executor, str, list[stores.Percentiles]], ...] = (
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
            pps=round(median(turn.rate for turn in turns)),
            ns_p50=median(turn.ns_p50 for turn in turns),
            ns_p99=median(turn.ns_p99 for turn in turns),
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
