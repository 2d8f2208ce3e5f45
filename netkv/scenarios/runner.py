"""Runs scenarios: every scheme at every sweep point with all repeats, then the thresholds.

A failed run is stored with its reason, and the others still run. When a scenario is interrupted
(task cancelled, Ctrl-C), it stops its racks, stores their runs as cancelled, and re-raises the
cancellation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from netkv.live import state
from netkv.scenarios import capacity, thresholds
from netkv.scenarios.execution import Execution, Progress
from netkv.scenarios.model import Scenario
from netkv.scenarios.results import RunResult, RunSink, ScenarioResult
from netkv.scenarios.run_plan import plan
from netkv.scenarios.run_processes import run_in_processes
from netkv.scenarios.schedule import State
from netkv.scenarios.timeline import check_live
from netkv.scenarios.tracker import Tracker


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

    `on_state` is called several times a second with how far the scenario is. `expected` has the
    seconds of each phase of each planned run (`netkv.runs.walltime.phases_of_runs`); without it,
    runs count by the lengths of their loads.

    Raises `UsageError` for a scenario that cannot run, and `CancelledError` when interrupted.
    """
    state.sweep()
    planned = plan(scenario)
    if scenario.mode == "live":
        for item in planned:
            check_live(item.scenario)
    processes = 1 if scenario.mode == "live" else min(jobs, len(planned))
    threads = max(jobs // processes, 1)
    tracker = Tracker(planned, expected, processes, sink, on_state)
    if processes > 1:
        results = await run_in_processes(
            planned,
            processes,
            threads=threads,
            sink=sink,
            on_progress=on_progress,
            finished=finished,
            on_step=tracker.step,
        )
    else:
        results = [
            await Execution(
                each,
                index,
                len(planned),
                sink,
                on_progress,
                finished,
                tracker.step,
                threads=threads,
            ).run()
            for index, each in enumerate(planned)
        ]
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
