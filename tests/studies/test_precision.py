"""`--until`: when enough seeds have run."""

from __future__ import annotations

from typing import Any

import pytest

from netkv.errors import UsageError
from netkv.scenarios.results import RunResult
from netkv.studies import precision

SCHEMES = ["nocache", "netcache"]


def run(scheme: str, seed: int, throughput: float, **params: Any) -> RunResult:
    metrics: dict[str, Any] = {"throughput_ops": throughput}
    return RunResult(
        id=f"{scheme}-{seed}-{params}",
        scheme=scheme,
        params=params,
        repeat=seed,
        seed=seed,
        status="done",
        **metrics,
    )


def test_interval_is_that_of_the_mean_over_seeds() -> None:
    wanted = precision.parse("netcache.throughput_ops within 2%", SCHEMES)
    runs = [run("netcache", seed, value) for seed, value in enumerate([99.0, 100.0, 101.0])]
    (found,) = wanted.intervals(runs).values()
    assert (found.mean, found.n) == (100.0, 3)
    # Student's t with two degrees of freedom: 4.303 / sqrt(3).
    assert found.ci95 == pytest.approx(2.484, abs=0.001)
    assert wanted.wider(runs) == pytest.approx(1.242, abs=0.001)
    assert precision.parse("netcache.throughput_ops within 2.5%", SCHEMES).wider(runs) < 1  # type: ignore[operator]


def test_ratio_of_schemes_has_a_value_for_each_seed() -> None:
    """What a seed does to both alike is not in its interval."""
    wanted = precision.parse("netcache.throughput_ops / nocache.throughput_ops within 1%", SCHEMES)
    runs = [
        run(scheme, seed, factor * base)
        for seed, base in enumerate([50.0, 100.0, 200.0])
        for scheme, factor in (("nocache", 1), ("netcache", 3))
    ]
    assert wanted.wider(runs) == 0


def test_widest_point_decides_and_each_needs_a_value() -> None:
    wanted = precision.parse("netcache.throughput_ops within 10%", SCHEMES)
    narrow = [run("netcache", seed, 100.0 + seed, zipf=0.9) for seed in range(3)]
    wide = [run("netcache", seed, 100.0 + 50 * seed, zipf=0.5) for seed in range(3)]
    assert wanted.wider(narrow) < 1 < wanted.wider([*narrow, *wide])  # type: ignore[operator]
    failed = [each.model_copy(update={"status": "failed"}) for each in wide]
    assert wanted.wider([*narrow, *failed]) is None


def test_few_seeds_are_not_believed() -> None:
    wanted = precision.parse("netcache.throughput_ops within 50%", SCHEMES)
    runs = [run("netcache", seed, 100.0) for seed in range(2)]
    assert wanted.wider(runs) == float("inf")
    assert wanted.following(2, float("inf"), 100) == 4


def test_seeds_grow_with_the_width_and_have_a_limit() -> None:
    wanted = precision.parse("netcache.throughput_ops within 2%", SCHEMES)
    assert wanted.following(10, 1.05, 100) == 12
    assert wanted.following(10, 5.0, 100) == 20
    assert wanted.following(90, 5.0, 100) == 100
    assert wanted.following(10, 1.0001, 100) == 11


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("netcache.throughput_ops", "is not understood"),
        ("netcache.throughput_ops within 0%", "is not understood"),
        ("netcache.throughput within 2%", "'throughput' in .* is not a metric"),
        ("farreach.throughput_ops within 2%", "'farreach' is not a scheme of this scenario"),
        ("2 within 2%", "names no metric"),
    ],
)
def test_wrong_condition_gets_a_sentence(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        precision.parse(text, SCHEMES)
