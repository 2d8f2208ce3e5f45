"""Results of benchmarks as tables, for the terminal and for a document."""

from __future__ import annotations

from rich import box
from rich.table import Table as Shown

from netkv.bench.benchmark import Benchmark, Outcome, Table
from netkv.bench.result import Machine


def rendered(part: Table | str) -> Shown | str:
    """A table for the terminal; a line stays as it is."""
    if isinstance(part, str):
        return part
    shown = Shown(box=box.SIMPLE_HEAD, pad_edge=False)
    for at, name in enumerate(part.columns):
        shown.add_column(name, justify="left" if at < part.names else "right", no_wrap=True)
    for row in part.rows:
        shown.add_row(*row)
    return shown


def markdown(benchmark: Benchmark, found: Outcome) -> str:
    """The first table for a document, with the machine and the command that made it."""
    table = next(part for part in found.shown if isinstance(part, Table))
    rules = ["---" if at < table.names else "---:" for at in range(len(table.columns))]
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in (table.columns, rules, *table.rows))
    machine = Machine.model_validate(found.document["machine"])
    return f"\n{text}\n\n`netkv {benchmark.name}`; {machine}.\n\n"
