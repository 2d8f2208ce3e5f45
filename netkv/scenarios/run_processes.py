"""Executes simulated runs side by side, each in a process.

A process executes one run at a time. It sends its progress and the calls of its sink over a pipe;
the parent alone writes the store. The results are those of a single process, since a simulated run
depends on nothing but its plan.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

from netkv.errors import NetkvError
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
from netkv.scenarios.schedule import Step
from netkv.worker_process import WorkerProcess, ended_how

_STOP_TIMEOUT = 30.0
"""Seconds that a run has to stop its rack; the step of the simulator under way ends before."""


async def run_in_processes(
    planned: Sequence[PlannedRun],
    processes: int,
    *,
    threads: int,
    sinks: Sequence[RunSink | None],
    on_progress: Callable[[Progress], None],
    finished: Callable[[str], RunResult | None],
    on_result: Callable[[int, RunResult], None],
    on_step: Callable[[Step], None] = lambda _: None,
) -> None:
    """Executes runs in so many processes, each with so many threads.

    `sinks` has that of each run. `on_result` gets the index of a run and its result.

    When it is cancelled, or when a run raises an error, the other runs are interrupted.
    """
    waiting = iter(enumerate(planned))

    async def work() -> None:
        process = _Process(threads, on_progress, finished, on_step)
        try:
            for index, each in waiting:
                result = await process.run(each, index, len(planned), sinks[index])
                on_result(index, result)
        finally:
            process.close()

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(processes, len(planned))):
                group.create_task(work())
    except BaseExceptionGroup as failures:
        # All runs of an impossible scenario fail with the same error.
        raise failures.exceptions[0] from None


class RunCrashedError(Exception):
    """A run ended with an internal error of netkv; the text is that error and its traceback."""


class _Process:
    """A process for runs, one after the other, seen from the parent."""

    def __init__(
        self,
        threads: int,
        on_progress: Callable[[Progress], None],
        finished: Callable[[str], RunResult | None],
        on_step: Callable[[Step], None],
    ) -> None:
        self._threads = threads
        self._sink: RunSink | None = None
        """That of the run that is executed."""
        self._on_progress = on_progress
        self._finished = finished
        self._on_step = on_step
        self._worker: WorkerProcess | None = None
        self._started: RunStart | None = None
        """The run that has begun and not ended."""

    async def run(
        self, planned: PlannedRun, index: int, count: int, sink: RunSink | None
    ) -> RunResult:
        """Executes a run. If the process dies, the run has failed, and the next gets a new one."""
        self._sink = sink
        if self._worker is None:
            self._worker = WorkerProcess(_work)
        self._worker.send((planned, index, count, self._threads))
        try:
            return await self._result()
        except (EOFError, ConnectionError):
            code = self._worker.end(patience=1.0)
            self._worker = None
            return self._died(planned, index, count, f"Its process ended {ended_how(code)}.")
        except asyncio.CancelledError:
            await self._interrupt()
            raise

    def close(self) -> None:
        """Ends the process."""
        if self._worker is not None:
            self._worker.end(patience=0.1)
            self._worker = None

    async def _result(self) -> RunResult:
        """Handles the messages of the run until its result comes."""
        assert self._worker is not None
        pipe = self._worker.pipe
        async with _readable(pipe) as readable:
            while True:
                await readable()
                kind, *values = pipe.recv()
                if kind == "result":
                    return values[0]  # type: ignore[no-any-return]
                if kind == "raised":
                    raise values[0]
                self._handle(kind, values)

    def _handle(self, kind: str, values: list[Any]) -> None:
        match kind:
            case "progress":
                self._on_progress(*values)
            case "step":
                self._on_step(*values)
            case "finished":
                assert self._worker is not None
                self._worker.send(self._finished(*values))
            case _:
                if self._sink is not None:
                    getattr(self._sink, kind)(*values)
                if kind == "begin":
                    (self._started,) = values
                elif kind == "finish":
                    self._started = None

    async def _interrupt(self) -> None:
        """Interrupts the run; its sink gets its end, if the process is quick enough."""
        assert self._worker is not None
        self._worker.send(None)
        with suppress(TimeoutError, EOFError, ConnectionError, NetkvError, RunCrashedError):
            async with asyncio.timeout(_STOP_TIMEOUT):
                await self._result()

    def _died(self, planned: PlannedRun, index: int, count: int, reason: str) -> RunResult:
        """The result of the run whose process has ended; the sink gets it."""
        execution = Execution(
            planned,
            index,
            count,
            self._sink,
            self._on_progress,
            self._finished,
            self._on_step,
            self._started,
        )
        self._started = None
        return execution.fail(reason)


@asynccontextmanager
async def _readable(pipe: Connection) -> AsyncIterator[Callable[[], Any]]:
    """Yields a function that waits until the pipe has a message, or is closed."""
    arrived = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def wait() -> None:
        if not pipe.poll():
            arrived.clear()
            loop.add_reader(pipe.fileno(), wake)
            await arrived.wait()

    def wake() -> None:
        loop.remove_reader(pipe.fileno())
        arrived.set()

    try:
        yield wait
    finally:
        if not pipe.closed:
            loop.remove_reader(pipe.fileno())


# The process.


def _work(pipe: Connection) -> None:
    """Executes runs until the pipe is closed."""
    while True:
        try:
            order = pipe.recv()
        except (EOFError, ConnectionError):
            return
        if order is None:
            continue  # the order to stop the run that has just ended
        try:
            message = asyncio.run(_run(pipe, *order))
        except NetkvError as error:  # an error of the user, not of netkv
            message = ("raised", error)
        except BaseException as error:  # a panic of the engine is no Exception
            message = ("raised", RunCrashedError(f"{error!r}\n{traceback.format_exc()}"))
        try:
            pipe.send(message)
        except ConnectionError:
            return


async def _run(
    pipe: Connection, planned: PlannedRun, index: int, count: int, threads: int
) -> tuple[Any, ...]:
    def finished(run_id: str) -> RunResult | None:
        pipe.send(("finished", run_id))
        try:
            answer: RunResult | None = pipe.recv()
        except EOFError:
            raise asyncio.CancelledError from None
        return answer

    def on_progress(now: Progress) -> None:
        pipe.send(("progress", now))

    def on_step(step: Step) -> None:
        pipe.send(("step", step))

    execution = Execution(
        planned, index, count, _Sink(pipe), on_progress, finished, on_step, threads=threads
    )
    task = asyncio.create_task(execution.run())
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        # Whatever comes during a run, or the end of the pipe, is the order to stop it.
        loop.remove_reader(pipe.fileno())
        task.cancel()

    loop.add_reader(pipe.fileno(), interrupt)
    try:
        return "result", await task
    finally:
        loop.remove_reader(pipe.fileno())


class _Sink:
    """The `RunSink` of the process: it passes calls on to the parent's."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def plan(self, entries: Sequence[dict[str, Any]]) -> None:
        """See `RunSink`; the parent alone knows the plan."""
        raise NotImplementedError

    def progress(self, document: dict[str, Any]) -> None:
        """See `RunSink`; the parent alone knows the other runs."""
        raise NotImplementedError

    def begin(self, run: RunStart) -> None:
        """See `RunSink`."""
        self._pipe.send(("begin", run))

    def sample(self, run_id: str, sample: RunSample) -> None:
        """See `RunSink`."""
        self._pipe.send(("sample", run_id, sample))

    def event(self, run_id: str, event: RunEvent) -> None:
        """See `RunSink`."""
        self._pipe.send(("event", run_id, event))

    def finish(self, result: RunResult) -> None:
        """See `RunSink`."""
        self._pipe.send(("finish", result))

    def verdict(self, run_ids: list[str], thresholds: list[Threshold]) -> None:
        """See `RunSink`; the parent alone knows the verdicts."""
        raise NotImplementedError
