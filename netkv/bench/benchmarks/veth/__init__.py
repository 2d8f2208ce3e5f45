"""`netkv bench veth`: reads that a switch answers between network interfaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from netkv.bench.benchmark import Benchmark, Outcome, Progress, results


@dataclass(frozen=True)
class Plan:
    seconds: Annotated[
        float, typer.Option(min=0.1, max=600, help="Seconds of load for each row.")
    ] = 3.0
    ring: Annotated[
        list[str] | None,
        typer.Option(metavar="xdp|packet|packet-v3", help="Only this ring; repeatable."),
    ] = None
    entries: Annotated[int, typer.Option(min=1, max=65_536, help="Keys in the cache.")] = 10_000
    outstanding: Annotated[int, typer.Option(min=1, max=65_536, help="Requests outstanding.")] = 64


class Veth(Benchmark):
    """Measure a switch between network interfaces against the same rings without a program.

    The load is reads that the yardstick cache_read answers, over veth pairs that this command
    creates; needs root. All are measured in short turns, so that other load affects them equally:
    compare the ratios. bmv2's figure was recorded once, with 64 requests outstanding.
    """

    name = "bench veth"
    title = "Network interfaces"
    measures = "reads that a switch answers between virtual network interfaces"
    against = "the same rings without a program"
    seconds = 30
    needs = ("root",)
    order = 3
    plan = Plan

    def run(self, plan: Plan, progress: Progress) -> Outcome:
        from netkv.bench.benchmarks.veth import measure

        found = measure.run(plan, progress)
        return Outcome(found.benchmark.to_json(), results(found.benchmark), found.left_out)


BENCHMARK = Veth()
