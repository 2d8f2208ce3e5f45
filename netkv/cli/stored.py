"""Runs a scenario for a command and stores its runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netkv.cli.output import notify

if TYPE_CHECKING:
    from netkv.runs import RunRecord, Store, StoreSink
    from netkv.runs.walltime import History
    from netkv.scenarios.model import Scenario
    from netkv.scenarios.results import ScenarioResult


@dataclass(frozen=True)
class Stored:
    """A scenario that has run."""

    result: ScenarioResult
    group: str
    """Id of its group in the store."""
    records: list[RunRecord]
    """Its runs, also if they could not be stored."""


def run_stored(
    scenario: Scenario,
    group: str | None = None,
    *,
    jobs: int,
    history: History,
    resume: bool = False,
) -> Stored:
    """Runs it with progress on stderr, and stores it.

    `jobs` simulated runs are executed at a time, each in a process if there is more than one.
    `history`: what runs on this machine have taken. With `resume`, simulated runs whose results are
    in the store are not repeated. An interrupt prints which runs were stopped and which are stored.
    If the store cannot be written meanwhile, the scenario runs to its end; `result.not_stored` says
    what is missing in the store.
    """
    import asyncio

    from netkv.cli import progress
    from netkv.runs import Store, StoreSink, walltime
    from netkv.scenarios.runner import run_scenario

    expected = walltime.phases_of_runs(scenario, history)
    with Store() as store:
        store.check_writable()
        sink = StoreSink(store, group=group, warn=notify)
        try:
            with sink, progress.scenario(scenario.title or scenario.name) as shown:
                result = asyncio.run(
                    run_scenario(
                        scenario,
                        sink=sink,
                        on_progress=shown.progress,
                        finished=store.result if resume else lambda _: None,
                        jobs=jobs,
                        expected=expected,
                        on_state=shown.state,
                    )
                )
        except KeyboardInterrupt:
            notify(_interrupted(sink, len(expected)))
            if resume:
                notify("The same command resumes.")
            raise
        if (loss := sink.loss) is not None:
            result = result.model_copy(update={"not_stored": loss})
        return Stored(result, sink.group, _records(result, store, sink))


def run_pool(
    title: str,
    scenarios: Sequence[Scenario],
    on_result: Callable[[int, ScenarioResult], None],
    *,
    jobs: int,
    history: History,
    resume: bool = True,
) -> None:
    """Runs simulated scenarios in one pool with progress on stderr, and stores each in a group.

    `on_result` gets the number of a scenario and its result as soon as it has ended. With `resume`,
    runs whose results are in the store are not repeated.
    """
    import asyncio

    from netkv.cli import progress
    from netkv.runs import Store, StoreSink, walltime
    from netkv.scenarios.runner import Job, run_scenarios

    with Store() as store:
        store.check_writable()
        sinks = [StoreSink(store, warn=notify) for _ in scenarios]
        expected = [walltime.phases_of_runs(each, history) for each in scenarios]
        work = [
            Job(scenario, sink, phases)
            for scenario, sink, phases in zip(scenarios, sinks, expected, strict=True)
        ]
        try:
            with ExitStack() as open_sinks, progress.pool(title) as on_state:
                for sink in sinks:
                    open_sinks.enter_context(sink)
                asyncio.run(
                    run_scenarios(
                        work,
                        on_result,
                        finished=store.result if resume else lambda _: None,
                        processes=jobs,
                        on_state=on_state,
                    )
                )
        except KeyboardInterrupt:
            done = sum(len(sink.finished) for sink in sinks)
            notify(f"Interrupted. {done} runs had ended and are stored; the same command resumes.")
            raise
        for sink in sinks:
            if (loss := sink.loss) is not None:
                notify(f"The store lacks {loss.runs} runs of {sink.group}: {loss.reason}")


def _records(result: ScenarioResult, store: Store, sink: StoreSink) -> list[RunRecord]:
    """The records of the runs: from the store, unless it lacks some."""
    from netkv.errors import StoreError

    if result.not_stored is None:
        with suppress(StoreError):
            return store.records([run.id for run in result.runs])
    # A simulated run whose result was in the store before has no record here.
    return [sink.record(run) for run in result.runs if sink.has(run.id)]


def _interrupted(sink: StoreSink, planned: int) -> str:
    """The message for a scenario that was stopped; `planned` is the number of its runs."""
    if not sink.cancelled and not sink.finished:
        return "Interrupted before a run began: nothing is stored."
    lines = ["Interrupted."]
    lines += [
        f"Run {each} failed: 'netkv runs show {each}' has the reason." for each in sink.failed
    ]
    lines += [
        f"Run {each} was cancelled; it is stored with its samples so far."
        for each in sink.cancelled
    ]
    if sink.finished:
        lines.append(f"{len(sink.finished)} of {planned} runs had ended before and are stored.")
    left = planned - len(sink.finished) - len(sink.cancelled)
    if left > 0:
        lines.append(f"{left} of {planned} runs did not begin.")
    lines.append(f"Stored as {sink.group}: 'netkv runs compare {sink.group}' shows the runs.")
    return "\n".join(lines)
