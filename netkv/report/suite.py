"""Results of `netkv bench` as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from netkv.bench.suite import Figure, Part

_REACHED = {True: "reached", False: "not reached", None: ""}


def table(parts: Sequence[Part]) -> Table:
    """A line for each main figure, with its goal."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown.add_column("benchmark", no_wrap=True)
    shown.add_column("figure")
    shown.add_column("value", justify="right", no_wrap=True)
    shown.add_column("goal", no_wrap=True)
    shown.add_column("", no_wrap=True)
    for part in parts:
        for at, figure in enumerate(part.figures):
            name = "" if at else f"netkv {part.benchmark}"
            value = _number(figure, figure.value)
            shown.add_row(name, figure.name, value, _goal(figure), _REACHED[figure.reached])
        shown.add_section()
    return shown


def _goal(figure: Figure) -> str:
    if figure.at_least is not None:
        return f"at least {_number(figure, figure.at_least)}"
    return "" if figure.at_most is None else f"at most {_number(figure, figure.at_most)}"


def _number(figure: Figure, value: float) -> str:
    return f"{value:.2f} {figure.unit}".rstrip()
