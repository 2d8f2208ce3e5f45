"""Runs scenarios: every scheme at every sweep point with all repeats, then the thresholds.

Several simulated scenarios have one pool of runs, longest first, so that no core waits for the last
run of one while the next one could begin.

A failed run is stored with its reason, and the others still run. When a scenario is interrupted
(task cancelled, Ctrl-C), it stops its racks, stores their runs as cancelled, and re-raises the
cancellation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from netkv.live import state
from netkv.scenarios import capacity, thresholds
from netkv.scenarios.execution import Execution, Progress, same_result
from netkv.scenarios.model import Scenario
from netkv.scenarios.results import RunResult, RunSink, ScenarioResult
from netkv.scenarios.run_plan import PlannedRun, plan
from netkv.scenarios.run_processes import run_in_processes
from netkv.scenarios.schedule import State, Step
from netkv.scenarios.timeline import check_live
from netkv.scenarios.tracker import Tracker


@dataclass(frozen=True)
class Job:
    """A scenario to run."""

    scenario: Scenario
    sink: RunSink | None = None
    expected: Sequence[Mapping[str, float]] | None = None
    """The seconds of each phase of each planned run (`netkv.runs.walltime.phases_of_runs`); without
    it, runs count by the lengths of their loads."""


async def run_scenario(
    scenario: Scenario,
    *,
    sink: RunSink | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    finished: Callable[[str], RunResult | None] = lambda _: None,
    jobs: int = 1,
    expected: Sequence[Mapping[str, float]] | None = None,
    on_state: Callable[[State], None] = lambda _: None,
) -> ScenarioResult:
    """Runs a scenario; a failed run or a missed threshold is in the result, not raised.

    `finished` returns the stored result of a simulated run by its id, if there is one. Such a run
    is not repeated, since its id is a hash of everything that determines the result.

    With more than one of `jobs`, so many simulated runs are executed at a time, each in a process;
    if there are fewer runs, each has several threads. Live runs are executed one after the other,
    since they would compete for the machine.

    `on_state` is called several times a second with how far the scenario is.

    Raises `UsageError` for a scenario that cannot run, and `CancelledError` when interrupted.
    """
    found: list[ScenarioResult] = []
    await run_scenarios(
        [Job(scenario, sink, expected)],
        lambda _, result: found.append(result),
        on_progress=on_progress,
        finished=finished,
        processes=jobs,
        on_state=on_state,
    )
    return found[0]


async def run_scenarios(
    jobs: Sequence[Job],
    on_result: Callable[[int, ScenarioResult], None],
    *,
    on_progress: Callable[[Progress], None] = lambda _: None,
    finished: Callable[[str], RunResult | None] = lambda _: None,
    processes: int = 1,
    on_state: Callable[[State], None] = lambda _: None,
) -> None:
    """As `run_scenario`, for scenarios in one pool; several must be simulated.

    `on_result` gets the number of a scenario and its result as soon as its last run has ended. A
    run that two scenarios have in common is executed once. `on_state` tells of all together.
    """
    state.sweep()
    pool = _Pool(jobs, on_result)
    planned = pool.planned
    live = any(each.scenario.mode == "live" for each in planned)
    for item in planned:
        if item.scenario.mode == "live":
            check_live(item.scenario)
    needed = pool.needed
    width = 1 if live else min(processes, len(needed))
    threads = max(processes // width, 1)
    step = pool.trackers(width, on_state).step
    if width > 1:
        await run_in_processes(
            [planned[index] for index in needed],
            width,
            threads=threads,
            sinks=[pool.sink(index) for index in needed],
            on_progress=on_progress,
            finished=finished,
            on_step=lambda found: step(replace(found, index=needed[found.index])),
            on_result=lambda at, result: pool.ended(needed[at], result, step),
        )
        return
    for index in needed:
        execution = Execution(
            planned[index],
            index,
            len(planned),
            pool.sink(index),
            on_progress,
            finished,
            step,
            threads=threads,
        )
        pool.ended(index, await execution.run(), step)


@dataclass
class _Scenario:
    """A scenario of the pool, and which of the pool's runs are its own."""

    job: Job
    first: int
    results: dict[int, RunResult] = field(default_factory=dict)
    count: int = 0


class _Trackers:
    """Tells how far all scenarios are, and the store of each how far it is."""

    def __init__(self, whole: Tracker, each: Sequence[tuple[int, Tracker]]) -> None:
        self._whole = whole
        self._each = each

    def step(self, found: Step) -> None:
        first, own = next(pair for pair in reversed(self._each) if pair[0] <= found.index)
        if own is not self._whole:
            own.step(replace(found, index=found.index - first))
        self._whole.step(found)


class _Pool:
    """The runs of all scenarios."""

    def __init__(
        self, jobs: Sequence[Job], on_result: Callable[[int, ScenarioResult], None]
    ) -> None:
        self._on_result = on_result
        self._scenarios: list[_Scenario] = []
        self.planned: list[PlannedRun] = []
        for job in jobs:
            own = plan(job.scenario)
            self._scenarios.append(_Scenario(job, len(self.planned), count=len(own)))
            self.planned += own
        first: dict[str, int] = {}
        self._copies: dict[int, list[int]] = {}
        """The runs with the same result as another one, by that."""
        for index, item in enumerate(self.planned):
            like = index if len(jobs) == 1 else first.setdefault(same_result(item), index)
            if like != index:
                self._copies.setdefault(like, []).append(index)
        copies = {index for found in self._copies.values() for index in found}
        self.needed = [index for index in range(len(self.planned)) if index not in copies]
        """The runs that are executed, in their order."""
        if len(jobs) > 1:
            self.needed.sort(key=self._seconds, reverse=True)

    def _of(self, index: int) -> _Scenario:
        return next(each for each in reversed(self._scenarios) if each.first <= index)

    def _seconds(self, index: int) -> float:
        own = self._of(index)
        if own.job.expected is None:
            return self.planned[index].scenario.warmup + self.planned[index].scenario.duration
        return math.fsum(own.job.expected[index - own.first].values())

    def sink(self, index: int) -> RunSink | None:
        """The sink of a run."""
        return self._of(index).job.sink

    def trackers(self, width: int, on_state: Callable[[State], None]) -> _Trackers:
        """For so many runs at a time."""
        if len(self._scenarios) == 1:
            job = self._scenarios[0].job
            whole = Tracker(self.planned, job.expected, width, job.sink, on_state)
            return _Trackers(whole, [(0, whole)])
        each = [
            (
                own.first,
                Tracker(
                    self.planned[own.first : own.first + own.count],
                    own.job.expected,
                    width,
                    own.job.sink,
                    lambda _: None,
                ),
            )
            for own in self._scenarios
        ]
        known = [own.job.expected for own in self._scenarios]
        expected = (
            [phases for found in known if found is not None for phases in found]
            if None not in known
            else None
        )
        return _Trackers(Tracker(self.planned, expected, width, None, on_state), each)

    def ended(self, index: int, result: RunResult, on_step: Callable[[Step], None]) -> None:
        """A run has ended; with the last one of a scenario, that has."""
        for each in (index, *self._copies.get(index, ())):
            if each != index:
                on_step(Step(each, "known"))
            own = self._of(each)
            own.results[each] = result
            if len(own.results) == own.count:
                self._on_result(self._scenarios.index(own), _concluded(own))
                own.results.clear()


def _concluded(own: _Scenario) -> ScenarioResult:
    """The result of a scenario whose runs have ended, with the verdicts on its thresholds."""
    scenario, sink = own.job.scenario, own.job.sink
    results = [own.results[index] for index in sorted(own.results)]
    expressions = [thresholds.compile_expression(e, scenario.schemes) for e in scenario.expect]
    verdicts = thresholds.evaluate(expressions, results)
    if sink is not None:
        sink.verdict([result.id for result in results], verdicts)
    return ScenarioResult(
        scenario=scenario.name,
        title=scenario.title or scenario.name,
        mode=scenario.mode,
        target=scenario.lab.target,
        seed=scenario.seed,
        runs=results,
        summary=thresholds.summarise(results),
        thresholds=verdicts,
        warnings=capacity.warnings(scenario),
    )
