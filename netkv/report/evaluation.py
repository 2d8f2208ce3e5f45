"""Comparison of a paper's figures with netkv's: the tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from netkv.evaluation import document
from netkv.evaluation.reference import Evaluation, Experiment
from netkv.evaluation.rows import CONFIDENCE, Row, Spread
from netkv.evaluation.scores import NEAR, Score, Scores


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
            *_figures(row.measured, row.difference, digits),
            *(_figures(row.published, row.difference_as_published, digits) if published else ()),
        )
    return found


def scoreboard(name: str, evaluation: Evaluation, found: Mapping[str, Scores]) -> Table:
    """How many rows of each experiment are near the paper's figures, and of all together."""
    percent = f"{NEAR:.0%}"
    table = Table(
        title=f"{name}: {evaluation.paper}",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_footer=True,
    )
    total = sum(found.values(), Scores())
    table.add_column("experiment", footer=Text("all"))
    table.add_column("")
    table.add_column(f"within {percent}", _near(total.by_seed), justify="right")
    table.add_column("as published", _near(total.published), justify="right")
    for each in evaluation.experiments:
        scores = found.get(each.name, Scores())
        about = Text(f"{each.title} ({each.source})")
        table.add_row(Text(each.name), about, _near(scores.by_seed), _near(scores.published))
    return table


def _near(score: Score) -> Text:
    return Text(f"{score.near} of {score.rows}" if score.rows else "")


def _figures(spread: Spread | None, difference: float | None, digits: int) -> list[Text]:
    """Mean, interval and difference."""
    if spread is None:
        return [Text()] * 3
    far = difference is not None and abs(difference) > NEAR
    return [
        Text(f"{spread.mean:,.{digits}f}"),
        Text(document.interval(spread, digits)),
        Text(document.difference(difference), style="bold red" if far else ""),
    ]
