"""Comparison of a paper's figures with netkv's: the table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from netkv.evaluation import document
from netkv.evaluation.reference import Experiment
from netkv.evaluation.rows import CONFIDENCE, Row


def table(experiment: Experiment, rows: Sequence[Row]) -> Table:
    """A line for each claim at each point."""
    title = f"{experiment.title} ({experiment.source})"
    found = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    found.add_column("quantity")
    found.add_column("at")
    for name in ("paper", "artefact", "netkv", f"{CONFIDENCE:.0%} of seeds", "difference"):
        found.add_column(name, justify="right")
    previous = None
    for row in rows:
        first = row.claim is not previous
        previous = row.claim
        digits = row.claim.digits
        far = row.difference is not None and abs(row.difference) > document.FAR
        found.add_row(
            Text(row.claim.name if first else ""),
            Text("" if row.point is None else str(row.point)),
            Text(document.reported(row.reported, digits)),
            Text("" if row.listed is None else f"{row.listed:,.{digits}f}"),
            Text(f"{row.measured.mean:,.{digits}f}"),
            Text(document.interval(row)),
            Text(document.difference(row), style="bold red" if far else ""),
        )
    return found
