"""Work on what a request supplies, in a process of its own with limits.

A program or scenario of a request may be built to take long or to need much memory. Rules:

1. A process that exceeds the time of a request is killed.
2. A process has a limit of memory and of processor time, and an empty directory.
3. Few such processes run at once. Few further requests wait for one of them to end, since each
   occupies a thread of the server; others are refused.
4. P4 programs get a new process each, because their work ends in native code. A process that checks
   scenarios serves several requests, since to start one takes longer than to check one.
"""

from __future__ import annotations

import contextlib
import os
import resource
import tempfile
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from netkv.api.errors import LimitError, RequestFieldError
from netkv.errors import NetkvError, OptionsError, UsageError
from netkv.worker_process import WorkerProcess, cores

SECONDS = 20.0
"""Time for the work of one request."""
MAX_PROCESSES = 2
MAX_WAITING = 8
MEMORY = 2 << 30
"""Limit of the memory of a process, in bytes."""
_START_SECONDS = 120.0
"""Time for the start of a process, which depends on the machine and not on the request."""
_BEGUN = "begun"

Argument = TypeVar("Argument")
Answer = TypeVar("Answer")


class Sandbox:
    """Processes for the requests of one kind."""

    def __init__(self, *, waiting: int = MAX_WAITING, keeps: bool = False) -> None:
        """`waiting`: requests that may wait. `keeps`: whether a process serves several requests;
        then `close` ends those that are idle."""
        self._waiting = waiting
        self._admitted = threading.BoundedSemaphore(MAX_PROCESSES + waiting)
        self._free = threading.BoundedSemaphore(MAX_PROCESSES)
        self._keeps = keeps
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._busy: set[_Process] = set()
        self._closed = False

    def run(
        self,
        work: Callable[[Argument], Answer],
        request: Argument,
        what: str,
        seconds: float | None = None,
    ) -> Answer:
        """`work(request)` in a process; `work` is a function of a module. `what` names the work in
        errors; `seconds`: its time, by default `SECONDS`.

        Raises the `NetkvError` of the work, and `LimitError` if it takes too long or too much
        memory, or if too many others wait.
        """
        if not self._admitted.acquire(blocking=False):
            raise LimitError(
                f"{what} is refused: {self._waiting} others wait already. Try again later."
            )
        try:
            with self._free:
                kind, *found = self._answer(work, request, what, seconds or SECONDS)
        finally:
            self._admitted.release()
        match kind:
            case "field":
                raise RequestFieldError(found[0], found[1])
            case "options":
                raise OptionsError(found[0])
            case "usage":
                raise UsageError(found[0])
            case "error":
                raise NetkvError(found[0])
            case "memory":
                raise _too_much_memory(what)
            case "fault":
                raise RuntimeError(found[0])
        answer: Answer = found[0]
        return answer

    def warm(self) -> None:
        """Starts a process, so that the first request need not wait for it."""
        self._put(_Process())

    def close(self) -> None:
        """Ends the processes, also those that work; requests that wait are refused."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy)
        for each in idle:
            each.end()
        for each in busy:
            each.kill()

    def _answer(
        self, work: Callable[[Any], Any], request: Any, what: str, seconds: float
    ) -> tuple[Any, ...]:
        process = self._take()
        reusable = False
        try:
            try:
                found = process.answer(work, request, what, seconds)
            except LimitError:
                if self._closed:
                    raise LimitError(f"{what} is refused: the server ends.") from None
                raise
            reusable = self._keeps and found[0] not in ("memory", "fault")
            return found
        finally:
            with self._lock:
                self._busy.discard(process)
            if reusable:
                self._put(process)
            else:
                process.end()

    def _take(self) -> _Process:
        with self._lock:
            process = self._idle.pop() if self._idle else None
        process = process or _Process()
        with self._lock:
            closed = self._closed
            self._busy.add(process)
        if closed:
            process.kill()
        return process

    def _put(self, process: _Process) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(process)
                return
        process.end()


class _Process:
    """One process, and its directory."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="netkv-")
        self._process = WorkerProcess(_main)
        self._process.send(self._directory.name)

    def answer(
        self, work: Callable[[Any], Any], request: Any, what: str, seconds: float
    ) -> tuple[Any, ...]:
        """Kind and details of the answer; raises `LimitError`."""
        self._process.send((work, request, seconds))
        pipe = self._process.pipe
        try:
            # Interpreter and modules; on a busy machine that takes longer than the work.
            if not pipe.poll(_START_SECONDS):
                raise LimitError(f"{what} could not begin within {_START_SECONDS:g} s.")
            pipe.recv()
            if not pipe.poll(seconds):
                raise LimitError(
                    f"{what} takes longer than {seconds:g} s, the limit of this server."
                )
            found: tuple[Any, ...] = pipe.recv()
        except (EOFError, ConnectionError):
            # The engine aborts when it gets no memory.
            raise _too_much_memory(what) from None
        return found

    def kill(self) -> None:
        """Kills it while another thread waits for its answer, which fails then."""
        self._process.kill()

    def end(self) -> None:
        """Ends it at once."""
        self._process.end(0)
        self._directory.cleanup()


def _too_much_memory(what: str) -> LimitError:
    return LimitError(f"{what} needs more than {MEMORY >> 30} GiB of memory, the limit.")


def _main(pipe: Connection) -> None:
    """The process: does the work of each request, and sends a tuple of a kind and its details."""
    os.chdir(pipe.recv())
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # The pipe is closed at the end.
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            work, request, seconds = pipe.recv()
            pipe.send(_BEGUN)
            _limit_processor_time(seconds)
            pipe.send(_done(work, request))


def _limit_processor_time(seconds: float) -> None:
    """From now on. The server ends the process before; but a server that was killed cannot."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds * cores()) + 2
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, hard))


def _done(work: Callable[[Any], Any], request: Any) -> tuple[Any, ...]:
    try:
        return ("done", work(request))
    except RequestFieldError as error:
        return ("field", str(error), error.field)
    except OptionsError as error:
        return ("options", error.wrong)
    except UsageError as error:
        return ("usage", str(error))
    except NetkvError as error:
        return ("error", str(error))
    except MemoryError:
        return ("memory",)
    except BaseException as error:
        return ("fault", f"{type(error).__name__}: {error}")
