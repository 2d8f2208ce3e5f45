"""A claim of a paper beside netkv's figures: mean over seeds, spread, difference.

A quantity is computed for each seed (schemes with the same seed have the same keys in the same
places, so a ratio is paired), then described over the seeds. The spread is a prediction interval:
where one further seed is expected with a probability of 99%. It is taken on logarithms, since all
quantities are positive: m * exp(±t s sqrt(1 + 1/n)), with Student's t for n - 1 degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any, Literal

from netkv.errors import NetkvError
from netkv.evaluation import words
from netkv.evaluation.measured import Measured, key
from netkv.evaluation.reference import MEAN, Claim, Experiment, Kind, Reported
from netkv.evaluation.words import NEAR
from netkv.scenarios import thresholds
from netkv.scenarios.statistics import student_t

CONFIDENCE = 0.99

Verdict = Literal["near", "direction", "differs"]
"""Of a number: within 15%; farther, but a ratio on the paper's side of 1; neither."""


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
class Judged:
    """A figure of netkv beside that of the paper, or its artefact."""

    difference: float | None = None
    """Relative difference to the paper (to the nearest bound if it gives a range), or to the
    artefact where the paper's text has no number; None if neither has one."""
    verdict: Verdict | None = None
    """On the difference; None without one."""
    holds: bool | None = None
    """Whether the paper's words hold; None without words."""
    kind: Kind = "predicted"
    """What netkv's figure is worth."""


@dataclass(frozen=True)
class Row:
    """One claim at one point."""

    claim: Claim
    point: Any
    """Value of the swept option, `mean`, or None for a claim without a sweep."""
    reported: Reported | None
    listed: float | None
    measured: Spread
    by_seed: Judged = Judged()
    """`measured` beside the paper."""
    published: Spread | None = None
    """As `measured`, run in the way the paper has measured; None if it was not."""
    as_published: Judged = Judged()
    """`published` beside the paper."""

    @property
    def alike(self) -> Judged:
        """Like with like: in the way the paper has measured, if it was run so."""
        return self.by_seed if self.published is None else self.as_published

    def reference(self, value: float) -> float | None:
        """What `value` is compared with: a number of the paper, or of its artefact."""
        match self.reported:
            case (low, high):
                return min(max(value, low), high)
            case int() | float() as number:
                return float(number)
            case _:
                return self.listed


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
    again = {(row.claim.name, row.point): row for row in others}
    return [_beside(row, again.get((row.claim.name, row.point))) for row in found]


def _beside(row: Row, published: Row | None) -> Row:
    if published is None:
        return row
    kind = row.claim.kind_at(row.point, as_published=True)
    judged = replace(published.by_seed, kind=kind)
    return replace(row, published=published.measured, as_published=judged)


def _rows(claim: Claim, measured: Measured) -> list[Row]:
    if claim.along is None:
        return _judged(claim, [(None, _by_seed(claim, measured, claim.at))])
    points = list(dict.fromkeys(run.params[claim.along] for run in measured.runs))
    found = {point: _by_seed(claim, measured, {**claim.at, claim.along: point}) for point in points}
    values = list(found.items())
    if claim.mean:
        seeds = [set(by_seed) for by_seed in found.values()]
        common = sorted(set.intersection(*seeds))
        means = {seed: fmean(by_seed[seed] for by_seed in found.values()) for seed in common}
        values.append((MEAN, means))
    return _judged(claim, values)


def _judged(claim: Claim, found: Sequence[tuple[Any, Mapping[int, float]]]) -> list[Row]:
    spreads = [spread(list(by_seed.values())) for _, by_seed in found]
    along = [each.mean for (point, _), each in zip(found, spreads, strict=True) if point != MEAN]
    made = []
    for at, ((point, _), each) in enumerate(zip(found, spreads, strict=True)):
        row = Row(claim, point, claim.reported(point), claim.listed(point), each)
        judged = replace(_judge(row, each.mean, along, at), kind=claim.kind_at(point))
        made.append(replace(row, by_seed=judged))
    return made


def _judge(row: Row, value: float, along: Sequence[float], at: int) -> Judged:
    if row.claim.unlike is not None:
        return Judged()
    said = words.phrase(row.reported) if isinstance(row.reported, str) else None
    holds = None if said is None or row.point == MEAN else said.holds(along, at)
    reference = row.reference(value)
    if not reference:
        return Judged(holds=holds)
    difference = value / reference - 1
    same_side = row.claim.is_ratio and (value - 1) * (reference - 1) > 0
    verdict: Verdict = (
        "near" if abs(difference) <= NEAR else "direction" if same_side else "differs"
    )
    return Judged(difference, verdict, holds)


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
