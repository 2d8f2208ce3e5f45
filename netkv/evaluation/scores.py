"""How near netkv's figures are to a paper's: counts of rows of an experiment or a whole paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netkv.evaluation.measured import Measured
from netkv.evaluation.reference import Evaluation, Experiment
from netkv.evaluation.rows import Judged, Row, rows
from netkv.evaluation.words import NEAR

MOVED = 1.4
"""The negative control moves the papers' figures by this factor: hardly one may be near then."""


@dataclass(frozen=True)
class Count:
    """How many claims are compared, and how many of them agree."""

    rows: int = 0
    near: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.rows + other.rows, self.near + other.near)

    def __str__(self) -> str:
        """`3 of 5`; empty without any."""
        return f"{self.near} of {self.rows}" if self.rows else ""


@dataclass(frozen=True)
class Score:
    """Counts of the rows of one way to measure."""

    figures: Count = Count()
    """Numbers of the paper's text or its artefact; near: within 15%."""
    text: Count = Count()
    """Those of the text alone."""
    words: Count = Count()
    """Words of the text; near: they hold."""
    direction: int = 0
    """Numbers that are farther, but ratios on the same side of 1."""
    predicted: Count = Count()
    """Of the figures, those that no constant was calibrated on and no set-up fixes."""
    moved: Count = Count()
    """The figures, had the paper's been larger by `MOVED`: a negative control."""

    @property
    def differs(self) -> int:
        """Numbers that are neither near nor have the direction."""
        return self.figures.rows - self.figures.near - self.direction

    def __add__(self, other: Score) -> Score:
        return Score(
            self.figures + other.figures,
            self.text + other.text,
            self.words + other.words,
            self.direction + other.direction,
            self.predicted + other.predicted,
            self.moved + other.moved,
        )


@dataclass(frozen=True)
class Scores:
    """The scores of the runs by seed, of those as published, and of like with like: as published
    where it was run so, else by seed."""

    by_seed: Score = Score()
    published: Score = Score()
    alike: Score = Score()

    def __add__(self, other: Scores) -> Scores:
        return Scores(
            self.by_seed + other.by_seed,
            self.published + other.published,
            self.alike + other.alike,
        )


HEADINGS = (
    *("by seed", "as published", "like with like", "predicted", "direction only", "differs"),
    *("numbers of the text", "words that hold", "control"),
)
"""Headings of `texts`."""


def texts(found: Scores) -> list[str]:
    """The counts as texts; empty where nothing is compared."""
    alike = found.alike
    return [
        str(found.by_seed.figures),
        str(found.published.figures),
        str(alike.figures),
        str(alike.predicted),
        f"{alike.direction}" if alike.figures.rows else "",
        f"{alike.differs}" if alike.figures.rows else "",
        str(alike.text),
        str(alike.words),
        str(alike.moved),
    ]


def of_rows(found: Sequence[Row]) -> Scores:
    """The scores of an experiment."""
    published = [row for row in found if row.published is not None]
    return Scores(
        _score((row, row.by_seed) for row in found),
        _score((row, row.as_published) for row in published),
        _score((row, row.alike) for row in found),
    )


def of_paper(evaluation: Evaluation, data: Path) -> dict[str, Scores]:
    """The scores of a paper's experiments by name, without those that have no figures in `data`."""
    return {
        each.name: of_rows(found)
        for each in evaluation.experiments
        if (found := read(evaluation, each, data)) is not None
    }


def total(evaluation: Evaluation, found: Mapping[str, Scores]) -> Scores:
    """The sum over the experiments that repeat one of the paper's."""
    counted = [each.name for each in evaluation.experiments if not (each.variant or each.control)]
    return sum((found[name] for name in counted if name in found), Scores())


def read(evaluation: Evaluation, experiment: Experiment, data: Path) -> list[Row] | None:
    """The rows of an experiment from the files of `--save`; None if there are none."""
    own, *published = [Measured.read(data, each.name) for each in evaluation.variants(experiment)]
    return None if own is None else rows(experiment, own, *published)


def _score(found: Iterable[tuple[Row, Judged]]) -> Score:
    compared = list(found)
    numbers = [(row, judged) for row, judged in compared if judged.verdict is not None]
    said = [judged.holds for _, judged in compared if judged.holds is not None]
    return Score(
        _near(numbers),
        _near((row, judged) for row, judged in numbers if _in_text(row)),
        Count(len(said), sum(said)),
        sum(judged.verdict == "direction" for _, judged in numbers),
        _near((row, judged) for row, judged in numbers if judged.kind == "predicted"),
        Count(len(numbers), sum(_is_near_moved(judged) for _, judged in numbers)),
    )


def _in_text(row: Row) -> bool:
    return row.reported is not None and not isinstance(row.reported, str)


def _near(numbers: Iterable[tuple[Row, Judged]]) -> Count:
    verdicts = [judged.verdict for _, judged in numbers]
    return Count(len(verdicts), verdicts.count("near"))


def _is_near_moved(judged: Judged) -> bool:
    assert judged.difference is not None
    return abs((1 + judged.difference) / MOVED - 1) <= NEAR
