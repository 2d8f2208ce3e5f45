"""Executes simulated runs on an executor: each is a unit, or several short ones are one.

A unit tells its progress and the calls of its sink; whoever submitted it alone writes the store.
The results are those of a single process, since a simulated run depends on nothing but its plan.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
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
_PACK_S = 0.5
"""Seconds of short runs that are a unit together."""
_PACK = 16
"""Maximum of them."""
_AHEAD = 2
"""Units that are submitted beyond those under way, for each of these, so that no worker of a
cluster waits for this process."""


@dataclass(frozen=True)
class RunUnit:
    """One run of the argument of a unit."""

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
    seconds: Callable[[int], float | None] = lambda _: None,
    on_progress: Callable[[Progress], None],
    on_result: Callable[[int, RunResult], None],
    on_step: Callable[[Step], None] = lambda _: None,
) -> None:
    """Executes runs of a pool of `count`, each with its number there, in this order.

    Each has so many threads. `sink` gives that of a run by its number, `memory` the bytes that it
    needs, `seconds` how long it takes, if they are known; `on_result` gets the number of a run and
    its result. Only a few units beyond those under way are taken and submitted, so that their
    results do not gather here.

    When it is cancelled, or when a run raises an error, the other runs are interrupted.
    """
    under_way: dict[asyncio.Future[list[RunResult]], _Unit] = {}
    again: list[_Run] = []
    """Runs of units that have died."""
    packs = _packs(runs, seconds, one=executor.streams)

    def following() -> list[_Run]:
        if again:
            return [again.pop()]
        taken = next(packs, ())
        return [
            _Run(each, index, count, sink(index), on_progress, on_step) for index, each in taken
        ]

    try:
        while True:
            while len(under_way) < (1 + _AHEAD) * executor.width:
                if not (chosen := following()):
                    break
                unit = _Unit(chosen)
                needed = [memory(run.index) for run in chosen]
                under_way[unit.submit(executor, threads, needed)] = unit
            if not under_way:
                return
            ended, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            for future in ended:
                unit = under_way.pop(future)
                try:
                    results = unit.results(future)
                except WorkerDiedError as died:
                    if len(unit.runs) > 1:
                        # One of them has killed its process, and the others are not to blame.
                        again += unit.runs
                        continue
                    results = [unit.runs[0].died(died)]
                for run, result in zip(unit.runs, results, strict=True):
                    on_result(run.index, result)
    finally:
        await _interrupt(executor, under_way)


def _packs(
    runs: Iterator[tuple[int, PlannedRun]],
    seconds: Callable[[int], float | None],
    *,
    one: bool,
) -> Iterator[list[tuple[int, PlannedRun]]]:
    """The runs of each unit: short ones together, unless each is to be a unit of its own.

    To send a unit and to store what it tells takes some 15 ms, however many runs it has.
    """
    pack: list[tuple[int, PlannedRun]] = []
    length = 0.0
    for index, planned in runs:
        expected = seconds(index)
        pack.append((index, planned))
        length += _PACK_S if one or expected is None else expected
        if length >= _PACK_S or len(pack) == _PACK:
            yield pack
            pack, length = [], 0.0
    if pack:
        yield pack


async def _interrupt(
    executor: Executor, under_way: dict[asyncio.Future[list[RunResult]], _Unit]
) -> None:
    """Interrupts units; the sinks of their runs get their ends, if they are quick enough."""
    if not under_way:
        return
    for unit in under_way.values():
        unit.interrupt(executor)
    await asyncio.wait(under_way, timeout=_STOP_TIMEOUT)
    for future, unit in under_way.items():
        if future.done():
            # Others may have failed with the same error, and a worker may have died.
            with suppress(asyncio.CancelledError, NetkvError, UnitCrashedError):
                unit.results(future)


@dataclass
class _Run:
    """A run that an executor has, seen from here."""

    planned: PlannedRun
    index: int
    count: int
    sink: RunSink | None
    on_progress: Callable[[Progress], None]
    on_step: Callable[[Step], None]
    started: RunStart | None = None
    """The run, if it has begun and not ended."""

    def handle(self, kind: str, values: list[Any]) -> None:
        """Handles what it has told."""
        match kind:
            case "progress":
                self.on_progress(*values)
            case "step":
                self.on_step(*values)
            case _:
                if self.sink is not None:
                    getattr(self.sink, kind)(*values)
                if kind == "begin":
                    (self.started,) = values
                elif kind == "finish":
                    self.started = None

    def died(self, how: WorkerDiedError) -> RunResult:
        """Its result, if its process has died: it has failed."""
        execution = Execution(
            self.planned,
            self.index,
            self.count,
            self.sink,
            self.on_progress,
            self.on_step,
            self.started,
        )
        return execution.fail(str(how))


class _Unit:
    """A unit that an executor has: one run, or several short ones."""

    def __init__(self, runs: list[_Run]) -> None:
        self.runs = runs
        self._future: Future[list[RunResult]] | None = None
        self._told: list[tuple[int, str, list[Any]]] = []
        """What was told and not handled yet, with the place of its run in the unit."""
        self._failure: Exception | None = None
        """The error of a sink, which ends the scenario."""

    def submit(
        self, executor: Executor, threads: int, needed: Sequence[int | None]
    ) -> asyncio.Future[list[RunResult]]:
        """Submits it; the future is done when all that the unit has told has arrived here."""
        loop = asyncio.get_running_loop()

        def told(message: tuple[int, str, list[Any]]) -> None:
            # A thread of the executor calls this, perhaps when nobody waits for the run any more.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._take, message)

        revision = provenance.revision()
        unit = [
            RunUnit(
                run.planned,
                run.index,
                run.count,
                threads,
                executor.streams,
                profiles.of_machine(run.planned.scenario.lab.profile),
                revision,
            )
            for run in self.runs
        ]
        known = [each for each in needed if each is not None]
        memory = max(known, default=None)
        self._future = executor.submit(execute, unit, told, memory=memory, count=len(unit))
        return asyncio.wrap_future(self._future)

    def interrupt(self, executor: Executor) -> None:
        """Asks it to end."""
        assert self._future is not None, "it was submitted"
        executor.interrupt(self._future)

    def results(self, future: asyncio.Future[list[RunResult]]) -> list[RunResult]:
        """Those of its runs, of a future that is done."""
        self._handle()
        if self._failure is not None:
            raise self._failure
        return future.result()

    def _take(self, message: tuple[int, str, list[Any]]) -> None:
        self._told.append(message)
        if len(self._told) == 1:
            asyncio.get_running_loop().call_soon(self._handle)

    def _handle(self) -> None:
        """Handles what was told since the last time, with one change of each store."""
        told, self._told = self._told, []
        if not told or self._failure is not None:
            return
        sinks = {id(run.sink): run.sink for run in self.runs if run.sink is not None}
        try:
            with ExitStack() as changes:
                for sink in sinks.values():
                    changes.enter_context(sink.together())
                for place, kind, values in told:
                    self.runs[place].handle(kind, values)
        except Exception as error:
            self._failure = error
            if self._future is not None:
                self._future.cancel()


# In the process that executes the unit.


def execute(argument: Sequence[RunUnit], unit: Unit) -> list[RunResult]:
    """Executes runs, one after the other."""
    return [_execute(each, _OfRun(unit, place)) for place, each in enumerate(argument)]


@dataclass(frozen=True)
class _OfRun:
    """A `Unit` for one of its runs, whose place it tells."""

    unit: Unit
    place: int

    def tell(self, message: tuple[str, list[Any]]) -> None:
        """See `Unit`."""
        self.unit.tell((self.place, *message))

    def cancel_when_interrupted(self, task: asyncio.Task[Any]) -> Callable[[], None]:
        """See `Unit`."""
        return self.unit.cancel_when_interrupted(task)


def _execute(argument: RunUnit, unit: Unit) -> RunResult:
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
