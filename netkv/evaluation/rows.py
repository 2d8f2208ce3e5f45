"""A claim of a paper beside netkv's figures: mean over seeds, spread, difference.

A quantity is computed for each seed (schemes with the same seed have the same keys in the same
places, so a ratio is paired), then described over the seeds. The spread is a prediction interval:
where one further seed is expected with a probability of 99%. It is taken on logarithms, since all
quantities are positive: m * exp(±t s sqrt(1 + 1/n)), with Student's t for n - 1 degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any

from netkv.errors import NetkvError
from netkv.evaluation.measured import Measured, key
from netkv.evaluation.reference import MEAN, Claim, Experiment, Reported
from netkv.scenarios import thresholds
from netkv.scenarios.statistics import student_t

CONFIDENCE = 0.99


@dataclass(frozen=True)
class Spread:
    """A quantity over seeds."""

    mean: float
    """Geometric, the centre of the interval; arithmetic where a value is not positive."""
    low: float | None
    """Prediction interval for one further seed; None from one seed, or a value that is 0."""
    high: float | None
    seeds: int


@dataclass(frozen=True)
class Row:
    """One claim at one point."""

    claim: Claim
    point: Any
    """Value of the swept option, `mean`, or None for a claim without a sweep."""
    reported: Reported | None
    listed: float | None
    measured: Spread
    published: Spread | None = None
    """As `measured`, run in the way the paper has measured; None if it was not."""

    @property
    def difference(self) -> float | None:
        """Relative difference of the mean to the paper (its nearest bound if it gives a range), or
        to the artefact where the paper's text has no number; None if neither has one."""
        return self._difference(self.measured)

    @property
    def difference_as_published(self) -> float | None:
        """The same for `published`."""
        return None if self.published is None else self._difference(self.published)

    def _difference(self, found: Spread) -> float | None:
        match self.reported:
            case (low, high):
                reference = min(max(found.mean, low), high)
            case int() | float() as number:
                reference = float(number)
            case _:
                if self.listed is None:
                    return None
                reference = self.listed
        return found.mean / reference - 1 if reference else None


def spread(values: Sequence[float]) -> Spread:
    """Mean and prediction interval of one quantity over seeds; there is at least one value."""
    if any(value <= 0 for value in values):
        return Spread(fmean(values), None, None, len(values))
    logarithms = [math.log(value) for value in values]
    centre = fmean(logarithms)
    n = len(values)
    if n == 1:
        return Spread(math.exp(centre), None, None, 1)
    half = student_t((1 + CONFIDENCE) / 2, n - 1) * stdev(logarithms) * math.sqrt(1 + 1 / n)
    return Spread(math.exp(centre), math.exp(centre - half), math.exp(centre + half), n)


def rows(
    experiment: Experiment, measured: Measured, published: Measured | None = None
) -> list[Row]:
    """All claims at all points that were run, those without a value of the paper included.

    `published`: the same experiment, run as the paper has measured.
    """
    found = [row for claim in experiment.claims for row in _rows(claim, measured)]
    if published is None:
        return found
    others = [row for claim in experiment.claims for row in _rows(claim, published)]
    spreads = {(row.claim.name, row.point): row.measured for row in others}
    return [replace(row, published=spreads.get((row.claim.name, row.point))) for row in found]


def _rows(claim: Claim, measured: Measured) -> Iterator[Row]:
    if claim.along is None:
        yield _row(claim, None, _by_seed(claim, measured, claim.at))
        return
    points = list(dict.fromkeys(run.params[claim.along] for run in measured.runs))
    found = {point: _by_seed(claim, measured, {**claim.at, claim.along: point}) for point in points}
    for point, by_seed in found.items():
        yield _row(claim, point, by_seed)
    if claim.mean:
        seeds = [set(by_seed) for by_seed in found.values()]
        common = sorted(set.intersection(*seeds))
        means = {seed: fmean(by_seed[seed] for by_seed in found.values()) for seed in common}
        yield _row(claim, MEAN, means)


def _row(claim: Claim, point: Any, by_seed: Mapping[int, float]) -> Row:
    return Row(
        claim=claim,
        point=point,
        reported=claim.reported(point),
        listed=claim.listed(point),
        measured=spread(list(by_seed.values())),
    )


def _by_seed(claim: Claim, measured: Measured, at: Mapping[str, Any]) -> dict[int, float]:
    values = _quantity(claim.quantity, claim, measured, at)
    if claim.over is None:
        return values
    bases = _quantity(claim.over.quantity, claim, measured, claim.over.at)
    return {seed: value / bases[seed] for seed, value in values.items() if seed in bases}


def _quantity(
    text: str, claim: Claim, measured: Measured, at: Mapping[str, Any]
) -> dict[int, float]:
    quantity = thresholds.compile_quantity(text)
    where = ", ".join(f"{path}={value}" for path, value in at.items()) or "no point"
    by_seed: dict[int, dict[str, Mapping[str, float]]] = {}
    for run in measured.runs:
        if all(run.params.get(path) == value for path, value in at.items()):
            schemes = by_seed.setdefault(run.seed, {})
            if run.scheme in schemes:
                raise NetkvError(
                    f"Experiment '{measured.experiment}': '{text}' at {where} is more than one "
                    f"point of the sweep. Name a value for each swept option."
                )
            schemes[run.scheme] = {
                metric: run.metrics[name]
                for scheme, metric in quantity.metrics()
                if scheme == run.scheme and (name := key(metric, claim.between)) in run.metrics
            }
    if not by_seed:
        raise NetkvError(f"Experiment '{measured.experiment}': no run at {where}.")
    try:
        return {seed: quantity.value(schemes) for seed, schemes in by_seed.items()}
    except KeyError as missing:
        raise NetkvError(
            f"Experiment '{measured.experiment}': {missing} of '{text}' at {where} has no value."
        ) from missing
