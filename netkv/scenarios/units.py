"""Executes simulated runs on an executor: each is a unit.

A unit tells its progress and the calls of its sink; whoever submitted it alone writes the store.
The results are those of a single process, since a simulated run depends on nothing but its plan.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

from netkv import memory as memory_of_process
from netkv.errors import NetkvError
from netkv.executors.executor import Executor, Unit, UnitCrashedError, WorkerDiedError
from netkv.model.profile import Profile
from netkv.scenarios import provenance
from netkv.scenarios.execution import Execution, Progress
from netkv.scenarios.results import (
    RunEvent,
    RunResult,
    RunSample,
    RunSink,
    RunStart,
    Threshold,
)
from netkv.scenarios.run_plan import PlannedRun
from netkv.scenarios.schedule import ENDED, Step
from netkv.sim import profiles

_STOP_TIMEOUT = 30.0
"""Seconds that runs have to stop their racks; the step of the simulator under way ends before."""
_AHEAD = 2
"""Units that are submitted beyond those under way, for each of these, so that no worker of a
cluster waits for this process."""


@dataclass(frozen=True)
class RunUnit:
    """The argument of a unit."""

    planned: PlannedRun
    index: int
    count: int
    threads: int
    streams: bool
    """Whether to tell how far it is while it is executed."""
    profile: Profile | None
    """What the profile of its lab is where it was planned, if that depends on the machine."""
    revision: str | None
    """That of the source where it was planned."""


async def run_units(
    executor: Executor,
    runs: Iterator[tuple[int, PlannedRun]],
    count: int,
    *,
    threads: int,
    sink: Callable[[int], RunSink | None],
    memory: Callable[[int], int | None] = lambda _: None,
    on_progress: Callable[[Progress], None],
    on_result: Callable[[int, RunResult], None],
    on_step: Callable[[Step], None] = lambda _: None,
) -> None:
    """Executes runs of a pool of `count`, each with its number there, in this order.

    Each has so many threads. `sink` gives that of a run by its number, `memory` the bytes that it
    needs, if they are known; `on_result` gets the number of a run and its result. Only a few runs
    beyond those under way are taken and submitted, so that their results do not gather here.

    When it is cancelled, or when a run raises an error, the other runs are interrupted.
    """
    under_way: dict[asyncio.Future[RunResult], _Run] = {}
    try:
        while True:
            while len(under_way) < (1 + _AHEAD) * executor.width:
                if (following := next(runs, None)) is None:
                    break
                index, planned = following
                run = _Run(planned, index, count, sink(index), on_progress, on_step)
                under_way[run.submit(executor, threads, memory(index))] = run
            if not under_way:
                return
            ended, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            for future in ended:
                run = under_way.pop(future)
                on_result(run.index, run.result(future))
    finally:
        await _interrupt(executor, under_way)


async def _interrupt(executor: Executor, under_way: dict[asyncio.Future[RunResult], _Run]) -> None:
    """Interrupts runs; their sinks get their ends, if they are quick enough."""
    if not under_way:
        return
    for run in under_way.values():
        run.interrupt(executor)
    await asyncio.wait(under_way, timeout=_STOP_TIMEOUT)
    for future, run in under_way.items():
        if future.done():
            # Others may have failed with the same error, and a worker may have died.
            with suppress(asyncio.CancelledError, NetkvError, UnitCrashedError):
                run.result(future)


class _Run:
    """A run that an executor has, seen from here."""

    def __init__(
        self,
        planned: PlannedRun,
        index: int,
        count: int,
        sink: RunSink | None,
        on_progress: Callable[[Progress], None],
        on_step: Callable[[Step], None],
    ) -> None:
        self.index = index
        self._planned = planned
        self._count = count
        self._sink = sink
        self._on_progress = on_progress
        self._on_step = on_step
        self._future: Future[RunResult] | None = None
        self._told: list[tuple[str, list[Any]]] = []
        """What was told and not handled yet."""
        self._failure: Exception | None = None
        """The error of the sink, which ends the scenario."""
        self._started: RunStart | None = None
        """The run, if it has begun and not ended."""

    def submit(
        self, executor: Executor, threads: int, needed: int | None
    ) -> asyncio.Future[RunResult]:
        """Submits it; the future is done when all that the unit has told has arrived here."""
        loop = asyncio.get_running_loop()

        def told(message: tuple[str, list[Any]]) -> None:
            # A thread of the executor calls this, perhaps when nobody waits for the run any more.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._take, message)

        unit = RunUnit(
            self._planned,
            self.index,
            self._count,
            threads,
            executor.streams,
            profiles.of_machine(self._planned.scenario.lab.profile),
            provenance.revision(),
        )
        self._future = executor.submit(execute, unit, told, memory=needed)
        return asyncio.wrap_future(self._future)

    def interrupt(self, executor: Executor) -> None:
        """Asks it to end."""
        assert self._future is not None, "it was submitted"
        executor.interrupt(self._future)

    def result(self, future: asyncio.Future[RunResult]) -> RunResult:
        """Its result, of a future that is done. If its process has died, the run has failed."""
        self._handle()
        if self._failure is not None:
            raise self._failure
        try:
            return future.result()
        except WorkerDiedError as died:
            execution = Execution(
                self._planned,
                self.index,
                self._count,
                self._sink,
                self._on_progress,
                self._on_step,
                self._started,
            )
            return execution.fail(str(died))

    def _take(self, message: tuple[str, list[Any]]) -> None:
        self._told.append(message)
        if len(self._told) == 1:
            asyncio.get_running_loop().call_soon(self._handle)

    def _handle(self) -> None:
        """Handles what was told since the last time, with one change of the store."""
        told, self._told = self._told, []
        if not told or self._failure is not None:
            return
        try:
            with _together(self._sink):
                for kind, values in told:
                    self._handle_one(kind, values)
        except Exception as error:
            self._failure = error
            if self._future is not None:
                self._future.cancel()

    def _handle_one(self, kind: str, values: list[Any]) -> None:
        match kind:
            case "progress":
                self._on_progress(*values)
            case "step":
                self._on_step(*values)
            case _:
                if self._sink is not None:
                    getattr(self._sink, kind)(*values)
                if kind == "begin":
                    (self._started,) = values
                elif kind == "finish":
                    self._started = None


def _together(sink: RunSink | None) -> AbstractContextManager[None]:
    return nullcontext() if sink is None else sink.together()


# In the process that executes the unit.


def execute(argument: RunUnit, unit: Unit) -> RunResult:
    """Executes a run."""
    name = argument.planned.scenario.lab.profile
    with (
        profiles.given(name, argument.profile),
        provenance.planned_by(argument.revision),
        memory_of_process.measured() as peak,
    ):
        result = asyncio.run(_run(argument, unit))
    if (found := peak()) is not None:
        _Sink(unit).memory(result.id, found)
    return result


async def _run(argument: RunUnit, unit: Unit) -> RunResult:
    begun = time.monotonic()

    def on_progress(now: Progress) -> None:
        if argument.streams or now.phase in ENDED:
            unit.tell(("progress", [now]))

    def on_step(step: Step) -> None:
        if argument.streams:
            unit.tell(("step", [step]))
        elif step.phase in ENDED:
            unit.tell(("step", [replace(step, seconds=time.monotonic() - begun)]))

    execution = Execution(
        argument.planned,
        argument.index,
        argument.count,
        _Sink(unit),
        on_progress,
        on_step,
        threads=argument.threads,
    )
    task = asyncio.create_task(execution.run())
    stop_watching = unit.cancel_when_interrupted(task)
    try:
        return await task
    finally:
        stop_watching()


class _Sink:
    """The `RunSink` of the process: it passes calls on to that of the parent."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    def plan(self, entries: Sequence[dict[str, Any]]) -> None:
        """See `RunSink`; the parent alone knows the plan."""
        raise NotImplementedError

    def progress(self, document: dict[str, Any]) -> None:
        """See `RunSink`; the parent alone knows the other runs."""
        raise NotImplementedError

    def adopt(self, run_id: str) -> None:
        """See `RunSink`; the parent alone knows what is stored."""
        raise NotImplementedError

    def together(self) -> AbstractContextManager[None]:
        """See `RunSink`; the parent gathers what it gets."""
        return nullcontext()

    def memory(self, run_id: str, peak: int) -> None:
        """See `RunSink`."""
        self._unit.tell(("memory", [run_id, peak]))

    def begin(self, run: RunStart) -> None:
        """See `RunSink`."""
        self._unit.tell(("begin", [run]))

    def sample(self, run_id: str, sample: RunSample) -> None:
        """See `RunSink`."""
        self._unit.tell(("sample", [run_id, sample]))

    def event(self, run_id: str, event: RunEvent) -> None:
        """See `RunSink`."""
        self._unit.tell(("event", [run_id, event]))

    def finish(self, result: RunResult) -> None:
        """See `RunSink`."""
        self._unit.tell(("finish", [result]))

    def verdict(self, run_ids: list[str], thresholds: list[Threshold]) -> None:
        """See `RunSink`; the parent alone knows the verdicts."""
        raise NotImplementedError
