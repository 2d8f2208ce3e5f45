"""Runs scenarios: every scheme at every sweep point with all repeats, then the thresholds.

Several simulated scenarios have one pool of runs, longest first, so that no core waits for the last
run of one while the next one could begin.

A failed run is stored with its reason, and the others still run. When a scenario is interrupted
(task cancelled, Ctrl-C), it stops its racks, stores their runs as cancelled, and re-raises the
cancellation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from netkv.errors import UsageError
from netkv.executors.executor import Executor
from netkv.executors.processes import Processes
from netkv.live import state
from netkv.scenarios import capacity, packed, thresholds
from netkv.scenarios.execution import Execution, Progress
from netkv.scenarios.model import Scenario
from netkv.scenarios.results import RunResult, RunSink, RunStart, ScenarioResult
from netkv.scenarios.run_plan import PlannedRun, Point, plan
from netkv.scenarios.schedule import State, Step
from netkv.scenarios.start import Hashes, describe, same_result
from netkv.scenarios.timeline import check_live
from netkv.scenarios.tracker import Tracker
from netkv.scenarios.units import run_units


@dataclass(frozen=True)
class Job:
    """A scenario to run."""

    scenario: Scenario
    sink: RunSink | None = None
    expected: Sequence[Mapping[str, float]] | None = None
    """The seconds of each phase of each planned run (`netkv.runs.walltime.phases_of_runs`); without
    it, runs count by the lengths of their loads."""
    memory: Sequence[int | None] | None = None
    """The bytes of memory that each planned run needs (`netkv.runs.walltime.memory_of_runs`)."""
    points: Sequence[Point] | None = None
    """Points instead of those of the scenario's sweep."""


async def run_scenario(
    scenario: Scenario,
    *,
    sink: RunSink | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    finished: Callable[[RunStart], RunResult | None] | None = None,
    jobs: int = 1,
    executor: Executor | None = None,
    expected: Sequence[Mapping[str, float]] | None = None,
    memory: Sequence[int | None] | None = None,
    points: Sequence[Point] | None = None,
    on_state: Callable[[State], None] = lambda _: None,
) -> ScenarioResult:
    """Runs a scenario; a failed run or a missed threshold is in the result, not raised.

    `finished` returns the result of a simulated run if there is one already. Such a run is not
    repeated, since its id is a hash of everything that determines the result; the sink adopts it.

    With more than one of `jobs`, so many simulated runs are executed at a time, each in a process;
    if there are fewer runs, each has several threads. With an `executor`, simulated runs are
    executed there instead. Live runs are executed here one after the other, since they would
    compete for the machine.

    `on_state` is called several times a second with how far the scenario is.

    `points` are executed instead of those of the scenario's sweep.

    Raises `UsageError` for a scenario that cannot run, and `CancelledError` when interrupted.
    """
    found: list[ScenarioResult] = []
    await run_scenarios(
        [Job(scenario, sink, expected, memory, points)],
        lambda _, result: found.append(result),
        on_progress=on_progress,
        finished=finished,
        processes=jobs,
        executor=executor,
        on_state=on_state,
    )
    return found[0]


async def run_scenarios(
    jobs: Sequence[Job],
    on_result: Callable[[int, ScenarioResult], None],
    *,
    on_progress: Callable[[Progress], None] = lambda _: None,
    finished: Callable[[RunStart], RunResult | None] | None = None,
    processes: int = 1,
    executor: Executor | None = None,
    on_state: Callable[[State], None] = lambda _: None,
) -> None:
    """As `run_scenario`, for scenarios in one pool; several must be simulated.

    `on_result` gets the number of a scenario and its result as soon as its last run has ended. A
    run that two scenarios have in common is executed once. `on_state` tells of all together.
    """
    state.sweep()
    live = any(job.scenario.mode == "live" for job in jobs)
    together = len(jobs) > 1 or executor is not None or processes > 1
    pool = _Pool(jobs, on_result, longest_first=together and not live)
    for item in pool.planned:
        if item.scenario.mode == "live":
            check_live(item.scenario)
    if live and executor is not None:
        raise UsageError(
            f"Live runs are executed on this machine, not on {executor.name}: choose '--mode sim', "
            f"or leave out '--on'."
        )
    count = len(pool.needed)
    width = executor.width if executor is not None else 1 if live else processes
    width = min(width, count)
    with ExitStack() as opened:
        threads = 1
        if executor is None:
            threads = max(processes // width, 1)
            if width > 1:
                executor = opened.enter_context(Processes(width))
        tracked = pool.trackers(width, on_state, executor)
        runs = _unknown(pool, finished, on_progress, tracked)
        if executor is not None:
            await run_units(
                executor,
                runs,
                len(pool.planned),
                threads=threads,
                sink=pool.sink,
                memory=pool.memory,
                on_progress=on_progress,
                on_result=lambda index, result: pool.ended(index, result, tracked),
                on_step=tracked.step,
            )
            return
        for index, planned in runs:
            execution = Execution(
                planned,
                index,
                len(pool.planned),
                pool.sink(index),
                on_progress,
                tracked.step,
                threads=threads,
            )
            pool.ended(index, await execution.run(), tracked)


def _unknown(
    pool: _Pool,
    finished: Callable[[RunStart], RunResult | None] | None,
    on_progress: Callable[[Progress], None],
    tracked: _Trackers,
) -> Iterator[tuple[int, PlannedRun]]:
    """The runs to execute, in their order, with their numbers; the others are ended."""
    hashes = Hashes()
    for index in pool.needed:
        planned = pool.planned[index]
        if finished is None or planned.scenario.mode == "live":
            yield index, planned
            continue
        known = None
        if (program_hash := hashes.of(planned)) is not None:
            start = describe(planned, program_hash)
            known = finished(start)
        if known is None:
            yield index, planned
            continue
        if (sink := pool.sink(index)) is not None:
            sink.adopt(known.id)
        total = start.warmup + start.duration
        on_progress(Progress(start, index, len(pool.planned), "known", total, total))
        tracked.step(Step(index, "known"))
        pool.ended(index, known, tracked)


@dataclass
class _Scenario:
    """A scenario of the pool, and which of the pool's runs are its own."""

    job: Job
    first: int
    count: int
    results: dict[int, bytes | RunResult] = field(default_factory=dict)
    """By their numbers; those of many runs are packed."""

    def keep(self, index: int, result: RunResult) -> None:
        """Takes a result."""
        many = self.count > packed.FROM
        self.results[index] = packed.packed(result) if many else result

    def runs(self) -> Sequence[RunResult]:
        """The results, in the order of the plan."""
        found = [self.results[index] for index in sorted(self.results)]
        if self.count > packed.FROM:
            return packed.PackedRuns([each for each in found if isinstance(each, bytes)])
        return [each for each in found if isinstance(each, RunResult)]


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

    def failed(self, index: int, result: RunResult) -> None:
        """Takes that a run has failed."""
        own = next(each for first, each in reversed(self._each) if first <= index)
        for each in dict.fromkeys((own, self._whole)):
            each.failed(result.scheme, result.reason or "")


class _Pool:
    """The runs of all scenarios."""

    def __init__(
        self,
        jobs: Sequence[Job],
        on_result: Callable[[int, ScenarioResult], None],
        *,
        longest_first: bool,
    ) -> None:
        self._on_result = on_result
        self._scenarios: list[_Scenario] = []
        self.planned: list[PlannedRun] = []
        for job in jobs:
            own = plan(job.scenario, job.points)
            self._scenarios.append(_Scenario(job, len(self.planned), len(own)))
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
        if longest_first:
            self.needed.sort(key=self._seconds, reverse=True)

    def _of(self, index: int) -> _Scenario:
        return next(each for each in reversed(self._scenarios) if each.first <= index)

    def _seconds(self, index: int) -> float:
        own = self._of(index)
        if own.job.expected is None:
            return self.planned[index].scenario.warmup + self.planned[index].scenario.duration
        return math.fsum(own.job.expected[index - own.first].values())

    def memory(self, index: int) -> int | None:
        """The bytes of memory that a run needs, if they are known."""
        own = self._of(index)
        return None if own.job.memory is None else own.job.memory[index - own.first]

    def sink(self, index: int) -> RunSink | None:
        """The sink of a run."""
        return self._of(index).job.sink

    def trackers(
        self, width: int, on_state: Callable[[State], None], executor: Executor | None
    ) -> _Trackers:
        """For so many runs at a time."""
        if len(self._scenarios) == 1:
            job = self._scenarios[0].job
            whole = Tracker(self.planned, job.expected, width, job.sink, on_state, executor)
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
                    executor,
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
        return _Trackers(Tracker(self.planned, expected, width, None, on_state, executor), each)

    def ended(self, index: int, result: RunResult, tracked: _Trackers) -> None:
        """A run has ended; with the last one of a scenario, that has."""
        if result.status == "failed":
            tracked.failed(index, result)
        for each in (index, *self._copies.get(index, ())):
            if each != index:
                tracked.step(Step(each, "known"))
            own = self._of(each)
            own.keep(each, result)
            if len(own.results) == own.count:
                self._on_result(self._scenarios.index(own), _concluded(own))
                own.results.clear()


def _concluded(own: _Scenario) -> ScenarioResult:
    """The result of a scenario whose runs have ended, with the verdicts on its thresholds."""
    scenario, sink = own.job.scenario, own.job.sink
    results = own.runs()
    expressions = [thresholds.compile_expression(e, scenario.schemes) for e in scenario.expect]
    verdicts = thresholds.evaluate(expressions, results)
    if sink is not None:
        sink.verdict([result.id for result in results], verdicts)
    result = ScenarioResult(
        scenario=scenario.name,
        title=scenario.title or scenario.name,
        mode=scenario.mode,
        target=scenario.lab.target,
        seed=scenario.seed,
        runs=[],
        summary=thresholds.summarise(results),
        thresholds=verdicts,
        warnings=capacity.warnings(scenario),
    )
    return result.model_copy(update={"runs": results})  # not validated: they may be packed
