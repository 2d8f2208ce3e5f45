"""An executor with processes of this machine, each of which executes one unit at a time."""

from __future__ import annotations

import asyncio
import os
import threading
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

from netkv.errors import NetkvError
from netkv.executors.executor import (
    Executor,
    Told,
    UnitCrashedError,
    Work,
    Worker,
    WorkerDiedError,
)
from netkv.machine import host
from netkv.worker_process import WorkerProcess, cores, ended_how

_PATIENCE = 1.0
"""Seconds that a process has to end by itself."""
_MEMORY_SHARE = 0.9
"""Of the machine's memory, what units may have."""
_IDLE_PATIENCE = 0.1
"""The same, for one that waits for a unit."""


def usable_memory() -> int:
    """Bytes of this machine that all units together may have."""
    return int(host()["memory_bytes"] * _MEMORY_SHARE)


class Processes(Executor):
    """Processes of this machine. They start with the first units."""

    streams = True

    def __init__(self, width: int | None = None, *, niceness: int = 0) -> None:
        """`width`: how many; None for one on each core. `niceness`: other processes of the machine
        go before them by so much (0 to 19)."""
        self._width = width or cores()
        self.name = "1 process" if self._width == 1 else f"{self._width} processes"
        self._niceness = niceness
        self._lock = threading.Lock()
        self._waiting: deque[_Task] = deque()
        self._processes: list[_Process] = []
        self._thread: threading.Thread | None = None
        self._closing = False
        self._woken, self._wakes = Pipe(duplex=False)

    @property
    def width(self) -> int:
        """See `Executor`."""
        return self._width

    def submit(
        self,
        work: Work,
        argument: Any,
        told: Told = lambda _: None,
        *,
        memory: int | None = None,
    ) -> Future[Any]:
        """See `Executor`."""
        task = _Task((work, argument), told, memory or 0)
        with self._lock:
            assert not self._closing, "it is open"
            self._waiting.append(task)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="processes", daemon=True)
                self._thread.start()
        self._wake()
        return task.future

    def interrupt(self, future: Future[Any]) -> None:
        """See `Executor`."""
        if future.cancel():
            return
        with self._lock:
            for each in self._processes:
                if each.task is not None and each.task.future is future:
                    each.send(None)

    def discard(self, future: Future[Any]) -> None:
        """See `Executor`."""
        if future.cancel():
            return
        with self._lock:
            for each in self._processes:
                if each.task is not None and each.task.future is future:
                    each.kill()

    def workers(self) -> list[Worker]:
        """See `Executor`."""
        with self._lock:
            return [
                Worker(str(each.pid), host()["name"], int(each.task is not None), each.done)
                for each in self._processes
            ]

    def close(self) -> None:
        """See `Executor`."""
        with self._lock:
            self._closing = True
            waiting, self._waiting = self._waiting, deque()
        for task in waiting:
            task.future.cancel()
        self._wake()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._woken.close()
        self._wakes.close()

    def _wake(self) -> None:
        with suppress(OSError):
            self._wakes.send(None)

    def _run(self) -> None:
        """The thread that gives units to processes and takes what they send."""
        while self._begin_units():
            pipes: dict[Any, _Process] = {each.pipe: each for each in self._busy()}
            for ready in wait([self._woken, *pipes]):
                if ready is self._woken:
                    self._woken.recv()
                else:
                    self._take(pipes[ready])
        for each in self._processes:
            if each.task is None:
                each.end(_IDLE_PATIENCE)
            else:
                each.end(0)
                each.task.future.set_exception(WorkerDiedError("was not needed any more"))
        self._processes.clear()

    def _begin_units(self) -> bool:
        """Gives waiting units to free processes; False when the executor is to end."""
        with self._lock:
            while self._waiting and not self._closing:
                free = next((each for each in self._processes if each.task is None), None)
                if free is None and len(self._processes) == self._width:
                    break
                if not self._has_memory(self._waiting[0].memory):
                    break
                task = self._waiting.popleft()
                if not task.future.set_running_or_notify_cancel():
                    continue
                if free is None:
                    free = _Process(self._niceness)
                    self._processes.append(free)
                free.task = task
                free.send(task.order)
            return not self._closing

    def _has_memory(self, needed: int) -> bool:
        """Whether a unit may begin beside those under way."""
        used = [each.task.memory for each in self._processes if each.task is not None]
        return not used or sum(used) + needed <= usable_memory()

    def _busy(self) -> list[_Process]:
        with self._lock:
            return [each for each in self._processes if each.task is not None]

    def _take(self, process: _Process) -> None:
        """Handles one message of a process."""
        task = process.task
        assert task is not None, "it is busy"
        try:
            kind, value = process.pipe.recv()
        except (EOFError, ConnectionError):
            code = process.end(_PATIENCE)
            with self._lock:
                self._processes.remove(process)
            task.future.set_exception(WorkerDiedError(f"ended {ended_how(code)}"))
            return
        if kind == "told":
            task.told(value)
            return
        with self._lock:
            process.task = None
            process.done += 1
        if kind == "result":
            task.future.set_result(value)
        else:
            task.future.set_exception(value)


@dataclass
class _Task:
    order: tuple[Work, Any]
    told: Told
    memory: int
    future: Future[Any] = field(default_factory=Future)


class _Process(WorkerProcess):
    """A process, seen from the parent."""

    def __init__(self, niceness: int) -> None:
        super().__init__(_work)
        self.task: _Task | None = None
        """The unit that it executes."""
        self.done = 0
        self.send(niceness)


# In the process.


def _work(pipe: Connection) -> None:
    """Executes units until the pipe is closed."""
    os.nice(pipe.recv())
    unit = _Unit(pipe)
    while True:
        try:
            order = pipe.recv()
        except (EOFError, ConnectionError):
            return
        if order is None:
            continue  # the interrupt of the unit that has just ended
        work, argument = order
        try:
            message = "result", work(argument, unit)
        except NetkvError as error:  # an error of the user, not of netkv
            message = "raised", error
        except BaseException as error:  # a panic of the engine is no Exception
            message = "raised", _crashed(error)
        try:
            pipe.send(message)
        except ConnectionError:
            return


def _crashed(error: BaseException) -> UnitCrashedError:
    """The error of a unit as one that can be sent, with its traceback."""
    trace = "".join(traceback.format_exception(error))
    return UnitCrashedError(f"{error!r}\n{trace}")


class _Unit:
    """See `executor.Unit`."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._sending = threading.Lock()

    def tell(self, message: Any) -> None:
        with self._sending:
            self._pipe.send(("told", message))

    def cancel_when_interrupted(self, task: asyncio.Task[Any]) -> Callable[[], None]:
        # Whatever comes during a unit, or the end of the pipe, is the order to end it.
        loop = task.get_loop()

        def interrupt() -> None:
            loop.remove_reader(self._pipe.fileno())
            task.cancel()

        loop.add_reader(self._pipe.fileno(), interrupt)
        return lambda: _stop_reading(loop, self._pipe)


def _stop_reading(loop: asyncio.AbstractEventLoop, pipe: Connection) -> None:
    loop.remove_reader(pipe.fileno())
