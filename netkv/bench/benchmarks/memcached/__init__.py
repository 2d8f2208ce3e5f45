"""`netkv bench memcached`: a real memcached on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from netkv.bench.benchmark import Benchmark, Outcome, Progress, Table

if TYPE_CHECKING:
    from netkv.bench.benchmarks.memcached.measure import Measured


@dataclass(frozen=True)
class Plan:
    seconds: Annotated[
        float, typer.Option(min=0.1, max=600, help="Seconds of load for each row.")
    ] = 5.0
    entries: Annotated[int, typer.Option(min=1, max=1_000_000, help="Keys.")] = 64
    value_size: Annotated[
        int, typer.Option(min=1, max=1024, metavar="BYTES", help="Size of values.")
    ] = 16


class Memcached(Benchmark):
    """Measure a real memcached on this machine: GETs of its binary protocol over UDP, on loopback.

    One thread of memcached has one core, the load another. A UDP echo beside it, in short turns,
    shows the share of the kernel. Rates and latencies are wall time, and include that the machine
    does other work; the core time does not.
    """

    name = "bench memcached"
    title = "memcached"
    measures = "GETs of the binary protocol over UDP that a real memcached answers"
    against = "a UDP echo"
    seconds = 15
    needs = ("memcached",)
    order = 10
    plan = Plan
    marker = "memcached-live"

    def run(self, plan: Plan, progress: Progress) -> Outcome:
        from netkv.bench.benchmarks.memcached import measure

        return outcome(measure.run(plan, progress))


def outcome(found: Measured) -> Outcome:
    """The outcome from what was measured."""
    return Outcome(found.model_dump(mode="json"), [_table(found)])


def _table(found: Measured) -> Table:
    """A line for memcached, for the echo, and for the ratio of their core times."""
    from netkv.bench.benchmarks.memcached.measure import WINDOW

    columns = (
        "on this machine",
        f"requests/s, {WINDOW} outstanding",
        "in the best turn",
        "core time of a request in µs",
        "p50 in µs, 1 outstanding",
        "p99 in µs, 1 outstanding",
    )
    rows = [
        (
            row.name,
            *(f"{rate:,.0f}" for rate in (row.requests_per_s, row.best_requests_per_s)),
            *(f"{us:.1f}" for us in (row.core_us, row.p50_us, row.p99_us)),
        )
        for row in found.rows
    ]
    ratio = ("memcached over echo", "", "", f"{found.core_to_echo:.2f}", "", "")
    return Table(columns, [*rows, ratio])


BENCHMARK = Memcached()
