"""The tables of the evaluation documents, between markers in their Markdown.

<!-- evaluation: SCENARIO -->
...
<!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from netkv.evaluation.reference import MEAN, Reported
from netkv.evaluation.rows import CONFIDENCE, Row

_MARKED = re.compile(
    r"(?P<begin><!-- evaluation: (?P<name>[a-z0-9-]+) -->\n)(?P<body>.*?)(?P<end><!-- end -->)",
    re.DOTALL,
)
FAR = 0.15
"""A relative difference beyond which a cell is printed bold."""


def bodies(text: str) -> dict[str, str]:
    """The tables of a document, by experiment."""
    return {match["name"]: match["body"] for match in _MARKED.finditer(text)}


def replaced(text: str, tables: Mapping[str, str]) -> str:
    """The document with these tables (by experiment) replaced; the others stay."""

    def one(match: re.Match[str]) -> str:
        return f"{match['begin']}{tables.get(match['name'], match['body'])}{match['end']}"

    return _MARKED.sub(one, text)


def markdown(rows: Sequence[Row], command: str) -> str:
    """The table of an experiment, with the command that made it."""
    listed = any(row.listed is not None for row in rows)
    along = any(row.claim.along for row in rows)
    head = ["quantity", *(["at"] if along else []), "paper", *(["artefact"] if listed else [])]
    head += ["netkv", f"{CONFIDENCE:.0%} of seeds", "difference"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    previous = None
    for row in rows:
        name = row.claim.name if row.claim is not previous else ""
        previous = row.claim
        lines.append(
            [
                name,
                *([_point(row)] if along else []),
                reported(row.reported, row.claim.digits),
                *([_number(row.listed, row.claim.digits)] if listed else []),
                _number(row.measured.mean, row.claim.digits),
                interval(row),
                difference(row, bold="**"),
            ]
        )
    seeds = max(row.measured.seeds for row in rows)
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"\n{table}\n\n`{command}`, {seeds} seeds.\n\n"


def reported(value: Reported | None, digits: int) -> str:
    """The paper's value as text; empty if there is none."""
    match value:
        case None:
            return ""
        case str():
            return value
        case (low, high):
            return f"{low:,.{digits}f} to {high:,.{digits}f}"
        case number:
            return f"{number:,.{digits}f}"


def interval(row: Row) -> str:
    """`1.41 to 1.72`; empty for one seed."""
    low, high = row.measured.low, row.measured.high
    if low is None or high is None:
        return ""
    return f"{_number(low, row.claim.digits)} to {_number(high, row.claim.digits)}"


def difference(row: Row, bold: str = "") -> str:
    """`-11%`; with `bold` around it if it is larger than `FAR`."""
    found = row.difference
    if found is None:
        return ""
    text = f"{found:+.0%}"
    return f"{bold}{text}{bold}" if abs(found) > FAR else text


def _point(row: Row) -> str:
    return "mean" if row.point == MEAN else "" if row.point is None else f"{row.point}"


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"
