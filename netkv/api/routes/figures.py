"""Figures of runs, and the styles of runs in all figures."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from netkv.api import figure_files
from netkv.api.context import Context, Current
from netkv.api.errors import NotFoundError
from netkv.api.models.figures import Look, Looks, Plots
from netkv.api.parameters import RunIds
from netkv.api.problems import found, responses
from netkv.report import style
from netkv.schemes import all_schemes

if TYPE_CHECKING:
    from netkv.report.plots import Drawn

_LOOKS = 100
"""Styles for each scheme: its runs on one page look different up to this number."""

routes = APIRouter(tags=["figures"])


@routes.get("/looks", response_model=Looks)
def show_looks() -> Response:
    """Colours, dashes, markers and patterns of runs, as in the figures that netkv draws."""
    return Response(_looks(), media_type="application/json")


@routes.get("/plots", responses=responses(404))
def show_plots(context: Current, run: RunIds) -> Plots:
    """The figures that the scenarios of these runs define, in the form of plotly.js. Runs of a
    scenario that defines none have the usual figures."""
    of_runs = _drawn(context, run)
    return Plots(
        figures=[figure_files.plotted(figure) for figure in of_runs.figures],
        left_out=of_runs.left_out,
    )


@routes.get(
    "/plots/{name}.{kind}",
    responses={**responses(404), **figure_files.RESPONSES},
    response_class=Response,
)
def show_picture(
    context: Current,
    name: Annotated[str, Path(max_length=200)],
    kind: figure_files.Kind,
    run: RunIds,
) -> Response:
    """One of these figures as a file in column width, as `netkv runs plot` writes it, or its
    numbers as CSV or as a LaTeX table."""
    figures = {figure.name: figure for figure in _drawn(context, run).figures}
    if name not in figures:
        available = ", ".join(figures) or "none"
        raise NotFoundError(f"These runs have no figure '{name}'. Their figures: {available}.")
    return figure_files.response(figures[name], kind)


def _drawn(context: Context, ids: list[str]) -> Drawn:
    # Imported here: the drawing libraries take a second to import.
    from netkv.report.plots import defined_or_usual

    return defined_or_usual([found(context.store.record, each) for each in ids])


@cache
def _looks() -> str:
    """A JSON document; every page requests it first."""
    looks = Looks(
        schemes={
            each.name: [_look(style.of_scheme(each.name, at)) for at in range(_LOOKS)]
            for each in all_schemes()
        },
        others=[_look(style.neutral(at)) for at in range(_LOOKS)],
    )
    return looks.model_dump_json()


def _look(own: style.Style) -> Look:
    return Look(line=own.plotly_line(), marker=own.plotly_marker(), bar=own.plotly_bar())
