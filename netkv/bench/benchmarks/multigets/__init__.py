"""`netkv bench multigets`: the processor time of a multiget on its client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from netkv.bench.benchmark import Benchmark, Outcome, Progress, Table

if TYPE_CHECKING:
    from netkv.bench.benchmarks.multigets.measure import Multigets as Measured


@dataclass(frozen=True)
class Plan:
    servers: Annotated[
        list[int] | None,
        typer.Option(min=1, max=32, metavar="N", help="A row for N servers; repeatable."),
    ] = None
    keys: Annotated[int, typer.Option(min=1, max=128, help="Keys of each request.")] = 16
    outstanding: Annotated[int, typer.Option(min=1, max=65_536, help="Requests outstanding.")] = 64
    seconds: Annotated[
        float, typer.Option(min=0.6, max=600, help="Seconds of load for each figure.")
    ] = 6.0
    backend: Annotated[
        Literal["memory", "rocksdb", "redis"], typer.Option(help="As 'lab.backend'.")
    ] = "memory"


class Multigets(Benchmark):
    """Measure the processor time of a multiget on its client, live, for each multiget scheme.

    The time includes the kernel's share. Schemes differ in the number of frames of a request: one,
    or one for each group of keys. Schemes with a coordinator are left out.
    """

    name = "bench multigets"
    title = "Multigets"
    measures = "processor time of a multiget on its client, live, for each number of servers"
    against = "the multiget schemes with each other"
    seconds = 80
    order = 9
    plan = Plan

    def run(self, plan: Plan, progress: Progress) -> Outcome:
        from netkv.bench.benchmarks.multigets import measure

        found = measure.run(plan, progress)
        return Outcome(found.model_dump(mode="json"), [_table(found)])


def _table(found: Measured) -> Table:
    """For each number of servers: groups of a request, microseconds of each scheme, ratios to the
    first scheme."""
    from netkv import schemes

    first, *others = (schemes.get(name) for name in found.schemes)
    times = (f"{each.about.title} us" for each in (first, *others))
    to_first = (f"{each.about.title} / {first.about.title}" for each in others)
    rows = [
        (
            str(row.servers),
            f"{row.groups:.1f}",
            *(f"{row.client_us[name]:.1f}" for name in found.schemes),
            *(f"{row.over_first[each.name]:.2f}" for each in others),
        )
        for row in found.rows
    ]
    return Table(("servers", "groups", *times, *to_first), rows, names=0)


BENCHMARK = Multigets()
