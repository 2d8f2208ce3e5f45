"""`netkv bench fpga`: the speed of a simulated design."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, ClassVar

import typer

from netkv.bench.benchmark import Benchmark, Outcome, Progress, Table


@dataclass(frozen=True)
class Plan:
    design: Annotated[str, typer.Argument(metavar="DESIGN", help="A design.")]
    cycles: Annotated[
        int | None,
        typer.Option(
            min=1_000,
            max=500_000,
            help="Cycles under load (default: 200,000, or as many as its queries can fill).",
        ),
    ] = None


class Fpga(Benchmark):
    """Measure how many cycles of a simulated FPGA design one processor runs in a second.

    With GET hits at the line rate of all ports, with few of them, and without frames, when the
    design lets idle time be skipped. Processor time counts, not wall time.
    """

    name = "bench fpga"
    title = "FPGA designs"
    measures = "cycles of a simulated design per second of processor time, under load and idle"
    against = "the clock of the design"
    seconds = 60
    needs = ("Verilator and a C++ compiler",)
    order = 11
    plan = Plan
    completes: ClassVar = {"design": "designs"}

    def run(self, plan: Plan, progress: Progress) -> Outcome:
        from netkv.bench.benchmarks.fpga import measure
        from netkv.model import manifest

        found = measure.run(manifest.find(plan.design), plan.cycles, progress)
        rates = [(name, f"{getattr(found, name):,.0f}") for name in ("loaded", "sparse", "idle")]
        return Outcome(
            asdict(found),
            [
                f"{found.build_seconds:,.1f} seconds for the build",
                Table((found.design, "cycles a second"), rates),
            ],
        )


BENCHMARK = Fpga()
