"""`netkv bench gateway`: requests of redis-benchmark to a lab."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from netkv.bench.benchmark import Benchmark, Outcome, Progress, figures, ratios, results


@dataclass(frozen=True)
class Plan:
    lab: Annotated[
        str | None,
        typer.Option(help="Name or directory of the lab [default: the one that is up]."),
    ] = None
    seconds: Annotated[
        float, typer.Option(min=0.1, max=600, help="Seconds of load for each row.")
    ] = 3.0
    entries: Annotated[int, typer.Option(min=1, max=1_000_000, help="Keys.")] = 1_000
    value_size: Annotated[
        int, typer.Option(min=1, max=1024, metavar="BYTES", help="Size of values.")
    ] = 64


class Gateway(Benchmark):
    """Measure the gateway of a lab that is up and a redis-server, both by redis-benchmark.

    Both are measured in short turns, so that other load affects them equally: compare the ratios.
    The benchmark writes keys `key:…` in the lab.
    """

    name = "bench gateway"
    title = "Gateway"
    measures = "requests of redis-benchmark to the gateway of a lab"
    against = "a redis-server under the same load"
    seconds = 30
    needs = ("redis-server", "redis-benchmark")
    order = 5
    in_suite = True
    plan = Plan
    completes: ClassVar = {"lab": "labs"}

    def run(self, plan: Plan, progress: Progress) -> Outcome:
        from netkv.bench.benchmarks.gateway import measure

        found = measure.run(plan, progress)
        goals = {name: 0.3 if "pipelined" in name else 0.5 for name in found.ratios}
        table, *_ = results(found)
        return Outcome(
            document=found.to_json(),
            shown=[table, *ratios(found.ratios, digits=3)],
            figures=figures(found.ratios, goals),
        )

    def run_in_suite(self, seconds: float | None, progress: Progress) -> Outcome:
        """In a lab of its own, which it takes down again."""
        from netkv import schemes
        from netkv.bench import stores
        from netkv.labs import daemon
        from netkv.schemes.spec import RackSpec

        stores.find_program("redis-benchmark", "redis-tools")
        lab = f"bench-{os.getpid()}"
        try:
            daemon.up(lab, RackSpec(scheme=schemes.default().name))
            return self.run(Plan(lab, Plan.seconds if seconds is None else seconds), progress)
        finally:
            daemon.down(lab)


BENCHMARK = Gateway()
