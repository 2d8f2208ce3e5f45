"""`netkv p4 bench`: packets per second of the data plane."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from netkv.bench.benchmark import Benchmark, Figure, Outcome, Progress

if TYPE_CHECKING:
    from netkv.bench.data_plane import DataPlaneBenchmark, Sweep
    from netkv.bench.data_plane import Plan as Planned

Sweeps = Literal["entries", "value-size", "key-width", "all", "none"]
_FEW_ENTRIES = 100


@dataclass(frozen=True)
class Plan:
    programs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PROGRAM...]", help="Names or files; default: all that ship."),
    ] = None
    path: Annotated[str | None, typer.Option(help="Only this path, e.g. read-hit.")] = None
    seconds: Annotated[
        float, typer.Option(min=0.001, max=600, help="Seconds for each executor and path.")
    ] = 0.5
    sweep: Annotated[Sweeps, typer.Option(help="Sizes of the yardstick's read hit to vary.")] = (
        "all"
    )


class DataPlane(Benchmark):
    """Measure packets per second on one core: interpreter, compiled code, and some Rust by hand."""

    name = "p4 bench"
    title = "Data plane"
    measures = "packets per second of each path of each program, on one core, in memory"
    against = "the interpreter, and the same path written by hand, if the program has one"
    seconds = 120
    order = 1
    in_suite = True
    plan = Plan
    completes: ClassVar = {"programs": "benchmarked"}
    report = "netkv.report.data_plane"

    def run(self, plan: Plan, progress: Progress) -> Outcome:
        from netkv.bench import data_plane

        varied: tuple[Sweep, ...]
        if plan.sweep == "all":
            varied = tuple(data_plane.SWEEPS)
        elif plan.sweep == "none":
            varied = ()
        else:
            varied = (plan.sweep,)
        programs = data_plane.programs(plan.programs or [])
        return _measured(data_plane.plan(programs, plan.path, varied, plan.seconds), progress)

    def run_in_suite(self, seconds: float | None, progress: Progress) -> Outcome:
        """All programs, and the yardstick with few entries as well."""
        from netkv.bench import data_plane

        usual = Plan.seconds if seconds is None else seconds
        planned = data_plane.plan(data_plane.programs([]), None, (), usual)
        few = [
            replace(case, entries=_FEW_ENTRIES)
            for case in planned.cases
            if data_plane.is_yardstick(case.program.name, case.path)
        ]
        return _measured(replace(planned, cases=(*planned.cases, *few)), progress)


def _measured(planned: Planned, progress: Progress) -> Outcome:
    from netkv.bench import data_plane

    found = data_plane.run(planned, progress)
    return Outcome(
        document=found.to_json(),
        remarks=[
            f"{each.name}: only loading is timed; the benchmark has no packets for it."
            for each in planned.programs
            if not each.paths
        ],
        figures=list(main_figures(found)),
        result=found,
    )


def main_figures(found: DataPlaneBenchmark) -> Iterator[Figure]:
    """The main ratio of each path, and the times of table writes."""
    from netkv.bench import data_plane

    for (program, path, entries, *_), executors in data_plane.by_case(found.results).items():
        few = entries == _FEW_ENTRIES
        name = f"{program} {path}{f', {entries} entries' if few else ''}: compiled/"
        by_hand = data_plane.ratio_to(executors, "handwritten")
        if by_hand is not None:
            yardstick = data_plane.is_yardstick(program, path)
            goal = (0.6 if few else 0.75) if yardstick else 0.5
            yield Figure(name=f"{name}by hand", value=by_hand, at_least=goal)
        elif (ratio := data_plane.ratio_to(executors, "interpreter")) is not None:
            yield Figure(name=f"{name}interpreter", value=ratio)
    for each in found.table_writes:
        name = f"{each.program}: {each.entries:,} entries through P4Runtime"
        yield Figure(name=name, value=each.seconds, unit="s", at_most=0.25)


BENCHMARK = DataPlane()
