"""`netkv reproduce --constants`: what the numbers of profiles and scenarios rest on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from netkv.cli.output import print_json, stdout


def show(names: Iterable[str], write: Path | None, *, json: bool) -> None:
    """Print the constants of papers (none named: of all), or write them into a document."""
    from netkv import evaluation
    from netkv.evaluation import constant_values, document

    papers = list(dict.fromkeys(names)) or evaluation.names()
    found = {name: constant_values.table(evaluation.load(name)) for name in papers}
    if write is not None:
        from netkv.cli.documents import write_tables

        tables = {
            f"constants-{name}": document.table(constant_values.HEADINGS, lines)
            for name, lines in found.items()
        }
        write_tables(write, tables)
    if json:
        keys = ("name", "values", "kind", "origin")
        print_json(
            {
                name: [dict(zip(keys, line, strict=True)) for line in lines]
                for name, lines in found.items()
            }
        )
    elif write is None:
        from netkv.report import evaluation as tables_of

        for name, lines in found.items():
            stdout().print(tables_of.constants(name, lines))
