"""Comparison of a paper's figures with netkv's: the tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from netkv.evaluation import document
from netkv.evaluation.reference import Evaluation, Experiment
from netkv.evaluation.rows import CONFIDENCE, Judged, Row, Spread
from netkv.evaluation.scores import MOVED, Count, Score, Scores, total
from netkv.evaluation.words import NEAR


def table(experiment: Experiment, rows: Sequence[Row]) -> Table:
    """A line for each claim at each point."""
    title = f"{experiment.title} ({experiment.source})"
    found = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    found.add_column("quantity")
    found.add_column("at")
    spread = f"{CONFIDENCE:.0%} of seeds"
    published = any(row.published is not None for row in rows)
    again = ("as published", spread, "difference") if published else ()
    for name in ("paper", "artefact", "netkv", spread, "difference", *again):
        found.add_column(name, justify="right")
    previous = None
    for row in rows:
        first = row.claim is not previous
        previous = row.claim
        digits = row.claim.digits
        found.add_row(
            Text(row.claim.name if first else ""),
            Text("" if row.point is None else str(row.point)),
            Text(document.reported(row.reported, digits)),
            Text("" if row.listed is None else f"{row.listed:,.{digits}f}"),
            *_figures(row, row.measured, row.by_seed),
            *(_figures(row, row.published, row.as_published) if published else ()),
        )
    return found


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
        made.add_row(Text(each.name), about, *_cells(scores))
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
        made.add_row(Text(name), Text(), *_cells(scores))
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
    heads = (
        "by seed",
        "as published",
        "like with like",
        "predicted",
        "direction only",
        "text",
        "words",
    )
    for head, cell in zip((*heads, "control"), _cells(footer), strict=True):
        made.add_column(head, cell, justify="right")
    return made


def _cells(found: Scores) -> list[Text]:
    alike: Score = found.alike
    return [
        _near(found.by_seed.figures),
        _near(found.published.figures),
        _near(alike.figures),
        _near(alike.predicted),
        Text(f"{alike.direction or ''}"),
        _near(alike.text),
        _near(alike.words),
        _near(alike.moved),
    ]


def _near(count: Count) -> Text:
    return Text(f"{count.near} of {count.rows}" if count.rows else "")


def _figures(row: Row, spread: Spread | None, judged: Judged) -> list[Text]:
    """Mean, interval and difference."""
    if spread is None:
        return [Text()] * 3
    digits = row.claim.digits
    far = judged.verdict in ("direction", "differs") or judged.holds is False
    return [
        Text(f"{spread.mean:,.{digits}f}"),
        Text(document.interval(spread, digits)),
        Text(document.verdict(row, judged), style="bold red" if far else ""),
    ]
