"""Results of `netkv bench gateway` as a table."""

from __future__ import annotations

from rich import box
from rich.table import Table

from netkv.bench.result import Benchmark


def table(found: Benchmark) -> Table:
    """A line for each command of each server: the gateway and redis-server."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("server", "load", "requests/s", "p50 ms", "p99 ms"):
        shown.add_column(name, justify="left" if name in ("server", "load") else "right")
    for result in found.results:
        shown.add_row(
            "redis-server" if result.executor == "redis" else f"gateway, {result.program}",
            result.path,
            f"{result.pps:,.0f}",
            *(f"{(ns or 0) / 1e6:.2f}" for ns in (result.ns_p50, result.ns_p99)),
        )
    return shown
