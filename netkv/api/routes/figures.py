"""Figures of runs, and the styles of runs in all figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Path
from starlette.responses import Response

from netkv.api.context import Context
from netkv.api.models.figures import Look, Looks, Plots, PlottedFigure
from netkv.api.parameters import RunIds
from netkv.api.problems import NotFoundError, found, responses
from netkv.report import style
from netkv.schemes import all_schemes

if TYPE_CHECKING:
    from netkv.report.figure import Figure
    from netkv.report.plots import Drawn

_LOOKS = 100
"""Styles for each scheme: its runs on one page look different up to this number."""
_MEDIA = {
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "png": "image/png",
    "csv": "text/csv; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
}
Kind = Literal["svg", "pdf", "png", "csv", "tex"]


def router(context: Context) -> APIRouter:
    """The routes of figures."""
    routes = APIRouter(tags=["figures"])

    @routes.get("/looks")
    def show_looks() -> Looks:
        """Colours, dashes, markers and patterns of runs, as in the figures that netkv draws."""
        return Looks(
            schemes={
                each.name: [_look(style.of_scheme(each.name, at)) for at in range(_LOOKS)]
                for each in all_schemes()
            },
            others=[_look(style.neutral(at)) for at in range(_LOOKS)],
        )

    # Imported here: the drawing libraries take a second to import.
    def drawn(ids: list[str]) -> Drawn:
        from netkv.report.plots import defined

        return defined([found(context.store.record, each) for each in ids])

    @routes.get("/plots", responses=responses(404))
    def show_plots(run: RunIds) -> Plots:
        """The figures that the scenarios of these runs define, in the form of plotly.js."""
        from netkv.report.interactive import plotly

        of_runs = drawn(run)
        figures = []
        for figure in of_runs.figures:
            parts = plotly(figure).to_plotly_json()
            figures.append(
                PlottedFigure(
                    name=figure.name,
                    title=figure.title,
                    data=parts["data"],
                    layout=parts["layout"],
                )
            )
        return Plots(figures=figures, left_out=of_runs.left_out)

    @routes.get(
        "/plots/{name}.{kind}",
        responses={**responses(404), 200: {"content": {media: {} for media in _MEDIA.values()}}},
        response_class=Response,
    )
    def show_picture(
        name: Annotated[str, Path(max_length=200)], kind: Kind, run: RunIds
    ) -> Response:
        """One of these figures as a file in column width, as `netkv runs plot` writes it, or its
        numbers as CSV or as a LaTeX table."""
        figures = {figure.name: figure for figure in drawn(run).figures}
        if name not in figures:
            available = ", ".join(figures) or "none"
            raise NotFoundError(f"These runs have no figure '{name}'. Their figures: {available}.")
        return _file(figures[name], kind)

    return routes


def _file(figure: Figure, kind: Kind) -> Response:
    from netkv.report import figure_table
    from netkv.report.drawing import draw

    content: str | bytes
    if kind == "csv":
        content = figure_table.to_csv(figure)
    elif kind == "tex":
        content = figure_table.to_latex(figure)
    else:
        content = draw([figure], kind)
    return Response(
        content,
        media_type=_MEDIA[kind],
        headers={"content-disposition": f'attachment; filename="{figure.name}.{kind}"'},
    )


def _look(own: style.Style) -> Look:
    return Look(line=own.plotly_line(), marker=own.plotly_marker(), bar=own.plotly_bar())
