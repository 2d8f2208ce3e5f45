"""Models of figures and of the styles of runs in them."""

from __future__ import annotations

from typing import Any, Literal

from netkv.api.models.base import Model

Verdict = Literal["near", "direction", "differs"]
Kind = Literal["predicted", "calibrated", "fixed"]


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
    """How many claims are compared with the paper or its artefact, and how many of them agree."""

    rows: int
    near: int


class Scores(Model):
    """How near figures are to those of the paper or its artefact. Like with like: of runs in the
    way the paper has measured, where there are such, else of runs whose keys are placed by seed."""

    by_seed: NearRows
    """Numbers within 15%, of runs by seed."""
    as_published: NearRows
    """The same of runs in the way the paper has measured."""
    alike: NearRows
    """The same, like with like."""
    predicted: NearRows
    """Of `alike`, what no constant was calibrated on and no set-up fixes."""
    direction: int
    """Numbers that are farther, but ratios on the paper's side of 1; like with like."""
    text: NearRows
    """Of `alike`, the numbers that the paper's text states."""
    words: NearRows
    """What the text says in words, and how much of that holds; like with like."""
    moved: NearRows
    """A negative control: `alike`, had the paper's figures been 40% larger."""


class ExperimentSummary(Model):
    """An experiment of a paper's evaluation."""

    name: str
    title: str
    source: str
    """Section and figure of the paper."""
    scenario: str
    changes: list[str]
    """Changes of options of the scenario, in the form of `--set`."""
    counted: bool
    """False: it shows what a constant does to another experiment, or is a negative control."""
    measured: bool
    """Whether this netkv has figures of its own."""
    scores: Scores


class EvaluationSummary(Model):
    """The evaluation of a paper."""

    name: str
    paper: str
    scores: Scores
    """Of the experiments that count."""
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
    verdict: Verdict | None
    """On the difference: within 15%; farther, but a ratio on the paper's side of 1; neither."""
    holds: bool | None
    """Whether the paper's words hold; null without words."""


class ClaimRow(Model):
    """A quantity of a paper at one point, beside netkv's."""

    quantity: str
    at: Any
    """Value of the swept option, `mean`, or null."""
    paper: str
    """A number, a range or words; empty: the paper has none."""
    artefact: float | None
    kind: Kind
    """What the figure is worth: nothing was fitted to it; constants were calibrated on it; the
    set-up fixes it."""
    unlike: str | None
    """What the paper's figure measures, if that is another quantity of the same name: then there is
    no difference."""
    cause: str | None
    """Why rows of this claim differ from the paper; null: not stated, or none does."""
    cause_shown_by: str | None
    """The experiment or command that shows the cause."""
    by_seed: ClaimSpread
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
