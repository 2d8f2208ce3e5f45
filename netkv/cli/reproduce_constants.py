"""`netkv reproduce --constants`: what the numbers of profiles and scenarios rest on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from netkv.cli.output import notify, print_json, stdout


def show(names: Iterable[str], write: Path | None, *, json: bool) -> None:
    """Print the constants of papers ('all', or none named: of all), or write them into a document.
    Numbers that have no constant are notified."""
    from netkv import evaluation
    from netkv.evaluation import document, selection
    from netkv.evaluation.constant_values import HEADINGS, Values

    papers = list(dict.fromkeys(names))
    if not papers or selection.ALL in papers:
        papers = evaluation.names()
    values = {name: Values(evaluation.load(name)) for name in papers}
    found = {name: each.table() for name, each in values.items()}
    for name, each in values.items():
        for sentence in each.faults():
            notify(f"{name}: {sentence}")
    if write is not None:
        from netkv.cli.documents import write_tables

        tables = {f"constants-{name}": document.table(HEADINGS, found[name]) for name in papers}
        write_tables(write, tables)
    if json:
        keys = ("name", "values", "kind", "origin")
        lines = {
            name: [dict(zip(keys, line, strict=True)) for line in found[name]] for name in papers
        }
        print_json(lines)
    elif write is None:
        from netkv.report import evaluation as tables_of

        for name in papers:
            stdout().print(tables_of.constants(name, found[name]))
