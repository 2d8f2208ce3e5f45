"""The model of a scenario's progress, with runs and a clock that are made up."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence

import pytest

from netkv.scenarios.schedule import Schedule, State, Step

Phases = Mapping[str, float]
TICK = 0.25
WITHOUT_FRACTION = ("starting", "drain", "verify")
RUN: Phases = {"starting": 2, "preload": 4, "warmup": 5, "measure": 20, "verify": 1}


def execute(
    expected: Sequence[Phases], actual: Sequence[Phases], jobs: int = 1
) -> Iterator[tuple[float, State]]:
    """Executes runs whose phases take `actual` seconds; yields the time and each state."""
    schedule = Schedule(["nocache"] * len(expected), expected, jobs)
    steps: list[tuple[float, int, Step]] = []
    free = [100.0] * jobs
    for index, phases in enumerate(actual):
        now = free[0]
        for phase, seconds in phases.items():
            at = 0.0
            while at < seconds:
                share = None if phase in WITHOUT_FRACTION else at / seconds
                steps.append((now + at, index, Step(index, phase, share)))
                at += TICK
            now += seconds
        steps.append((now, index, Step(index, "done")))
        heapq.heapreplace(free, now)
    yield 100.0, schedule.state(100.0)
    for now, _, step in sorted(steps, key=lambda each: each[:2]):
        schedule.step(now, step)
        yield now, schedule.state(now)


def slower(phases: Phases, factor: float) -> Phases:
    return {phase: seconds * factor for phase, seconds in phases.items()}


Case = tuple[Sequence[Phases], Sequence[Phases], int]
CASES: dict[str, Case] = {
    "as expected": ([RUN] * 4, [RUN] * 4, 1),
    "two at a time": ([RUN] * 5, [RUN] * 5, 2),
    "three times as slow": ([RUN] * 4, [slower(RUN, 3)] * 4, 1),
    "much faster": ([RUN] * 4, [slower(RUN, 0.2)] * 4, 2),
    "one slow run": ([RUN] * 4, [RUN, RUN, slower(RUN, 5), RUN], 1),
    "phases that were not expected": ([{"measure": 10}] * 2, [RUN] * 2, 1),
    "one run": ([RUN], [RUN], 1),
    "more jobs than runs": ([RUN] * 2, [slower(RUN, 2)] * 2, 8),
}


@pytest.mark.parametrize("case", CASES)
def test_share_never_decreases_and_is_1_at_the_end_only(case: str) -> None:
    states = [state for _, state in execute(*CASES[case])]
    shares = [state.fraction for state in states]
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert all(share < 1 for share in shares[:-1])
    last = states[-1]
    assert (last.fraction, last.left_seconds, last.phase) == (1, 0, "done")
    assert (last.done, last.runs) == (last.total, ())
    for index in range(last.total):
        own = [run.share for state in states for run in state.runs if run.index == index]
        assert own == sorted(own)
        assert own[-1] > 0.8


@pytest.mark.parametrize("case", CASES)
def test_time_left_is_right_for_the_second_half(case: str) -> None:
    """Whatever was expected: half-way, the time left is known to a quarter of the whole time."""
    seen = list(execute(*CASES[case]))
    began, end = seen[0][0], seen[-1][0]
    for now, state in seen:
        # The speed of a slow run is that of the next one, until the next one shows its own.
        new_run = case == "one slow run" and state.done == 3 and end - now > 16
        if now - began > (end - began) / 2 and not new_run:
            assert state.left_seconds == pytest.approx(end - now, abs=(end - began) / 4), now


def test_exact_expectations_give_exact_times() -> None:
    for now, state in execute([RUN] * 4, [RUN] * 4):
        assert state.left_seconds == pytest.approx(100 + 4 * 32 - now, abs=0.5)
        assert state.fraction == pytest.approx((now - 100) / (4 * 32), abs=0.01)


def test_slow_run_shows_while_it_is_in_progress() -> None:
    """The estimate grows with the time that a run takes, and not only when it has ended."""
    seen = dict(execute([RUN] * 2, [slower(RUN, 10), RUN]))
    # Expected: 58 s. The first run is a fifth into its measured part.
    assert seen[100 + 10 * (2 + 4 + 5 + 4)].left_seconds > 3 * 58


def test_phase_that_is_overdue_is_not_said_to_end_at_once() -> None:
    """A start that takes minutes, because something is built, does not show 0 s all the time."""
    schedule = Schedule(["nocache"], [{"starting": 1.0, "measure": 5.0}], 1)
    schedule.step(0, Step(0, "starting"))
    assert schedule.state(0.5).left_seconds == pytest.approx(5.5)
    assert schedule.state(61.0).left_seconds == pytest.approx(5 + 15)
    assert schedule.state(61.0).fraction < 0.2


def test_slow_phase_does_not_slow_down_phases_of_another_kind() -> None:
    """A rack that starts slowly has a load of the same length."""
    actual = {**RUN, "starting": 10}
    *_, (now, state) = (each for each in execute([RUN], [actual]) if each[1].phase == "preload")
    assert state.left_seconds == pytest.approx(100 + 40 - now, abs=1)


def test_stored_and_failed_runs_say_nothing_about_the_speed() -> None:
    schedule = Schedule(["nocache"] * 4, [RUN] * 4, 1)
    schedule.step(0.0, Step(0, "known"))
    schedule.step(0.0, Step(1, "measure", 0.0))
    schedule.step(1.0, Step(1, "measure", 0.05))
    # It fails after a twentieth of the measured part, at the expected speed.
    schedule.step(1.0, Step(1, "stopping"))
    schedule.step(1.0, Step(1, "done"))
    state = schedule.state(1.0)
    assert (state.done, state.total) == (2, 4)
    assert state.left_seconds == pytest.approx(2 * 32)


def test_state_describes_the_runs_in_progress() -> None:
    schedule = Schedule(["nocache", "netcache", "netcache"], [RUN] * 3, 2)
    assert schedule.state(0.0).phase == "waiting"
    schedule.step(0.0, Step(0, "starting"))
    schedule.step(0.0, Step(1, "preload", 0.25))
    assert [run.text for run in schedule.state(1.0).runs] == ["starting", "filling the cache"]
    schedule.step(1.0, Step(0, "measure", 0.5, ("spine-0", "spine-1")))
    schedule.step(1.0, Step(1, "measure", 0.5, ("switch",)))
    state = schedule.state(1.0)
    assert [run.text for run in state.runs] == [
        "measuring, spine-0 and spine-1 recover",
        "measuring, switch recovers",
    ]
    document = state.document(updated_at=7.0)
    assert (document["phase"], document["updated_at"]) == ("measure", 7.0)
    assert (document["done"], document["total"]) == (0, 3)
    first = document["runs"][0]
    assert (first["index"], first["scheme"], first["phase"]) == (0, "nocache", "measure")
    assert (first["fraction"], first["recovering"]) == (0.5, ["spine-0", "spine-1"])
