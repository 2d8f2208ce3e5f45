"""Curves of latency histograms are those of the package's own iterator."""

from __future__ import annotations

import random

import pytest
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from netkv.runs import histograms


def recorded(values: list[int]) -> HdrHistogram:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in values:
        histogram.record_value(value)
    return histogram


@pytest.mark.parametrize(
    "values",
    [
        [1],
        [7, 7, 7, 2047, 2048, 2049],
        [3_600_000_000_000, 1],
        [int(random.Random(seed).lognormvariate(9, 2)) + 1 for seed in range(3000)],
    ],
    ids=["one", "around the first bucket", "the whole range", "many"],
)
def test_distribution_has_each_recorded_latency_and_the_share_up_to_it(values: list[int]) -> None:
    histogram = recorded(values)
    expected = [
        (item.value_iterated_to / 1000, item.total_count_to_this_value / len(values))
        for item in histogram.get_recorded_iterator()
    ]
    latencies, shares = histograms.distribution(histogram)
    assert list(zip(latencies, shares, strict=True)) == expected
    above = histograms.complement(histogram, limit=10_000)
    assert above[0] == latencies
    assert above[1] == pytest.approx([1 - share for share in shares])


def test_thinned_curve_keeps_its_ends() -> None:
    rng = random.Random(1)
    histogram = recorded([int(rng.expovariate(1e-5)) + 1 for _ in range(9000)])
    whole, thin = histograms.complement(histogram, 10_000), histograms.complement(histogram, 50)
    assert len(thin[0]) <= 50 < len(whole[0])
    assert (thin[0][0], thin[0][-1]) == (whole[0][0], whole[0][-1])
    assert set(zip(*thin, strict=True)) <= set(zip(*whole, strict=True))
