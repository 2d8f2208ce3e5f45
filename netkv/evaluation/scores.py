"""How near netkv's figures are to a paper's: counts of rows of an experiment or a whole paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from netkv.evaluation.measured import Measured
from netkv.evaluation.reference import Evaluation, Experiment
from netkv.evaluation.rows import Row, rows

NEAR = 0.15
"""The relative difference up to which a figure counts as near the paper's."""


@dataclass(frozen=True)
class Score:
    """Rows that have a figure of the paper or its artefact, and how many of these are near it."""

    rows: int = 0
    near: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(self.rows + other.rows, self.near + other.near)

    @property
    def share(self) -> float | None:
        """The share of near rows; None without rows."""
        return self.near / self.rows if self.rows else None


@dataclass(frozen=True)
class Scores:
    """The scores of the runs by seed, and of those as published."""

    by_seed: Score = Score()
    published: Score = Score()

    def __add__(self, other: Scores) -> Scores:
        return Scores(self.by_seed + other.by_seed, self.published + other.published)


def of_rows(found: Sequence[Row]) -> Scores:
    """The scores of an experiment."""
    return Scores(
        _score(row.difference for row in found),
        _score(row.difference_as_published for row in found),
    )


def of_paper(evaluation: Evaluation, data: Path) -> dict[str, Scores]:
    """The scores of a paper's experiments by name, without those that have no figures in `data`."""
    return {
        each.name: of_rows(found)
        for each in evaluation.experiments
        if (found := read(evaluation, each, data)) is not None
    }


def read(evaluation: Evaluation, experiment: Experiment, data: Path) -> list[Row] | None:
    """The rows of an experiment from the files of `--save`; None if there are none."""
    own, *published = [Measured.read(data, each.name) for each in evaluation.variants(experiment)]
    return None if own is None else rows(experiment, own, *published)


def _score(differences: Iterable[float | None]) -> Score:
    compared = [abs(each) for each in differences if each is not None]
    return Score(len(compared), sum(each <= NEAR for each in compared))
