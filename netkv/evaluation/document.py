"""The tables of the evaluation documents, between markers in their Markdown.

<!-- evaluation: SCENARIO -->
...
<!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence

from netkv.evaluation import table as rows_table
from netkv.evaluation.rows import Row
from netkv.evaluation.table import Cell

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
    head, cells = rows_table.of_rows(rows)
    lines = [[_rendered(cell) for cell in row] for row in cells]
    seeds = max(row.measured.seeds for row in rows)
    return f"{table(head, lines, numbers=range(1, len(head)))}`{command}`, {seeds} seeds.\n\n"


def table(
    head: Sequence[str], lines: Sequence[Sequence[str]], *, numbers: Container[int] = ()
) -> str:
    """A table with an empty line before and after it; columns of `numbers` are right-aligned."""
    rule = ["---:" if at in numbers else "---" for at in range(len(head))]
    text = "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *lines))
    return f"\n{text}\n\n"


def _rendered(cell: Cell) -> str:
    """The cell, bold if the figure is not near the paper's, or its words do not hold."""
    return cell.rendered(f"**{cell.text}**" if cell.agrees is False else None)
