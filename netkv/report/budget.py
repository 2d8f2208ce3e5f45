"""Resources of a program on a switch: tables for the terminal, with the figures of papers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from rich import box
from rich.table import Table
from rich.text import Text

from netkv.evaluation import switch_resources
from netkv.report import text

if TYPE_CHECKING:
    from netkv._engine import (
        BudgetPipeline,
        BudgetPosition,
        BudgetResource,
        BudgetStage,
        P4Budget,
    )

Name: TypeAlias = Literal["ingress", "egress"]

PIPELINES: tuple[Name, ...] = ("ingress", "egress")


class Paper(TypedDict):
    """A paper's figures for one scheme."""

    scheme: str
    source: str
    tables: dict[str, str]
    """Pipeline → name of the table in the paper."""
    ingress: dict[str, int]
    egress: dict[str, int]


_OVER = "bold red"
_ROWS: tuple[tuple[str, BudgetResource, str | None], ...] = (
    ("stages", "stages", "stages"),
    ("register arrays", "arrays", "arrays"),
    ("SRAM, KiB", "sram_kib", "sram_kib"),
    ("  registers", "state_kib", None),
    ("  tables", "table_kib", None),
    ("PHV, bytes", "phv_bytes", "phv_bytes"),
)
"""Title, name in the estimate, name in the tables of papers."""
_PHV: tuple[tuple[str, Literal["header_bits", "metadata_bits", "standard_bits"]], ...] = (
    ("  bits of headers", "header_bits"),
    ("  bits of metadata", "metadata_bits"),
    ("  bits of standard metadata", "standard_bits"),
)


def paper_of(program: Path) -> Paper | None:
    """A paper's figures for a program of this folder and name; None if there are none."""
    found = switch_resources.of_program(program)
    if found is None:
        return None
    source, figures = found
    return {
        "scheme": figures.name,
        "source": source.source,
        "tables": {name: source.tables.get(name, "") for name in PIPELINES},
        "ingress": figures.ingress,
        "egress": figures.egress,
    }


def tables(budget: P4Budget, paper: Paper | None) -> Iterator[Table]:
    """For each pipeline: its usage of resources, and the contents of its stages."""
    for name in PIPELINES:
        yield _usage(name, budget[name], paper)
        if budget[name]["stages"]:
            yield _stages(name, budget[name])


def _usage(name: Name, pipeline: BudgetPipeline, paper: Paper | None) -> Table:
    table = _table(name.capitalize())
    table.add_column("", no_wrap=True)
    for title in ("estimate", "limit", "share"):
        table.add_column(title, justify="right")
    reported = paper[name] if paper else {}
    if paper and reported:
        table.add_column(f"{paper['scheme']},\n{paper['tables'][name]}", justify="right")
    for title, key, paper_key in _ROWS:
        share = pipeline["usage"][key]
        over = share["used"] > share["limit"]
        cells = [f"{share['used']:,}", f"{share['limit']:,}", f"{share['percent']:.1f}%"]
        row = [Text(title), *(Text(cell, style=_OVER if over else "") for cell in cells)]
        if paper_key in reported:
            used = reported[paper_key]
            row.append(Text(f"{used:,} ({100 * used / share['limit']:.1f}%)"))
        table.add_row(*row)
    for title, part in _PHV:
        table.add_row(title, f"{pipeline['phv'][part]:,}", "", "")
    table.add_row("TCAM, KiB", f"{pipeline['tcam_kib']:,}", "", "")
    actions = [f"{reported['actions']:,}"] if "actions" in reported else []
    table.add_row("actions", f"{pipeline['actions']:,}", "", "", *actions)
    return table


def _stages(name: Name, pipeline: BudgetPipeline) -> Table:
    table = _table(f"Stages of {name}")
    for title in ("stage", "arrays", "registers\nKiB", "tables\nKiB"):
        table.add_column(title, justify="right")
    table.add_column("what")
    limit = pipeline["usage"]["stages"]["limit"]
    for stage in pipeline["stages"]:
        figures = (stage["arrays"], stage["state_kib"], stage["table_kib"])
        table.add_row(
            Text(str(stage["stage"]), style=_OVER if stage["stage"] > limit else ""),
            *(Text(f"{figure:,}" if figure else text.NOTHING) for figure in figures),
            Text(", ".join(_content(stage))),
        )
    return table


def _content(stage: BudgetStage) -> Iterator[str]:
    for placed in stage["placed"]:
        # The first part of a name is the control of the pipeline.
        name = placed["name"].partition(".")[2] or placed["name"]
        times = f" x{placed['arrays']}" if placed["arrays"] > 1 else ""
        yield f"{name}{times}{' (again)' if placed['again'] else ''}"
    for count, one, more in (
        (stage["hashes"], "hash", "hashes"),
        (stage["operations"], "assignment", "assignments"),
    ):
        if count:
            yield f"{count} {one if count == 1 else more}"


def chain(name: Name, pipeline: BudgetPipeline) -> Iterator[Text]:
    """Lines about the longest chain of dependencies, which determines the number of stages."""
    links = [link for link in pipeline["longest_chain"] if link["at"]["what"] != "condition"]
    if not links:
        return
    yield Text(f"Longest chain of {name}: each needs the one before it", style="bold")
    for link in links:
        delay = _delay(link["delayed"])
        yield Text(f"  {link['stage']:>3}  {link['what']}{delay}  ").append(
            _place(link["at"]), style="dim"
        )


def _delay(stages: int) -> str:
    """Stages by which full stages delay a part of the chain, as text."""
    if not stages:
        return ""
    return (
        f" ({stages} {'stage' if stages == 1 else 'stages'} later, because earlier ones are full)"
    )


def findings(budget: P4Budget) -> Iterator[Text]:
    """Warnings with their positions in the source, and exceeded limits."""
    for name in PIPELINES:
        for warning in budget[name]["warnings"]:
            line = Text("warning: ", style="bold yellow")
            yield line.append(f"{name}: {warning['message']}", style="bold")
            for place in warning["at"]:
                yield Text(f"  {_place(place)}: {place['what']}")
            yield Text("  help: ", style="cyan").append(warning["help"])
        for sentence in budget[name]["exceeded"]:
            yield Text("over the limit: ", style=_OVER).append(f"{name}: {sentence}")


def _place(at: BudgetPosition) -> str:
    return ":".join(str(part) for part in (at["file"], at["line"], at["column"]) if part)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
