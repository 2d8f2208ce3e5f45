"""Runs a scenario for a command and stores its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from netkv.cli.output import notify

if TYPE_CHECKING:
    from netkv.executors.executor import Executor
    from netkv.runs import RunRecord, Store, StoreSink
    from netkv.runs.walltime import History
    from netkv.scenarios.model import Scenario
    from netkv.scenarios.results import RunResult, RunStart, ScenarioResult
    from netkv.scenarios.run_plan import Point


@dataclass(frozen=True)
class Stored:
    """A scenario that has run."""

    result: ScenarioResult
    group: str
    """Id of its group in the store."""
    _sink: StoreSink

    @cached_property
    def records(self) -> list[RunRecord]:
        """Its runs, also if they could not be stored; they are read when they are needed."""
        from netkv.errors import NetkvError
        from netkv.runs import Store

        if self.result.not_stored is None:
            with suppress(NetkvError), Store() as store:
                return store.records([run.id for run in self.result.runs])
        # A simulated run whose result was in the store before has no record here.
        return [self._sink.record(run) for run in self.result.runs if self._sink.has(run.id)]


class Rounds:
    """Runs a scenario for a command, in one group of the store, perhaps several times with more
    seeds or other points. What a round has in common with an earlier one is not repeated."""

    def __init__(
        self,
        store: Store,
        sink: StoreSink,
        executor: Executor | None,
        jobs: int,
        history: History,
        *,
        resume: bool,
    ) -> None:
        self.store = store
        self.sink = sink
        self._executor = executor
        self._jobs = jobs
        self._history = history
        self._resume = resume
        self._before: ScenarioResult | None = None
        """That of the newest round."""
        self._had: dict[str, RunResult] = {}
        """The results of earlier rounds."""
        self.planned = 0
        """Number of the runs of the newest round."""
        self.width = jobs if executor is None else executor.width
        """How many runs are executed at a time."""

    def run(
        self, scenario: Scenario, points: Sequence[Point] | None = None, title: str | None = None
    ) -> ScenarioResult:
        """A round, with progress on stderr. `points`: instead of those of the scenario's sweep."""
        import asyncio

        from netkv.cli import progress
        from netkv.runs import walltime
        from netkv.scenarios.runner import run_scenario

        if self._before is not None:
            self._had |= {run.id: run for run in self._before.runs}
        expected = walltime.phases_of_runs(scenario, self._history, points)
        self.planned = len(expected)
        with progress.scenario(title or scenario.title or scenario.name) as shown:
            result = asyncio.run(
                run_scenario(
                    scenario,
                    sink=self.sink,
                    on_progress=shown.progress,
                    finished=self._finished if self._resume or self._had else None,
                    jobs=self._jobs,
                    executor=self._executor,
                    expected=expected,
                    memory=walltime.memory_of_runs(scenario, self._history, points),
                    points=points,
                    on_state=shown.state,
                )
            )
        self._before = result
        if (loss := self.sink.loss) is not None:
            return result.model_copy(update={"not_stored": loss})
        return result

    def stored(self, result: ScenarioResult) -> Stored:
        """A result with its records."""
        return Stored(result, self.sink.group, self.sink)

    def _finished(self, start: RunStart) -> RunResult | None:
        found = self._had.get(start.id)
        return self.store.result_like(start) if found is None and self._resume else found


@contextmanager
def rounds(
    group: str | None = None,
    *,
    jobs: int,
    place: str | None = None,
    history: History,
    resume: bool = False,
) -> Iterator[Rounds]:
    """Opens the store, and the place of `--on`, for rounds of a scenario.

    `jobs` simulated runs are executed at a time, each in a process if there is more than one.
    `history`: what runs on this machine have taken. With `resume`, simulated runs whose results are
    in the store are not repeated. An interrupt prints which runs were stopped and which are stored.
    If the store cannot be written meanwhile, scenarios run to their end; `result.not_stored` says
    what is missing in the store.
    """
    from netkv.cli import places
    from netkv.runs import Store, StoreSink

    with Store() as store:
        store.check_writable()
        sink = StoreSink(store, group=group, warn=notify)
        opened: Rounds | None = None
        try:
            with places.opened(place) as executor, sink:
                opened = Rounds(store, sink, executor, jobs, history, resume=resume)
                yield opened
        except KeyboardInterrupt:
            notify(_interrupted(sink, 0 if opened is None else opened.planned))
            if resume:
                notify("The same command resumes.")
            raise
        if sink.adopted:
            notify(_known(len(sink.adopted), opened.planned))


def run_pool(
    title: str,
    scenarios: Sequence[Scenario],
    on_result: Callable[[int, ScenarioResult], None],
    *,
    jobs: int,
    place: str | None = None,
    history: History,
    resume: bool = True,
) -> None:
    """Runs simulated scenarios in one pool with progress on stderr, and stores each in a group.

    `on_result` gets the number of a scenario and its result as soon as it has ended. With `resume`,
    runs whose results are in the store are not repeated.
    """
    import asyncio

    from netkv.cli import places, progress
    from netkv.runs import Store, StoreSink, walltime
    from netkv.scenarios.runner import Job, run_scenarios

    with Store() as store:
        store.check_writable()
        sinks = [StoreSink(store, warn=notify) for _ in scenarios]
        expected = [walltime.phases_of_runs(each, history) for each in scenarios]
        work = [
            Job(scenario, sink, phases, walltime.memory_of_runs(scenario, history))
            for scenario, sink, phases in zip(scenarios, sinks, expected, strict=True)
        ]
        try:
            with (
                places.opened(place) as executor,
                ExitStack() as open_sinks,
                progress.pool(title) as on_state,
            ):
                for sink in sinks:
                    open_sinks.enter_context(sink)
                asyncio.run(
                    run_scenarios(
                        work,
                        on_result,
                        finished=store.result_like if resume else None,
                        processes=jobs,
                        executor=executor,
                        on_state=on_state,
                    )
                )
        except KeyboardInterrupt:
            done = sum(len(sink.finished) for sink in sinks)
            notify(f"Interrupted. {done} runs had ended and are stored; the same command resumes.")
            raise
        if known := sum(len(sink.adopted) for sink in sinks):
            notify(_known(known, sum(map(len, expected))))
        for sink in sinks:
            if (loss := sink.loss) is not None:
                notify(f"The store lacks {loss.runs} runs of {sink.group}: {loss.reason}")


def _known(known: int, planned: int) -> str:
    were = "was" if known == 1 else "were"
    return f"{known} of {planned} runs {were} stored already; '--again' repeats them."


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
