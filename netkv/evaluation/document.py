"""The tables of the evaluation documents, between markers in their Markdown.

<!-- evaluation: SCENARIO -->
...
<!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from netkv.evaluation.reference import MEAN, Kind, Reported
from netkv.evaluation.rows import CONFIDENCE, Judged, Row, Spread

_MARKED = re.compile(
    r"(?P<begin><!-- evaluation: (?P<name>[a-z0-9-]+) -->\n)(?P<body>.*?)(?P<end><!-- end -->)",
    re.DOTALL,
)


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
    published = any(row.published is not None for row in rows)
    spread = f"{CONFIDENCE:.0%} of seeds"
    head += ["netkv", spread, "difference"]
    head += ["netkv, as published", spread, "difference"] if published else []
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
                interval(row.measured, row.claim.digits),
                verdict(row, row.by_seed, bold="**"),
                *(_as_published(row) if published else []),
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


def interval(found: Spread, digits: int) -> str:
    """`1.41 to 1.72`; empty for one seed."""
    if found.low is None or found.high is None:
        return ""
    return f"{_number(found.low, digits)} to {_number(found.high, digits)}"


def verdict(row: Row, found: Judged, bold: str = "") -> str:
    """`-11%`, `holds`, with what the figure is worth unless it is a prediction; with `bold` around
    what is not near the paper's, or does not hold."""
    if row.reported is None and row.listed is None:
        return ""
    if row.claim.unlike is not None:
        return f"another quantity: {row.claim.unlike}"
    if found.difference is not None:
        text, far = f"{found.difference:+.0%}", found.verdict != "near"
    elif found.holds is not None:
        text, far = "holds" if found.holds else "does not hold", not found.holds
    else:
        text, far = "", False
    marked = f"{bold}{text}{bold}" if far else text
    return ", ".join(filter(None, (marked, _KINDS[row.kind])))


_KINDS: dict[Kind, str] = {
    "predicted": "",
    "calibrated": "calibrated",
    "fixed": "fixed by the set-up",
}


def _as_published(row: Row) -> list[str]:
    if row.published is None:
        return ["", "", ""]
    return [
        _number(row.published.mean, row.claim.digits),
        interval(row.published, row.claim.digits),
        verdict(row, row.as_published, bold="**"),
    ]


def _point(row: Row) -> str:
    return "mean" if row.point == MEAN else "" if row.point is None else f"{row.point}"


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"
