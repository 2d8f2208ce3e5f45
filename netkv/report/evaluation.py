"""Comparison of a paper's figures with netkv's: the tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from netkv.evaluation import table as evaluation_table
from netkv.evaluation.constant_values import HEADINGS as HEADINGS_OF_CONSTANTS
from netkv.evaluation.reference import Evaluation, Experiment
from netkv.evaluation.rows import Row
from netkv.evaluation.scores import HEADINGS, MOVED, Scores, texts, total
from netkv.evaluation.table import Cell
from netkv.evaluation.words import NEAR


def table(experiment: Experiment, rows: Sequence[Row]) -> Table:
    """A line for each claim at each point."""
    title = f"{experiment.title} ({experiment.source})"
    found = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    head, cells = evaluation_table.of_rows(rows)
    for name in head:
        found.add_column(name, justify="left" if name in ("quantity", "at") else "right")
    for row in cells:
        found.add_row(*(_text(cell) for cell in row))
    return found


def _text(cell: Cell) -> Text:
    return Text(cell.rendered(), style="bold red" if cell.agrees is False else "")


def scoreboard(name: str, evaluation: Evaluation, found: Mapping[str, Scores]) -> Table:
    """How many claims of each experiment agree with the paper's, and of all together."""
    own = total(evaluation, found)
    made = _board(f"{name}: {evaluation.paper}", own)
    for each in evaluation.experiments:
        scores = found.get(each.name, Scores())
        about = Text(f"{each.title} ({each.source})")
        beside = "control, must differ" if each.control else "variant, not counted"
        if each.variant or each.control:
            about.append(f", {beside}", style="dim")
        made.add_row(Text(each.name), about, *texts(scores))
    return made


def overview(found: Mapping[str, Scores]) -> Table:
    """A line for each evaluation, and one for all of them."""
    made = _board("All papers", sum(found.values(), Scores()))
    made.caption_justify = "left"
    made.caption = (
        f"Of rows with a number of the paper or its artefact, those within {NEAR:.0%}. Like with "
        "like: as published where it was run so, else by seed. Predicted: of these, those that no "
        "constant was calibrated on. Direction only: farther, but a ratio on the paper's side of "
        "1. Text: numbers that the text states. Words: those that hold. Control: the rows that "
        f"would be near if the papers' figures were {MOVED - 1:.0%} larger."
    )
    for name, scores in found.items():
        made.add_row(Text(name), Text(), *texts(scores))
    return made


def constants(name: str, lines: Sequence[Sequence[str]]) -> Table:
    """What the numbers of an evaluation rest on."""
    made = Table(title=name, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for head in HEADINGS_OF_CONSTANTS:
        made.add_column(head)
    for line in lines:
        made.add_row(*(Text(cell.replace("`", "")) for cell in line))
    return made


def _board(title: str, footer: Scores) -> Table:
    made = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_footer=True,
    )
    made.add_column("experiment", footer=Text("all"))
    made.add_column("")
    for head, cell in zip(HEADINGS, texts(footer), strict=True):
        made.add_column(head, cell, justify="right")
    return made
