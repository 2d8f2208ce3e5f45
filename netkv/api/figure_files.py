"""Figures in answers: for pages, and as files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from starlette.responses import Response

from netkv.api.downloads import download
from netkv.api.models.figures import FigureNumbers, PlottedFigure

if TYPE_CHECKING:
    from netkv.report.figure import Figure

MEDIA = {
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "png": "image/png",
    "csv": "text/csv; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
}
Kind = Literal["svg", "pdf", "png", "csv", "tex"]
RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {media: {} for media in MEDIA.values()}}
}
"""The description of files, for the parameter `responses` of a route."""


def plotted(figure: Figure) -> PlottedFigure:
    """The figure for a page."""
    from netkv.report.figure_table import numbers
    from netkv.report.interactive import page_layout, traces

    headings, rows = numbers(figure)
    return PlottedFigure(
        name=figure.name,
        title=figure.title,
        data=traces(figure),
        layout=page_layout(figure),
        numbers=FigureNumbers(headings=headings, rows=rows),
    )


def response(figure: Figure, kind: Kind) -> Response:
    """A file in column width, or with the numbers of the figure."""
    from netkv.report import figure_table
    from netkv.report.drawing import draw

    content: str | bytes
    if kind == "csv":
        content = figure_table.to_csv(figure)
    elif kind == "tex":
        content = figure_table.to_latex(figure)
    else:
        content = draw([figure], kind)
    return download(content, MEDIA[kind], figure.name, kind)
