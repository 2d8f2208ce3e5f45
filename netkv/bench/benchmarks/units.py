"""`netkv bench units`: what units on a cluster cost beyond their simulation."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from netkv.bench.benchmark import Benchmark, Figure, Outcome, Progress, Table


@dataclass(frozen=True)
class Plan:
    units: Annotated[
        int,
        typer.Option(
            min=10,
            max=100_000,
            help="Units of the command that is measured; of more than 1,000, whole thousands.",
        ),
    ] = 200
    length: Annotated[
        list[float] | None,
        typer.Option(
            min=0.01, max=3600, metavar="S", help="Virtual seconds of a unit; repeatable. [0.5, 5]"
        ),
    ] = None
    workers: Annotated[int, typer.Option(min=1, max=64, help="N of 'local:N'.")] = 2


class Units(Benchmark):
    """Measure what runs of a sweep cost on a cluster ('--on') beyond their simulation.

    All processes of a command with 'local:N' together, for each unit, beside the same run in a
    process that does nothing else. The share is the part of the processors' time in simulation.
    """

    name = "bench units"
    title = "Units on a cluster"
    measures = "the processor time of a run of a sweep on 'local:2'"
    against = "the same run in a process that does nothing else"
    seconds = 120
    needs = ("netkv[cluster]",)
    order = 12
    plan = Plan

    def run(self, plan: Plan, progress: Progress) -> Outcome:
        from netkv.bench import units

        rows = units.measure(plan.length or [0.5, 5.0], plan.units, plan.workers, progress)
        columns = ("virtual s", "units", "alone ms", "on the cluster ms", "share", "wall s", "MB")
        shown = [
            (
                f"{row.simulated_s:g}",
                f"{row.units:,}",
                f"{row.alone_ms:.1f}",
                f"{row.cluster_ms:.1f}",
                f"{row.share:.3f}",
                f"{row.wall_s:.0f}",
                f"{row.memory_mb:.0f}",
            )
            for row in rows
        ]
        return Outcome(
            document={"rows": [{**asdict(row), "share": row.share} for row in rows]},
            shown=[Table(columns, shown)],
            remarks=[
                f"Starting and ending takes {rows[0].start_s:.1f} s of processor time, which is "
                "not in the shares."
            ],
            figures=[
                Figure(name=f"share of units of {row.simulated_s:g} virtual s", value=row.share)
                for row in rows
            ],
        )


BENCHMARK = Units()
