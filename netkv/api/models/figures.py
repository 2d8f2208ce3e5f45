"""Models of figures and of the styles of runs in them."""

from __future__ import annotations

from typing import Any

from netkv.api.models.base import Model


class PlottedFigure(Model):
    """A figure that the scenario of the requested runs defines."""

    name: str
    """Name of its files: `/plots/NAME.svg`, `.pdf`, `.png`, and `.csv` and `.tex` for its numbers,
    with the same runs."""
    title: str
    data: list[dict[str, Any]]
    """Traces in the form of plotly.js."""
    layout: dict[str, Any]
    """Layout in the form of plotly.js."""


class Plots(Model):
    """The figures that the scenarios of the requested runs define."""

    figures: list[PlottedFigure]
    left_out: list[str]
    """For each figure that these runs have no data for: a sentence."""


class Look(Model):
    """The style of a run in figures, in the form of plotly.js."""

    line: dict[str, Any]
    """`line` of a trace."""
    marker: dict[str, Any]
    """`marker` of a trace of points."""
    bar: dict[str, Any]
    """`marker` of a trace of bars."""


class Looks(Model):
    """The styles of runs in all figures: the scheme of a run determines its colour."""

    schemes: dict[str, list[Look]]
    """For each scheme, the styles of its first run on a page, its second, and so on."""
    others: list[Look]
    """The same for the runs of all schemes that this version does not know."""
