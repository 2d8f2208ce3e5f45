"""The times of samples depend on the length of the phase alone."""

from __future__ import annotations

import pytest

from netkv.scenarios.sample_times import SampleTimes, edges


def times(seconds: float, **more: bool) -> list[float]:
    """The times that all samples get if each is taken at its time."""
    grid = SampleTimes(seconds, **more)
    found = []
    while (due := grid.next) is not None:
        assert grid.pass_until(due) == due
        found += grid.place([due])
    assert grid.complete
    return found


@pytest.mark.parametrize(
    ("seconds", "measured", "warmup"),
    [
        (3, [1, 2, 3], [-2, -1, 0]),
        (2.3, [1, 2.3], [-1, 0]),
        (2.75, [1, 2, 2.75], [-2, -1, 0]),
        (0.5, [0.5], [0]),
        (1.4, [1.4], [0]),
    ],
)
def test_times_are_whole_seconds_of_the_measured_part(
    seconds: float, measured: list[float], warmup: list[float]
) -> None:
    assert times(seconds) == measured
    assert times(seconds, of_warmup=True) == warmup


@pytest.mark.parametrize(
    ("warmup", "duration", "expected"),
    [(0, 2, [0, 1, 2]), (0.5, 2.3, [-0.5, 0, 1, 2.3]), (2.3, 0.4, [-2.3, -1, 0, 0.4])],
)
def test_edges_are_the_beginning_and_all_times(
    warmup: float, duration: float, expected: list[float]
) -> None:
    assert edges(warmup, duration) == pytest.approx(expected)


def test_sample_that_is_taken_a_little_late_has_its_time() -> None:
    grid = SampleTimes(5)
    grid.pass_until(1.0)
    assert grid.place([1.004]) == [1]
    grid.pass_until(2.2)
    assert grid.place([2.2]) == [2]


def test_time_without_a_sample_is_a_gap() -> None:
    grid = SampleTimes(5)
    grid.pass_until(1.0)
    assert grid.place([1.0]) == [1]
    grid.pass_until(3.9)
    assert grid.next == 4
    grid.pass_until(4.0)
    assert grid.place([4.0]) == [4]


@pytest.mark.parametrize(("answered", "time"), [(2.3, 2), (4.6, 4), (4.95, 4), (3.1, 3)])
def test_late_answer_has_the_nearest_time_without_a_sample(answered: float, time: float) -> None:
    grid = SampleTimes(9)
    grid.pass_until(1.0)
    assert grid.place([1.0]) == [1]
    for due in (2.0, 3.0, 4.0):
        grid.pass_until(due)
        assert grid.place([]) == []
    grid.pass_until(5.0)
    assert grid.place([answered, 5.01]) == [time, 5]
    assert not grid.complete
