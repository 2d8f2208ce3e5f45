"""`netkv p4 resources`: what the shipped programs take of a switch, beside papers' tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from netkv.cli.output import Json, print_json, stdout, write


def resources(
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the tables as Markdown.")
    ] = False,
    json: Json = False,
) -> None:
    """Estimate what programs take of a switch, beside what papers report of theirs.

    An estimate from dependencies, not a compilation: the last column says what it cannot know.
    """
    from netkv.evaluation import switch_resources
    from netkv.report import switch_resources as report

    if markdown and not json:
        write(report.markdown(), end="")
        return
    found: list[dict[str, Any]] = []
    for source in switch_resources.sources():
        tables = list(report.comparisons(source))
        found.append(
            {
                "source": source.source,
                "sizes": source.sizes,
                "tables": [asdict(table) for table in tables],
            }
        )
        if not json:
            console = stdout()
            console.print(source.source, style="bold", markup=False, highlight=False)
            console.print(source.sizes, markup=False, highlight=False)
            for table in tables:
                console.print(report.terminal(table))
    if json:
        print_json({"sources": found})
