"""Models of figures and of the styles of runs in them."""

from __future__ import annotations

from typing import Any

from netkv.api.models.base import Model


class FigureNumbers(Model):
    """The numbers of a figure as a table."""

    headings: list[str]
    rows: list[list[float | str | None]]
    """A cell for each heading; null: the value is unknown."""


class PlottedFigure(Model):
    """A figure as a page draws it."""

    name: str
    """Name of its files: `/plots/NAME.svg`, `.pdf`, `.png`, and `.csv` and `.tex` for its numbers,
    with the same runs."""
    title: str
    data: list[dict[str, Any]]
    """Traces in the form of plotly.js."""
    layout: dict[str, Any]
    """Layout in the form of plotly.js."""
    numbers: FigureNumbers


class Plots(Model):
    """The figures of the requested runs."""

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


class NearRows(Model):
    """How many rows have a figure of the paper or its artefact, and how many are within 15%."""

    rows: int
    near: int


class ExperimentSummary(Model):
    """An experiment of a paper's evaluation."""

    name: str
    title: str
    source: str
    """Section and figure of the paper."""
    scenario: str
    changes: list[str]
    """Changes of options of the scenario, in the form of `--set`."""
    measured: bool
    """Whether this netkv has figures of its own."""
    by_seed: NearRows | None = None
    """Of runs whose keys are placed by seed; null without such figures."""
    as_published: NearRows | None = None
    """Of runs in the way the paper has measured; null without such figures."""


class EvaluationSummary(Model):
    """The evaluation of a paper."""

    name: str
    paper: str
    experiments: list[ExperimentSummary]


class ClaimSpread(Model):
    """A quantity over seeds."""

    mean: float
    low: float | None
    """Where one further seed is expected with a probability of 99%."""
    high: float | None
    seeds: int
    difference: float | None
    """Relative difference of the mean to the paper, or to the artefact."""


class ClaimRow(Model):
    """A quantity of a paper at one point, beside netkv's."""

    quantity: str
    at: Any
    """Value of the swept option, `mean`, or null."""
    paper: str
    """A number, a range or words; empty: the paper has none."""
    artefact: float | None
    mean: float
    """Mean over the seeds."""
    low: float | None
    """Where one further seed is expected with a probability of 99%."""
    high: float | None
    seeds: int
    difference: float | None
    """Relative difference of the mean to the paper, or to the artefact."""
    as_published: ClaimSpread | None = None
    """The same, run in the way the paper has measured; null if it was not."""
    digits: int
    """Digits after the decimal point that a table shows."""


class ExperimentFigures(Model):
    """An experiment of a paper beside its repetition in netkv."""

    paper: str
    experiment: ExperimentSummary
    command: str
    """What repeats it."""
    rows: list[ClaimRow]
    figures: list[PlottedFigure]
