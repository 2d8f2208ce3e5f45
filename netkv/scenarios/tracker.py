"""Passes on how far a scenario is: to the store, and to whoever shows it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from netkv.executors.executor import Executor, Worker
from netkv.scenarios.results import RunSink
from netkv.scenarios.run_plan import PlannedRun
from netkv.scenarios.schedule import Schedule, State, Step

_STORE_INTERVAL_S = 0.5
"""Seconds between two updates of the store within a phase."""
_MANY = 200
"""Runs from which on the state is computed at intervals only: of 10,000 it takes 10 ms."""
_INTERVAL_S = 0.5

_WORKERS_S = 2.0
"""Seconds after which workers are asked for again."""
_RATE_S = 60.0
"""Seconds of the rate."""
_MOST_FAILURES = 5
"""Failures whose texts are kept."""


class Tracker:
    """The schedule of a scenario that is executed now."""

    def __init__(
        self,
        planned: Sequence[PlannedRun],
        expected: Sequence[Mapping[str, float]] | None,
        jobs: int,
        sink: RunSink | None,
        on_state: Callable[[State], None],
        executor: Executor | None = None,
    ) -> None:
        """`executor`: who executes the runs; None: this process."""
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
        self._many = len(planned) > _MANY
        self._next_at = 0.0
        """When the next state is computed."""
        self._executor = executor
        self._workers: tuple[Worker, ...] = ()
        self._workers_at = 0.0
        """When it is asked for them again."""
        self._executed = 0
        self._counts: deque[tuple[float, int]] = deque([(time.monotonic(), 0)])
        """How many runs had been executed at some times of the last `_RATE_S`."""
        self._failed = 0
        self._failures: deque[str] = deque(maxlen=_MOST_FAILURES)
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
        self._executed += step.phase in ("done", "failed", "cancelled")
        if now < self._next_at and not self._schedule.over:
            return
        state = self._with_workers(now, self._schedule.state(now))
        if self._many:
            self._next_at = now + _INTERVAL_S
        changed = self._phases.get(step.index) != (step.phase, step.recovering)
        if self._sink is not None and (changed or now - self._stored_at >= _STORE_INTERVAL_S):
            self._sink.progress(state.document(time.time()))
            self._stored_at = now
        self._phases[step.index] = step.phase, step.recovering
        self._on_state(state)

    def failed(self, scheme: str, reason: str) -> None:
        """Takes that a run has failed."""
        self._failed += 1
        self._failures.append(f"{scheme}: {reason}")

    def _with_workers(self, now: float, state: State) -> State:
        """The state with what is known of who executes runs."""
        link = None
        if self._executor is not None:
            link = self._executor.link
            if now >= self._workers_at:
                self._workers_at = now + _WORKERS_S
                self._workers = tuple(self._executor.workers())
        return replace(
            state,
            rate=self._rate(now),
            failed=self._failed,
            failures=tuple(self._failures),
            workers=() if self._schedule.over else self._workers,
            link=link,
        )

    def _rate(self, now: float) -> float | None:
        since, before = self._counts[0]
        if now - self._counts[-1][0] >= 1:
            self._counts.append((now, self._executed))
            while len(self._counts) > 2 and now - self._counts[1][0] > _RATE_S:
                self._counts.popleft()
        if self._executed == before or now - since < 1:
            return None
        return (self._executed - before) / (now - since)
