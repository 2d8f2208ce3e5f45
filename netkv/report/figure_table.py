"""The table under a figure: its numbers as rows, as CSV, and for LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netkv.report.figure import Axis, Figure

_MAX_ROWS = 50
"""Rows that fit on a page of a paper; a longer table may break across pages."""
_ESCAPED = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "µ": r"\textmu{}",
        "\N{MULTIPLICATION SIGN}": r"\texttimes{}",
        "±": r"\textpm{}",
        "\N{EN DASH}": "--",
        **{character: f"\\{character}" for character in "&%$#_{}"},
    }
)


@dataclass(frozen=True)
class Column:
    """The values of a series, one for each place on the x axis."""

    name: str
    values: tuple[float | None, ...]
    spread: tuple[float | None, ...]
    """Half widths of the 95% confidence intervals; empty: there are none."""


@dataclass(frozen=True)
class Table:
    """The numbers of a figure."""

    axis: str
    """Heading of the places."""
    places: tuple[float | str, ...]
    columns: tuple[Column, ...]


def table(figure: Figure) -> Table:
    """The numbers of a figure, in the units of its axes. References are constant columns."""
    places = list(dict.fromkeys(x for series in figure.series for x in series.x))
    places.sort()
    columns = []
    for series in figure.series:
        at = {x: index for index, x in enumerate(series.x)}
        here = [at.get(x) for x in places]
        known = any(half is not None for half in series.spread)
        columns.append(
            Column(
                series.name or figure.y.title,
                tuple(None if index is None else series.y[index] for index in here),
                tuple(None if index is None else series.spread[index] for index in here)
                if known
                else (),
            )
        )
    columns += [
        Column(each.name, (each.value,) * len(places), ())
        for each in figure.references
        if each.name
    ]
    names = figure.x.categories
    shown = tuple(names[round(x)] for x in places) if names else tuple(places)
    return Table(figure.x.title, shown, tuple(columns))


Cell = float | str | None


def numbers(figure: Figure) -> tuple[list[str], list[list[Cell]]]:
    """Headings and rows of the table with all digits; None: the value is unknown. Intervals are
    columns `± NAME`."""
    found = table(figure)
    heads = [found.axis]
    for column in found.columns:
        heads += [column.name, *([f"± {column.name}"] if column.spread else [])]
    rows: list[list[Cell]] = []
    for at, place in enumerate(found.places):
        row: list[Cell] = [place]
        for column in found.columns:
            row += [column.values[at], *([column.spread[at]] if column.spread else [])]
        rows.append(row)
    return heads, rows


def to_csv(figure: Figure) -> str:
    """The numbers with all digits; unknown values are empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    heads, rows = numbers(figure)
    writer.writerow(heads)
    writer.writerows(rows)
    return out.getvalue()


def to_latex(figure: Figure) -> str:
    """The numbers as a `tabular` with booktabs; a table longer than a page is a `longtable`."""
    found = table(figure)
    long = len(found.places) > _MAX_ROWS
    environment = "longtable" if long else "tabular"
    packages = "booktabs,longtable" if long else "booktabs"
    lines = [
        f"% {_comment(figure.title)}. Values: {_comment(figure.y.title)}.",
        f"% \\usepackage{{{packages}}}",
        f"\\begin{{{environment}}}{{l{'r' * len(found.columns)}}}",
        r"\toprule",
        _line([escaped(found.axis), *(escaped(column.name) for column in found.columns)]),
        r"\midrule",
        *(["\\endhead"] if long else []),
        *_rows(figure, found),
        r"\bottomrule",
        f"\\end{{{environment}}}",
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Text without a meaning for LaTeX."""
    return text.translate(_ESCAPED)


def _rows(figure: Figure, found: Table) -> Iterator[str]:
    for at, place in enumerate(found.places):
        first = escaped(place) if isinstance(place, str) else _number(figure.x, place)
        yield _line([first, *(_cell(figure.y, column, at) for column in found.columns)])


def _cell(axis: Axis, column: Column, at: int) -> str:
    value = column.values[at]
    if value is None:
        return "--"
    half = column.spread[at] if column.spread else None
    text = _number(axis, value)
    return text if half is None else f"{text} $\\pm$ {_number(axis, half)}"


def _number(axis: Axis, value: float) -> str:
    if axis.share:
        return f"{100 * value:.4g}\\%"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _comment(text: str) -> str:
    return " ".join(text.split())
