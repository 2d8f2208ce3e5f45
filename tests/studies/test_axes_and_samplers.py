"""What a search varies, and how points are spread over it."""

from __future__ import annotations

import builtins
import itertools
import math
from typing import Any

import pytest

from netkv.errors import NetkvError, UsageError
from netkv.studies import axes, samplers
from netkv.studies.axes import Choice, Range
from netkv.studies.best import Best

ZIPF = Range("workload.zipf", 0.5, 1.2)
RATE = Range("workload.arrivals.rate", 1e4, 1e6, log=True)
SERVERS = Range("lab.servers", 4, 64, log=True, integer=True)
MIX = Choice("workload.mix", ("ycsb-a", "ycsb-b", None))


def test_axes_are_read_as_they_are_written() -> None:
    assert axes.parse("workload.zipf=0.5..1.2") == ZIPF
    assert axes.parse(" workload.arrivals.rate = 10k..1M log ") == RATE
    assert axes.parse("lab.servers=4..64 int log") == SERVERS
    assert axes.parse("workload.mix=ycsb-a, ycsb-b, null") == MIX
    assert axes.parse("a.b=-1e-3..-1e-4") == Range("a.b", -1e-3, -1e-4)
    assert axes.parse("a.b=1") == Choice("a.b", (1,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("workload.zipf", "no option with values"),
        ("workload.zipf=", "no option with values"),
        ("a=2..1", "the first value must be below the second"),
        ("a=1..1", "the first value must be below the second"),
        ("a=0..1 log", "both values must be above 0"),
        ("a=0.5..1 int", "both values must be whole numbers"),
        ("a=1..2 linear", "'1..2 linear' is no range"),
        ("a=1..", "is no range"),
    ],
)
def test_wrong_axis_gets_a_sentence(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        axes.parse(text)


@pytest.mark.parametrize("axis", [ZIPF, RATE, SERVERS])
def test_ends_belong_to_a_range_and_shares_are_of_its_scale(axis: Range) -> None:
    assert (axis.at(0), axis.at(1)) == (axis.low, axis.high)
    for share in (0.0, 0.25, 0.5, 1.0):
        assert axis.share(axis.at(share)) == pytest.approx(share, abs=0.05)


def test_grid_has_all_of_lists_and_as_many_of_ranges_as_fit() -> None:
    points = samplers.grid([MIX, ZIPF], 12, 0)
    assert len(points) == 12
    assert {point["workload.mix"] for point in points} == set(MIX.values)
    assert sorted({point["workload.zipf"] for point in points}) == [0.5, 0.733333, 0.966667, 1.2]
    # At least the ends, also of too many axes.
    assert len(samplers.grid([ZIPF, RATE], 1, 0)) == 4


@pytest.mark.parametrize("name", ["random", "sobol"])
def test_draws_are_inside_and_depend_on_the_seed_alone(name: str) -> None:
    draw = samplers.SAMPLERS[name]
    points = draw([ZIPF, RATE, SERVERS, MIX], 64, 7)
    assert len(points) == 64
    assert (
        points == draw([ZIPF, RATE, SERVERS, MIX], 64, 7) != draw([ZIPF, RATE, SERVERS, MIX], 64, 8)
    )
    for point in points:
        assert 0.5 <= point["workload.zipf"] <= 1.2
        assert 1e4 <= point["workload.arrivals.rate"] <= 1e6
        assert point["lab.servers"] in range(4, 65)
        assert point["workload.mix"] in MIX.values


def test_sobol_points_leave_smaller_gaps_than_random_ones() -> None:
    def gap(name: str) -> float:
        points = samplers.SAMPLERS[name]([ZIPF], 64, 1)
        found: list[float] = sorted(it["workload.zipf"] for it in points)
        return max(after - before for before, after in itertools.pairwise(found))

    assert gap("sobol") < 0.5 * gap("random")


def test_points_that_are_equal_are_one() -> None:
    assert len(samplers.uniform([Range("lab.servers", 1, 3, integer=True)], 50, 1)) == 3


def test_best_point_of_a_known_function_is_found() -> None:
    best = Best([RATE, SERVERS], maximise=False, seed=1)
    found = []
    for _ in range(30):
        points = best.following(4)
        values = [
            (math.log(it["workload.arrivals.rate"] / 1e5) ** 2 + abs(it["lab.servers"] - 16))
            for it in points
        ]
        best.told([None, *values[1:]])  # a point without a value is none
        found += values[1:]
    assert min(found) < 1.0


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *others: Any) -> Any:
        if name.split(".")[0] in ("optuna", "scipy"):
            raise ModuleNotFoundError(name)
        return real(name, *others)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(NetkvError, match=r"'sobol' needs SciPy.*Install netkv\[search\]"):
        samplers.sobol([ZIPF], 4, 1)
    with pytest.raises(NetkvError, match=r"'tpe' needs Optuna.*Install netkv\[search\]"):
        Best([ZIPF], maximise=True, seed=1)
