"""`netkv bench redis`: Redis as a back end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from netkv.bench.benchmark import Benchmark, Outcome, Progress, figures, results


@dataclass(frozen=True)
class Plan:
    seconds: Annotated[
        float, typer.Option(min=0.1, max=600, help="Seconds of load for each row.")
    ] = 2.0
    entries: Annotated[int, typer.Option(min=64, max=1_000_000, help="Keys in Redis.")] = 10_000
    fsync: Annotated[
        Literal["always", "everysec", "never"], typer.Option(help="As 'lab.redis.fsync'.")
    ] = "never"


class RedisStore(Benchmark):
    """Measure Redis as a back end, and through a whole server, against redis-py alone."""

    name = "bench redis"
    title = "Redis as a back end"
    measures = "calls of a server to its Redis, and a whole server with Redis"
    against = "redis-py alone"
    seconds = 15
    needs = ("redis-server",)
    order = 6
    in_suite = True
    plan = Plan

    def run(self, plan: Plan, progress: Progress) -> Outcome:
        from netkv.bench.benchmarks.redis import measure

        found = measure.run(plan, progress)
        return Outcome(found.to_json(), results(found), figures=figures(found.ratios))

    def run_in_suite(self, seconds: float | None, progress: Progress) -> Outcome:
        """It is left out if redis-server is not installed."""
        from netkv.bench import stores

        stores.find_program("redis-server", "redis-server")
        return super().run_in_suite(seconds, progress)


BENCHMARK = RedisStore()
