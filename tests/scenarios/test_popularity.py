"""The predicted hit ratio follows from the Zipf distribution."""

from __future__ import annotations

import pytest

from netkv.model.spec import WorkloadSpec
from netkv.scenarios.popularity import Zipf, harmonic, of, predicted_hit_ratio


@pytest.mark.parametrize("s", [0.0, 0.5, 0.99, 1.0, 1.2])
def test_harmonic_numbers_agree_with_plain_addition(s: float) -> None:
    assert harmonic(200_000, s) == pytest.approx(sum(i**-s for i in range(1, 200_001)), rel=1e-10)
    assert harmonic(10, s) == pytest.approx(sum(i**-s for i in range(1, 11)))


def test_prediction_adds_the_shares_of_the_cached_ranks() -> None:
    keys = [bytes([i]) for i in range(4)]
    total = 1 + 1 / 2 + 1 / 3 + 1 / 4
    assert predicted_hit_ratio(keys[:2], keys, Zipf(4, 1.0)) == pytest.approx(1.5 / total)
    assert predicted_hit_ratio([keys[3]], keys, Zipf(4, 1.0)) == pytest.approx(0.25 / total)
    assert predicted_hit_ratio([], keys, Zipf(4, 1.0)) == 0
    assert predicted_hit_ratio(keys, keys, Zipf(4, 1.0)) == pytest.approx(1)


def test_cached_keys_of_unknown_rank_count_with_a_mean() -> None:
    hottest = [b"a", b"b"]
    total = 1 + 1 / 2 + 1 / 3 + 1 / 4
    predicted = predicted_hit_ratio([b"a", b"z"], hottest, Zipf(4, 1.0))
    assert predicted == pytest.approx((1 + (1 / 3 + 1 / 4) / 2) / total)


def test_popularity_of_ycsbs_generator_is_that_of_its_published_request_files() -> None:
    ycsb = of(WorkloadSpec(keys=100_000_001, placement="ycsb"))
    assert ycsb.of_top(10_000) == pytest.approx(0.39194, abs=1e-4)
    assert ycsb.of_top(20_000) - ycsb.of_top(10_000) == pytest.approx(0.02865, abs=2e-4)
    assert sum(ycsb.of(rank) for rank in range(1, 101)) == pytest.approx(ycsb.of_top(100))
    exact = of(WorkloadSpec(keys=10_000_000_001))
    assert exact.of(1) == pytest.approx(ycsb.of(1))
    uniform = of(WorkloadSpec(keys=500, placement="ycsb", zipf=0))
    assert uniform.of_top(5) == pytest.approx(0.01)
