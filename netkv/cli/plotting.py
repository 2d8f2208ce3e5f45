"""Writing figures to files, for all commands with figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netkv.cli.output import notify

if TYPE_CHECKING:
    from netkv.report.figure import Figure
    from netkv.report.files import Destination
    from netkv.runs import RunRecord

Plots = Annotated[
    list[Path] | None,
    typer.Option(
        "--plot",
        metavar="FILE|DIRECTORY",
        help="Write figures: .svg, .pdf, .png or .html, or one file for each into a directory; "
        "repeatable.",
    ),
]


def destinations(paths: Sequence[Path] | None, option: str = "--plot") -> list[Destination]:
    """The destinations of the user; raises `UsageError` before anything is run or measured."""
    from netkv.report.files import destination

    return [destination(path, option) for path in paths or []]


def write(
    to: Sequence[Destination], figures: Sequence[Figure], page: Callable[[], str]
) -> list[Path]:
    """Writes the figures and prints where they are."""
    from netkv.report import files

    if not to:
        return []
    written = files.write(to, figures, page)
    verb = "figure is" if len(written) == 1 else "figures are"
    notify(f"The {verb} in {', '.join(str(file) for file in written)}.")
    return written


def write_runs(to: Sequence[Destination], records: Sequence[RunRecord]) -> list[Path]:
    """Writes the figures of the runs' scenarios; prints which of them cannot be drawn.

    Raises `NetkvError` if none can be drawn.
    """
    from netkv.errors import NetkvError
    from netkv.report import page, plots

    if not to:
        return []
    drawn = plots.defined_or_usual(records)
    if not drawn.figures:
        raise NetkvError("\n".join(["No figure can be drawn.", *drawn.left_out]))
    for sentence in drawn.left_out:
        notify(sentence)
    return write(to, drawn.figures, lambda: page.render(records))
