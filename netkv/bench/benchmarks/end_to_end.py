"""`netkv bench e2e`: reads that a switch answers, over sockets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from netkv.bench.benchmark import Benchmark, Outcome, Progress, figures

_GOALS = {"throughput_to_echo": 0.9, "throughput_to_echo_with_trains": 0.75}


@dataclass(frozen=True)
class Plan:
    seconds: Annotated[
        float, typer.Option(min=0.1, max=600, help="Seconds of load for each row.")
    ] = 3.0
    executor: Annotated[
        # `netkv.model.hardware.Executor`, which takes long to import.
        Literal["compiled", "interpreter"],
        typer.Option(help="How the engine runs the program."),
    ] = "compiled"
    program: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A scheme's P4 program, or the yardstick cache_read. [default: that of the first "
            "scheme that caches]",
        ),
    ] = None
    entries: Annotated[
        int, typer.Option(min=1, max=65_536, help="Keys in the cache, and in the stores.")
    ] = 10_000
    value_size: Annotated[
        list[int] | None,
        typer.Option(min=1, max=1024, metavar="BYTES", help="Size of values; repeatable. [128]"),
    ] = None
    pipelines: Annotated[
        int,
        typer.Option(
            help="With 2 or 4, measure a switch with so many pipelines as well. Each has a thread "
            "and a load; the default program is then cache_read."
        ),
    ] = 1
    stores: Annotated[bool, typer.Option(help="Measure Redis and memcached as well.")] = True


class EndToEnd(Benchmark):
    """Measure reads that a switch answers, end to end over UDP, against a UDP echo and stores.

    The echo has the sockets, batches and sizes of the switch, and no program. All are measured in
    short turns, so that other load affects them equally: compare the ratios. In the rows with
    "trains" the kernel gets frames of one size together, which is netkv's default.
    """

    name = "bench e2e"
    title = "End to end over UDP"
    measures = "reads that a switch answers, over sockets of the loopback"
    against = "a UDP echo with the same sockets, batches and sizes; Redis and memcached"
    seconds = 25
    needs = ("redis-server and memcached for their rows",)
    order = 2
    in_suite = True
    plan = Plan
    report = "netkv.report.end_to_end"

    def run(self, plan: Plan, progress: Progress) -> Outcome:
        from netkv import schemes
        from netkv.bench import end_to_end
        from netkv.bench.table_writes import YARDSTICK

        several = plan.pipelines > 1
        whole = end_to_end.Plan(
            program=plan.program or (YARDSTICK if several else schemes.default().program_path.stem),
            executor=plan.executor,
            pipelines=plan.pipelines,
            entries=plan.entries,
            value_sizes=tuple(dict.fromkeys(plan.value_size or [128])),
            seconds=plan.seconds,
            stores=plan.stores,
        )
        found = end_to_end.run(whole, progress)
        return Outcome(
            document=found.benchmark.to_json(),
            left_out=found.left_out,
            figures=figures(found.benchmark.ratios, _GOALS),
            result=found,
        )


BENCHMARK = EndToEnd()
