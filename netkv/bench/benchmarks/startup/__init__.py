"""`netkv bench startup`: the start of commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from netkv.bench.benchmark import Benchmark, Figure, Outcome, Progress, Table, ratios


@dataclass(frozen=True)
class Plan:
    rounds: Annotated[int, typer.Option(min=1, max=100, help="How often each command is run.")] = 5


class Startup(Benchmark):
    """Measure the processor time of short commands, beside that of a bare Python interpreter."""

    name = "bench startup"
    title = "Start of commands"
    measures = "processor time of short commands"
    against = "a bare Python interpreter"
    seconds = 15
    order = 8
    in_suite = True
    plan = Plan

    def run(self, plan: Plan, progress: Progress) -> Outcome:
        from netkv.bench.benchmarks.startup import measure

        found = measure.run(plan, progress)
        to_bare = {f"{name} / {measure.BARE}": ratio for name, ratio in found.ratios.items()}
        rows = [(name, f"{taken:.3f}") for name, taken in found.seconds.items()]
        goals = measure.GOALS.items()
        return Outcome(
            document=found.to_json(),
            shown=[Table(("command", "seconds"), rows), *ratios(to_bare, digits=1)],
            figures=[
                *(Figure(name, ratio) for name, ratio in to_bare.items()),
                *(Figure(name, found.seconds[name], "s", at_most=goal) for name, goal in goals),
            ],
        )

    def run_in_suite(self, seconds: float | None, progress: Progress) -> Outcome:  # noqa: ARG002
        """It has no load."""
        return self.run(Plan(), progress)


BENCHMARK = Startup()
