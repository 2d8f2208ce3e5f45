"""The edge of a condition along a range."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from netkv.studies.axes import Range
from netkv.studies.edge import Edge

RATE = Range("workload.arrivals.rate", 100_000, 1_000_000)


def found(edge: Edge, holds: Callable[[float], bool], count: int) -> int:
    """Searches to the end; returns the number of rounds."""
    rounds = 0
    while not edge.over():
        rounds += 1
        assert rounds < 100
        values = edge.following(count)
        assert values
        assert not set(values) & set(edge.held)
        edge.told({value: holds(value) for value in values})
    return rounds


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("threshold", [100_000.5, 123_456.0, 560_000.0, 999_999.0])
def test_edge_is_found_as_exactly_as_asked(threshold: float, count: int, log: bool) -> None:
    edge = Edge(Range("rate", 100_000, 1_000_000, log=log), within=0.01)
    found(edge, lambda value: value <= threshold, count)
    holds, fails = edge.bracket
    assert holds <= threshold < fails
    assert fails - holds <= 0.01 * fails
    assert edge.islands == []


def test_condition_may_hold_above_its_edge() -> None:
    edge = Edge(RATE, within=0.02)
    found(edge, lambda value: value > 300_000, 1)
    holds, fails = edge.bracket
    assert fails <= 300_000 < holds


def test_more_values_at_a_time_need_fewer_rounds() -> None:
    rounds = [found(Edge(RATE, 0.001), lambda it: it < 400_000, count) for count in (1, 3, 7)]
    assert rounds[0] > rounds[1] > rounds[2]


@pytest.mark.parametrize("everywhere", [True, False])
def test_condition_without_an_edge_costs_one_round(everywhere: bool) -> None:
    edge = Edge(RATE, within=0.02)
    assert found(edge, lambda _: everywhere, 1) == 1
    assert not edge.exists
    assert edge.holds_at_low is everywhere


def test_whole_numbers_end_side_by_side() -> None:
    edge = Edge(Range("lab.servers", 1, 40, integer=True), within=0.0001)
    found(edge, lambda value: value <= 17, 1)
    assert edge.bracket == (17, 18)


def test_values_beyond_the_edge_at_which_it_holds_are_told() -> None:
    edge = Edge(RATE, within=0.02)
    found(edge, lambda value: value < 250_000 or 500_000 < value < 700_000, 9)
    holds, fails = edge.bracket
    assert holds < 250_000 <= fails
    assert edge.islands
    assert all(500_000 < value < 700_000 for value in edge.islands)
