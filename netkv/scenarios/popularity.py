"""The hit ratio of a set of cached keys that a popularity distribution predicts."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

_EXACT = 10_000
"""Terms that are added one by one; the rest by the Euler-Maclaurin formula."""


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
    cached: Collection[bytes], hottest: Sequence[bytes], keys: int, zipf: float
) -> float:
    """The share of reads that go to the cached keys.

    `hottest` are the most popular of `keys` keys, the hottest first. Cached keys that are not among
    them count with the mean popularity of the rest.
    """
    if not cached:
        return 0.0
    wanted = set(cached)
    total = harmonic(keys, zipf)
    inside = [rank for rank, key in enumerate(hottest, start=1) if key in wanted]
    share = math.fsum(float(rank) ** -zipf for rank in inside) / total
    outside = len(wanted) - len(inside)
    rest = keys - len(hottest)
    if outside and rest > 0:
        share += outside * (total - harmonic(len(hottest), zipf)) / rest / total
    return min(share, 1.0)
