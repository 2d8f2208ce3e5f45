"""A short command spends no time on garbage, and a long one does not keep it."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from netkv.cli import garbage


@pytest.fixture
def usual() -> Iterator[tuple[int, ...]]:
    """The thresholds of a new process; afterwards the collector is as before. Another test may have
    run a command in this process."""
    before, callbacks = gc.get_threshold(), list(gc.callbacks)
    gc.callbacks.clear()
    gc.set_threshold(700, 10, 10)
    yield gc.get_threshold()
    gc.callbacks[:] = callbacks
    gc.set_threshold(*before)


def cycles(number: int) -> None:
    for _ in range(number):
        made: list[object] = []
        made.append(made)


def collections() -> int:
    return sum(each["collections"] for each in gc.get_stats())


def test_few_objects_are_not_collected(usual: tuple[int, ...]) -> None:
    gc.collect()
    garbage.defer()
    before = collections()
    cycles(10 * usual[0])
    assert collections() == before


def test_collector_is_as_usual_after_its_first_time(usual: tuple[int, ...]) -> None:
    """With the first threshold, 1,000 virtual seconds took twice the memory of 100."""
    gc.collect()
    garbage.defer()
    garbage.defer()  # as when a process runs two commands
    cycles(110_000)
    assert gc.get_threshold() == usual
    before = collections()
    cycles(10 * usual[0])
    assert collections() > before
