"""Histograms of the engine and their curves are those of the HDR package of Python."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from netkv._engine import Histogram
from netkv.errors import NetkvError
from netkv.runs import histograms
from netkv.scenarios.histogram import latency

VALUES = [
    [1],
    [7, 7, 7, 2047, 2048, 2049],
    [3_600_000_000_000, 1],
    [int(random.Random(seed).lognormvariate(9, 2)) + 1 for seed in range(3000)],
]
IDS = ["one", "around the first bucket", "the whole range", "many"]


def recorded(values: list[int]) -> HdrHistogram:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in values:
        histogram.record_value(value)
    return histogram


def ours(histogram: HdrHistogram) -> Histogram:
    return histograms.decode(histogram.encode().decode())


@pytest.mark.parametrize("values", VALUES, ids=IDS)
def test_distribution_has_each_recorded_latency_and_the_share_up_to_it(values: list[int]) -> None:
    package = recorded(values)
    expected = [
        (item.value_iterated_to / 1000, item.total_count_to_this_value / len(values))
        for item in package.get_recorded_iterator()
    ]
    histogram = ours(package)
    latencies, shares = histograms.distribution(histogram)
    assert list(zip(latencies, shares, strict=True)) == expected
    above = histograms.complement(histogram, limit=10_000)
    assert above[0] == latencies
    assert above[1] == pytest.approx([1 - share for share in shares])


@pytest.mark.parametrize("values", VALUES, ids=IDS)
def test_sum_has_mean_and_percentiles_of_the_package(values: list[int]) -> None:
    half, rest = recorded(values[: len(values) // 2]), recorded(values[len(values) // 2 :])
    merged = histograms.merge([half.encode().decode(), "", ours(rest).encode()])
    assert merged is not None
    package = recorded(values)
    assert len(merged) == len(values) == package.get_total_count()
    assert merged.mean() == package.get_mean_value()
    for percentile in [0.001, 1, 12.5, 50, 95, 99, 99.9, 100]:
        assert merged.at(percentile) == package.get_value_at_percentile(percentile), percentile
    back = HdrHistogram.decode(merged.encode())
    assert back.get_total_count() == len(values)
    assert back.get_max_value() == package.get_max_value()
    assert latency(merged).p99 == package.get_value_at_percentile(99) / 1000


def test_without_latencies_there_are_no_percentiles() -> None:
    assert latency(Histogram()).p50 is None
    assert histograms.merge(["", ""]) is None
    assert histograms.complement(None) == histograms.complement(Histogram()) == ([], [])


@pytest.mark.parametrize("text", ["HISTFAAAA", "A", "no base64", "HISTIgAAAAA="])
def test_damaged_histogram_is_reported(text: str) -> None:
    with pytest.raises(NetkvError, match="A stored latency histogram is damaged: "):
        histograms.decode(text)


def test_thinned_curve_keeps_its_ends() -> None:
    rng = random.Random(1)
    histogram = ours(recorded([int(rng.expovariate(1e-5)) + 1 for _ in range(9000)]))
    whole, thin = histograms.complement(histogram, 10_000), histograms.complement(histogram, 50)
    assert len(thin[0]) <= 50 < len(whole[0])
    assert (thin[0][0], thin[0][-1]) == (whole[0][0], whole[0][-1])
    assert set(zip(*thin, strict=True)) <= set(zip(*whole, strict=True))


def test_long_curve_keeps_its_shape_in_few_points() -> None:
    histogram = ours(recorded([1000 * value for value in range(1, 20_000)]))
    values, above = histograms.complement(histogram, 200)
    full, shares = histograms.complement(histogram, 10**9)
    assert 50 < len(values) <= 200 < len(full)
    assert (values[0], values[-1]) == (full[0], full[-1])
    assert set(zip(values, above, strict=True)) <= set(zip(full, shares, strict=True))
    rising = pairwise(values)
    assert all(later / value < 1.2 for value, later in rising if value > 100)
