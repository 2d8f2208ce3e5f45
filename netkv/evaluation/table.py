"""The table of an experiment's rows as texts, which the terminal, documents and reports show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netkv.evaluation.reference import Kind, Reported
from netkv.evaluation.rows import CONFIDENCE, Judged, Row, Spread

SPREAD = f"{CONFIDENCE:.0%} of seeds"
"""Heading of intervals."""
_KINDS: dict[Kind, str] = {
    "predicted": "",
    "calibrated": "calibrated",
    "fixed": "fixed by the set-up",
}


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    text: str = ""
    judged: Judged | None = None
    """Of a cell with a difference, or a verdict on words."""
    remark: str = ""
    """What must be known of the figure: that it is calibrated, for one."""

    @property
    def agrees(self) -> bool | None:
        """Whether the figure is near the paper's, or its words hold; None: nothing is compared."""
        if self.judged is None:
            return None
        if self.judged.verdict is not None:
            return self.judged.verdict == "near"
        return self.judged.holds

    def rendered(self, text: str | None = None) -> str:
        """The text, or `text` instead of it, and the remark."""
        return ", ".join(filter(None, (self.text if text is None else text, self.remark)))


def of_rows(rows: Sequence[Row]) -> tuple[list[str], list[list[Cell]]]:
    """Headings, and the cells of each row. A claim has its name in its first row only; columns that
    no row needs are left out."""
    along = any(row.point is not None for row in rows)
    listed = any(row.listed is not None for row in rows)
    published = any(row.published is not None for row in rows)
    head = ["quantity", *(["at"] if along else []), "paper", *(["artefact"] if listed else [])]
    head += ["netkv", SPREAD, "difference"]
    head += ["netkv, as published", SPREAD, "difference"] if published else []
    lines = []
    previous = None
    for row in rows:
        name = row.claim.name if row.claim is not previous else ""
        previous = row.claim
        point = "" if row.point is None else f"{row.point}"
        digits = row.claim.digits
        lines.append(
            [
                Cell(name),
                *([Cell(point)] if along else []),
                Cell(reported(row.reported, digits)),
                *([Cell(number(row.listed, digits))] if listed else []),
                *_figures(row, row.measured, row.by_seed),
                *(_figures(row, row.published, row.as_published) if published else ()),
            ]
        )
    return head, lines


def _figures(row: Row, spread: Spread | None, judged: Judged) -> list[Cell]:
    if spread is None:
        return [Cell()] * 3
    digits = row.claim.digits
    return [
        Cell(number(spread.mean, digits)),
        Cell(interval(spread, digits)),
        verdict(row, judged),
    ]


def verdict(row: Row, judged: Judged) -> Cell:
    """`-11%` or `holds`, with what the figure is worth unless it is a prediction."""
    if row.reported is None and row.listed is None:
        return Cell()
    if row.claim.unlike is not None:
        return Cell(f"another quantity: {row.claim.unlike}")
    if judged.difference is not None:
        text = f"{judged.difference:+.0%}"
    elif judged.holds is not None:
        text = "holds" if judged.holds else "does not hold"
    else:
        text = ""
    return Cell(text, judged, _KINDS[judged.kind])


def reported(value: Reported | None, digits: int) -> str:
    """The paper's value as text; empty if there is none."""
    match value:
        case None:
            return ""
        case str():
            return value
        case (low, high):
            return f"{number(low, digits)} to {number(high, digits)}"
        case single:
            return number(single, digits)


def interval(found: Spread, digits: int) -> str:
    """`1.41 to 1.72`; empty for one seed."""
    if found.low is None or found.high is None:
        return ""
    return f"{number(found.low, digits)} to {number(found.high, digits)}"


def number(value: float | None, digits: int) -> str:
    """`1,234.50`; empty for None."""
    return "" if value is None else f"{value:,.{digits}f}"
