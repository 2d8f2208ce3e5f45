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
from netkv.evaluation import document
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
class Figures:
    """A resource of one program."""

    estimate: int
    paper: int | None
    """None: the paper does not state it."""

    def __str__(self) -> str:
        said = "not stated" if self.paper is None else f"{self.paper:,}"
        return f"{self.estimate:,} / {said}"


@dataclass(frozen=True)
class Row:
    """A resource of all programs."""

    name: str
    """Its name in the data of the papers."""
    title: str
    programs: dict[str, Figures]
    unknown: str
    """What the estimate leaves out."""


@dataclass(frozen=True)
class Comparison:
    """One pipeline."""

    pipeline: Pipeline
    table: str
    """What the paper calls its figures."""
    rows: Sequence[Row]

    @property
    def head(self) -> list[str]:
        """The headings of its table."""
        return [f"{self.pipeline}, estimate / {self.table}", *self.rows[0].programs, UNKNOWN]

    @property
    def lines(self) -> list[list[str]]:
        """The lines of its table."""
        return [[row.title, *map(str, row.programs.values()), row.unknown] for row in self.rows]


def comparisons(source: Source) -> Iterator[Comparison]:
    """Each pipeline that the paper reports."""
    folder = resources.path("p4")
    files = dict.fromkeys(program.file for program in source.programs)
    found = {file: _estimate(folder / file) for file in files}

    def figures(resource: _Resource, program: Reported, pipeline: Pipeline) -> Figures:
        reported = program.ingress if pipeline == "ingress" else program.egress
        estimate = resource.used(found[program.file][pipeline])
        return Figures(estimate, reported.get(resource.name))

    for pipeline, name in source.tables.items():
        rows = [
            Row(
                resource.name,
                resource.title,
                {each.name: figures(resource, each, pipeline) for each in source.programs},
                resource.unknown,
            )
            for resource in _RESOURCES
        ]
        yield Comparison(pipeline, name, rows)


def _estimate(program: Path) -> P4Budget:
    from netkv import _engine
    from netkv.schemes.scheme import compile_program

    return _engine.p4_budget(compile_program(program, {}))


def terminal(of: Comparison) -> Table:
    """The table for the terminal."""
    made = Table(box=box.SIMPLE_HEAD)
    for at, name in enumerate(of.head):
        made.add_column(name, justify="left" if at in (0, len(of.head) - 1) else "right")
    for line in of.lines:
        made.add_row(*map(Text, line))
    return made


def markdown() -> str:
    """The tables of all papers, for a document."""
    parts = []
    for source in sources():
        parts.append(textwrap.fill(f"**{source.source}.** {source.sizes}", 100) + "\n")
        parts += [
            document.table(of.head, of.lines, numbers=range(1, len(of.head) - 1))
            for of in comparisons(source)
        ]
    return "".join(parts).rstrip() + "\n"
