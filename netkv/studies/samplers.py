"""Points that are spread over axes, without a look at results."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from netkv.errors import NetkvError
from netkv.studies.axes import Axis, Choice

Params = dict[str, Any]
"""Path → value."""


def grid(axes: Sequence[Axis], count: int, _seed: int) -> list[Params]:
    """All combinations: lists have all their values, and ranges as many each as make at most
    `count` points, but two at least."""
    lists = math.prod(len(each.values) for each in axes if isinstance(each, Choice))
    ranges = sum(not isinstance(each, Choice) for each in axes)
    each_has = 2
    while ranges and lists * (each_has + 1) ** ranges <= count:
        each_has += 1
    values = [
        each.values
        if isinstance(each, Choice)
        else [each.at(at / (each_has - 1)) for at in range(each_has)]
        for each in axes
    ]
    return _points(axes, itertools.product(*values))


def uniform(axes: Sequence[Axis], count: int, seed: int) -> list[Params]:
    """Random points, each independent of the others."""
    draws = random.Random(seed)
    shares = ([draws.random() for _ in axes] for _ in range(count))
    return _at(axes, shares)


def sobol(axes: Sequence[Axis], count: int, seed: int) -> list[Params]:
    """A scrambled Sobol sequence: points that leave smaller gaps than random ones do."""
    try:
        from scipy.stats import qmc
    except ModuleNotFoundError as error:
        raise NetkvError(
            "The sampler 'sobol' needs SciPy, which is not installed. Install netkv[search]."
        ) from error
    drawn = qmc.Sobol(len(axes), rng=seed).random_base2(max(math.ceil(math.log2(count)), 0))
    return _at(axes, drawn[:count].tolist())


SAMPLERS: dict[str, Callable[[Sequence[Axis], int, int], list[Params]]] = {
    "grid": grid,
    "random": uniform,
    "sobol": sobol,
}


def _at(axes: Sequence[Axis], shares: Iterator[list[float]] | list[list[float]]) -> list[Params]:
    rows = ([axis.at(share) for axis, share in zip(axes, row, strict=True)] for row in shares)
    return _points(axes, rows)


def _points(axes: Sequence[Axis], rows: Any) -> list[Params]:
    """Points from rows of values; whole numbers and lists may give one twice."""
    paths = [each.path for each in axes]
    found = {tuple(map(repr, row)): dict(zip(paths, row, strict=True)) for row in map(list, rows)}
    return list(found.values())
