"""Passes on how far a scenario is: to the store, and to whoever shows it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from netkv.scenarios.results import RunSink
from netkv.scenarios.run_plan import PlannedRun
from netkv.scenarios.schedule import Schedule, State, Step

_STORE_INTERVAL_S = 0.5
"""Seconds between two updates of the store within a phase."""


class Tracker:
    """The schedule of a scenario that is executed now."""

    def __init__(
        self,
        planned: Sequence[PlannedRun],
        expected: Sequence[Mapping[str, float]] | None,
        jobs: int,
        sink: RunSink | None,
        on_state: Callable[[State], None],
    ) -> None:
        if expected is None:
            expected = [
                {"warmup": each.scenario.warmup, "measure": each.scenario.duration}
                for each in planned
            ]
        schemes = [each.scheme for each in planned]
        self._schedule = Schedule(schemes, expected, jobs)
        self._sink = sink
        self._on_state = on_state
        self._phases: dict[int, tuple[str, tuple[str, ...]]] = {}
        """Phase and recovering switches of each run, as stored."""
        self._stored_at = 0.0
        if sink is not None:
            sink.plan(
                [
                    {"scheme": each.scheme, "params": each.params, "repeat": each.repeat}
                    for each in planned
                ]
            )

    def step(self, step: Step) -> None:
        """Takes a report of a run."""
        now = time.monotonic()
        self._schedule.step(now, step)
        state = self._schedule.state(now)
        changed = self._phases.get(step.index) != (step.phase, step.recovering)
        if self._sink is not None and (changed or now - self._stored_at >= _STORE_INTERVAL_S):
            self._sink.progress(state.document(time.time()))
            self._stored_at = now
        self._phases[step.index] = step.phase, step.recovering
        self._on_state(state)
