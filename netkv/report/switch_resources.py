"""What programs take of a switch beside what papers report: one table for each pipeline."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from netkv import resources
from netkv.evaluation.switch_resources import Pipeline, Reported, Source, sources

if TYPE_CHECKING:
    from netkv._engine import BudgetPipeline, BudgetResource, P4Budget

UNKNOWN = "what the estimate cannot know"
"""Heading of the last column."""


@dataclass(frozen=True)
class _Resource:
    name: str
    title: str
    used: Callable[[BudgetPipeline], int]
    unknown: str


def _usage(name: BudgetResource) -> Callable[[BudgetPipeline], int]:
    return lambda pipeline: pipeline["usage"][name]["used"]


_RESOURCES = (
    _Resource(
        "sram_kib",
        "SRAM, KiB",
        _usage("sram_kib"),
        "how a compiler splits tables over blocks and stages, and what it keeps for hash tables "
        "beyond the quarter assumed here",
    ),
    _Resource(
        "stages",
        "stages",
        _usage("stages"),
        "which dependent steps a compiler merges into one, and what its hints for placement gain",
    ),
    _Resource(
        "actions",
        "actions",
        lambda pipeline: pipeline["actions"],
        "which actions a compiler makes of code outside of tables: here one for a block in a stage",
    ),
    _Resource(
        "arrays",
        "stateful ALUs",
        _usage("arrays"),
        "whether two cells of 32 bits share an array, and whether an update fits the ALU",
    ),
    _Resource(
        "phv_bytes",
        "PHV, bytes",
        _usage("phv_bytes"),
        "the containers that fields are rounded up to, and what is bridged between the pipelines",
    ),
)


@dataclass(frozen=True)
class Comparison:
    """The table of one pipeline."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    """A cell of a program is `estimate / paper`; the last one says what the estimate leaves out."""


def comparisons(source: Source) -> Iterator[Comparison]:
    """A table for each pipeline that the paper reports."""
    folder = resources.path("p4")
    files = dict.fromkeys(program.file for program in source.programs)
    found = {file: _estimate(folder / file) for file in files}
    for pipeline, name in source.tables.items():
        head = [f"estimate / {name}", *(program.name for program in source.programs), UNKNOWN]
        rows = [
            [
                resource.title,
                *(
                    _cell(resource, program, pipeline, found[program.file])
                    for program in source.programs
                ),
                resource.unknown,
            ]
            for resource in _RESOURCES
        ]
        yield Comparison(pipeline.capitalize(), head, rows)


def _estimate(program: Path) -> P4Budget:
    from netkv import _engine
    from netkv.schemes.scheme import compile_program

    return _engine.p4_budget(compile_program(program, {}))


def _cell(resource: _Resource, program: Reported, pipeline: Pipeline, found: P4Budget) -> str:
    figures = program.ingress if pipeline == "ingress" else program.egress
    reported = figures.get(resource.name)
    said = "not stated" if reported is None else f"{reported:,}"
    return f"{resource.used(found[pipeline]):,} / {said}"


def terminal(of: Comparison) -> Table:
    """The table for the terminal."""
    made = Table(title=of.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for at, name in enumerate(of.head):
        made.add_column(name, justify="left" if at in (0, len(of.head) - 1) else "right")
    for row in of.rows:
        made.add_row(*map(Text, row))
    return made


def markdown() -> str:
    """The tables of all papers, for a document."""
    parts = []
    for source in sources():
        parts.append(textwrap.fill(f"**{source.source}.** {source.sizes}", 100))
        for table in comparisons(source):
            count = len(table.head)
            rule = ["---", *["---:"] * (count - 2), "---"]
            lines = [[table.title + ", " + table.head[0], *table.head[1:]], rule, *table.rows]
            parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join(parts) + "\n"
