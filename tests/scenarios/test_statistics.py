"""Confidence intervals by Student's t-distribution."""

from __future__ import annotations

import pytest

from netkv.scenarios.statistics import interval, student_t


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    [
        (1, 12.7062),
        (2, 4.3027),
        (3, 3.1824),
        (4, 2.7764),
        (9, 2.2622),
        (10, 2.2281),
        (30, 2.0423),
        (120, 1.9799),
    ],
)
def test_quantiles_agree_with_published_tables(degrees: int, quantile: float) -> None:
    assert student_t(0.975, degrees) == pytest.approx(quantile, abs=5e-5)


def test_interval_of_known_sample() -> None:
    result = interval([10.0, 12.0, 14.0])
    assert result is not None
    assert result.ci95 is not None
    assert result.mean == 12
    assert result.ci95 == pytest.approx(4.3027 * 2 / 3**0.5, rel=1e-4)


def test_one_value_has_no_interval() -> None:
    result = interval([3.0])
    assert result is not None
    assert result.ci95 is None
    assert interval([]) is None
