"""What all executors have in common: processes of this machine, and workers of a cluster."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import CancelledError, wait
from pathlib import Path

import pytest

from netkv.errors import UsageError
from netkv.executors import own_cluster, processes
from netkv.executors.executor import Executor, UnitCrashedError, WorkerDiedError
from netkv.executors.processes import Processes
from tests.executors import units
from tests.waiting import PATIENCE_S, until


@pytest.fixture(scope="module", params=["processes", "cluster"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """Two workers."""
    with Processes(2) if request.param == "processes" else own_cluster.local(2) as opened:
        yield opened


def test_results_come_after_what_was_told(executor: Executor) -> None:
    told: list[list[str]] = [[] for _ in range(20)]
    futures = [executor.submit(units.double, number, told[number].append) for number in range(20)]
    assert [each.result(PATIENCE_S) for each in futures] == [2 * it for it in range(20)]
    assert told == [[f"{number} is doubled", "now"] for number in range(20)]


def test_error_of_the_user_is_the_same_elsewhere(executor: Executor) -> None:
    with pytest.raises(UsageError, match=r"^7 is refused\.$"):
        executor.submit(units.refuse, 7).result(PATIENCE_S)


def test_internal_error_has_its_traceback(executor: Executor) -> None:
    with pytest.raises(UnitCrashedError, match=r"(?s)ZeroDivisionError.*break_down"):
        executor.submit(units.break_down, 7).result(PATIENCE_S)


def test_unit_that_kills_its_process_fails_and_others_do_not(executor: Executor) -> None:
    deadly = executor.submit(units.die, None)
    others = [executor.submit(units.double, number) for number in range(10)]
    with pytest.raises(WorkerDiedError, match=r"^Its process .*ended"):
        deadly.result(PATIENCE_S)
    assert [each.result(PATIENCE_S) for each in others] == [2 * it for it in range(10)]


def test_waiting_unit_is_cancelled(executor: Executor, tmp_path: Path) -> None:
    busy = [executor.submit(units.sleep, tmp_path / str(number)) for number in range(2)]
    until(lambda: all((tmp_path / f"{it}.begun").exists() for it in range(2)), "both have begun")
    waiting = executor.submit(units.sleep, tmp_path / "2")
    executor.interrupt(waiting)
    with pytest.raises(CancelledError):
        waiting.result(PATIENCE_S)
    for each in busy:
        executor.interrupt(each)
    wait(busy, PATIENCE_S)
    until(lambda: all((tmp_path / f"{it}.ended").exists() for it in range(2)), "both have ended")
    assert not (tmp_path / "2.begun").exists()
    assert executor.submit(units.double, 1).result(PATIENCE_S) == 2


def test_workers_are_listed(executor: Executor) -> None:
    assert executor.submit(units.double, 1).result(PATIENCE_S) == 2
    until(lambda: executor.workers(), "a worker is there")
    assert all(each.refused is None for each in executor.workers())
    assert executor.width == 2


def test_discarded_unit_ends_with_its_process(tmp_path: Path) -> None:
    with Processes(1) as executor:
        future = executor.submit(units.sleep, tmp_path / "long")
        until(lambda: (tmp_path / "long.begun").exists(), "it has begun")
        executor.discard(future)
        with pytest.raises(WorkerDiedError):
            future.result(PATIENCE_S)
        assert executor.submit(units.double, 4).result(PATIENCE_S) == 8
        assert not (tmp_path / "long.ended").exists()


def test_nothing_is_left_after_the_end(tmp_path: Path) -> None:
    others = multiprocessing.active_children()  # of a cluster of this module
    executor = Processes(2)
    busy = executor.submit(units.sleep, tmp_path / "long")
    waiting = [executor.submit(units.double, number) for number in range(100)]
    until(lambda: (tmp_path / "long.begun").exists(), "it has begun")
    executor.close()
    assert all(each.done() for each in (busy, *waiting))
    assert set(multiprocessing.active_children()) <= set(others)


def test_units_begin_where_their_memory_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(processes, "usable_memory", lambda: 1000)
    with Processes(3) as executor:
        first = executor.submit(units.sleep, tmp_path / "first", memory=600)
        large = executor.submit(units.double, 1, memory=600)
        until(lambda: (tmp_path / "first.begun").exists(), "the first has begun")
        assert not large.running()
        executor.interrupt(first)
        assert large.result(PATIENCE_S) == 2
        # One that needs more than there is has the machine for itself.
        assert executor.submit(units.double, 2, memory=5000).result(PATIENCE_S) == 4


def test_unit_that_needs_more_memory_than_any_worker_has_is_executed() -> None:
    with own_cluster.local(2) as cluster:
        assert cluster.submit(units.double, 2, memory=1 << 60).result(PATIENCE_S) == 4
        futures = [cluster.submit(units.double, it, memory=1 << 20) for it in range(8)]
        assert [each.result(PATIENCE_S) for each in futures] == [2 * it for it in range(8)]
