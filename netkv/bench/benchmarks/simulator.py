"""`netkv bench sim`: the speed of the simulator, and the memory of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from netkv.bench.benchmark import Benchmark, Figure, Outcome, Progress

if TYPE_CHECKING:
    from netkv.bench.simulator import Row


@dataclass(frozen=True)
class Plan:
    seconds: Annotated[
        float, typer.Option(min=0.01, max=600, help="Seconds of wall time for each rack.")
    ] = 2.0
    scheme: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this scheme; repeatable.")
    ] = None
    servers: Annotated[
        list[int] | None,
        typer.Option(min=1, max=128, metavar="N", help="Only racks with N servers; repeatable."),
    ] = None
    keys: Annotated[
        list[int] | None,
        typer.Option(
            min=1, max=100_000_000, metavar="N", help="Only racks with N keys; repeatable."
        ),
    ] = None


class Simulator(Benchmark):
    """Measure the simulator: requests and events per second of wall time, and their cost.

    Racks of up to 128 servers, 100 million keys and several switches, each in a process of its own,
    as far as a scheme supports them. The ratios compare the simulator with the switch program
    alone, and large racks with small ones. Racks with writes only show the memory of a run, and of
    one ten times as long.
    """

    name = "bench sim"
    title = "Simulator"
    measures = "simulated requests per second of wall time, and the memory of a run"
    against = "the program of the switch alone, and small racks"
    seconds = 660
    order = 4
    in_suite = True
    plan = Plan
    completes: ClassVar = {"scheme": "schemes"}
    report = "netkv.report.simulator"

    def run(self, plan: Plan, progress: Progress) -> Outcome:
        from netkv.bench import simulator

        wanted = (plan.scheme or [], plan.servers or [], plan.keys or [])
        return _measured(simulator.plan(*wanted, plan.seconds), progress)

    def run_in_suite(self, seconds: float | None, progress: Progress) -> Outcome:
        """The usual racks only: those beside which their program runs alone."""
        from netkv.bench import simulator

        rows = simulator.plan([], [], [], Plan.seconds if seconds is None else seconds)
        return _measured([row for row in rows if row.beside_program], progress)


def _measured(rows: Sequence[Row], progress: Progress) -> Outcome:
    from netkv.bench import simulator

    found = simulator.run(rows, progress)
    figures = [
        Figure(name=name, value=found.ratios[name], at_most=rack_goal(row))
        for row in rows
        if (name := simulator.ratio_name(row, rows)) in found.ratios
    ]
    figures += [
        Figure(name=name, value=found.ratios[name])
        for row in rows
        if (name := simulator.speed_name(row.case)) in found.ratios
    ]
    return Outcome(document=found.to_json(), figures=figures, result=found)


def rack_goal(row: Row) -> float | None:
    """The goal for a rack with skewed keys and one switch, relative to its program alone."""
    from netkv import schemes

    scheme = schemes.get(row.case.scheme)
    if row.case.zipf == 0 or scheme.topology.kind != "rack":
        return None
    if scheme.traits.caches:
        return 3.0
    return 5.0 if scheme is schemes.all_schemes()[0] else None


BENCHMARK = Simulator()
