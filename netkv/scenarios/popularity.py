"""How popular the keys of a load are, and the hit ratio that this predicts for a cache."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence

from netkv.model.spec import WorkloadSpec

_EXACT = 10_000
"""Terms that are added one by one; the rest by the Euler-Maclaurin formula."""
_YCSB_RANKS = 10_000_000_001
"""Ranks from which YCSB draws, however many records there are."""


class Popularity(ABC):
    """Shares of the requests by popularity rank; the first rank is 1."""

    ranks: int

    @abstractmethod
    def of_top(self, ranks: int) -> float:
        """The share of the most popular ranks."""

    @abstractmethod
    def of(self, rank: int) -> float:
        """The share of one rank."""


class Zipf(Popularity):
    """Zipf's law; an exponent of 0 is uniform."""

    def __init__(self, ranks: int, exponent: float) -> None:
        self.ranks = ranks
        self._exponent = exponent
        self._total = harmonic(ranks, exponent)

    def of_top(self, ranks: int) -> float:
        return harmonic(min(ranks, self.ranks), self._exponent) / self._total

    def of(self, rank: int) -> float:
        share: float = float(rank) ** -self._exponent / self._total
        return share


class YcsbZipf(Popularity):
    """YCSB's approximation of Zipf's law (engine/workload/src/gray_zipf.rs)."""

    ranks = _YCSB_RANKS

    def __init__(self, exponent: float) -> None:
        exact = Zipf(self.ranks, exponent)
        self._exponent = exponent
        self._first = exact.of_top(1)
        self._two = exact.of_top(2)
        self._eta: float = (1 - (2 / self.ranks) ** (1 - exponent)) / (1 - self._two)

    def of_top(self, ranks: int) -> float:
        if ranks <= 2:
            return (0.0, self._first, self._two)[ranks]
        place: float = (min(ranks, self.ranks) / self.ranks) ** (1 - self._exponent)
        share: float = 1 - (1 - place) / self._eta
        return max(share, self._two)

    def of(self, rank: int) -> float:
        return self.of_top(rank) - self.of_top(rank - 1)


@functools.lru_cache(maxsize=64)
def _law(ranks: int, exponent: float, placement: str) -> Popularity:
    if placement == "ycsb" and exponent:
        return YcsbZipf(exponent)
    return Zipf(ranks, exponent)


def of(workload: WorkloadSpec) -> Popularity:
    """The popularity of the keys of a load."""
    return _law(workload.keys, workload.zipf, workload.placement)


@functools.lru_cache(maxsize=64)
def harmonic(n: int, s: float) -> float:
    """Generalised harmonic number: sum of 1/i^s for i from 1 to n. Error below 1e-10 of it."""
    head = min(n, _EXACT)
    total = math.fsum(float(i) ** -s for i in range(1, head + 1))
    if n <= _EXACT:
        return total
    a, b = float(head), float(n)
    integral: float = math.log(b / a) if s == 1 else (b ** (1 - s) - a ** (1 - s)) / (1 - s)
    edges: float = (b**-s - a**-s) / 2
    slope: float = s * (a ** (-s - 1) - b ** (-s - 1)) / 12
    return total + integral + edges + slope


def predicted_hit_ratio(
    cached: Collection[bytes], hottest: Sequence[bytes], popularity: Popularity
) -> float:
    """The share of reads that go to the cached keys.

    `hottest` are the most popular keys, the hottest first. Cached keys that are not among them
    count with the mean popularity of the rest.
    """
    if not cached:
        return 0.0
    wanted = set(cached)
    inside = [rank for rank, key in enumerate(hottest, start=1) if key in wanted]
    share = math.fsum(popularity.of(rank) for rank in inside)
    outside = len(wanted) - len(inside)
    rest = popularity.ranks - len(hottest)
    if outside and rest > 0:
        share += outside * (1 - popularity.of_top(len(hottest))) / rest
    return min(share, 1.0)
