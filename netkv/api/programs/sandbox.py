"""Work on what a request supplies, in a process of its own with limits.

A program of a request may be built to take long or to need much memory. Rules:

1. Each piece of work has a new process, which is killed when its time is over.
2. The process has a limit of memory, and an empty directory that is removed afterwards.
3. Few such processes run at once. Few further requests wait for one of them to end, since each
   occupies a thread of the server; others are refused.
"""

from __future__ import annotations

import os
import resource
import tempfile
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from netkv.api.errors import LimitError, RequestFieldError
from netkv.errors import NetkvError, UsageError
from netkv.worker_process import WorkerProcess

SECONDS = 20.0
"""Time for the work of one request."""
MAX_PROCESSES = 2
MAX_WAITING = 8
_MEMORY = 2 << 30
_admitted = threading.BoundedSemaphore(MAX_PROCESSES + MAX_WAITING)
_free = threading.BoundedSemaphore(MAX_PROCESSES)

Argument = TypeVar("Argument")
Answer = TypeVar("Answer")


def run(
    work: Callable[[Argument], Answer], request: Argument, what: str, seconds: float = SECONDS
) -> Answer:
    """`work(request)` in a process of its own; `work` is a function of a module. `what` names the
    work in errors.

    Raises `LimitError` if it takes too long or too much memory, or if too many others wait.
    """
    if not _admitted.acquire(blocking=False):
        raise LimitError(f"{what} is refused: {MAX_WAITING} others wait already. Try again later.")
    try:
        with _free, tempfile.TemporaryDirectory(prefix="netkv-") as directory:
            process = WorkerProcess(_main)
            try:
                process.send((work, request, directory))
                kind, *found = _answer(process, what, seconds)
            finally:
                process.end(0)
    finally:
        _admitted.release()
    match kind:
        case "field":
            raise RequestFieldError(found[0], found[1])
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


def _answer(process: WorkerProcess, what: str, seconds: float) -> tuple[Any, ...]:
    if not process.pipe.poll(seconds):
        raise LimitError(f"{what} takes longer than {seconds:g} s, the limit of this server.")
    try:
        found: tuple[Any, ...] = process.pipe.recv()
    except (EOFError, ConnectionError):
        # The engine aborts when it gets no memory.
        raise _too_much_memory(what) from None
    return found


def _too_much_memory(what: str) -> LimitError:
    return LimitError(f"{what} needs more than {_MEMORY >> 30} GiB of memory, the limit.")


def _main(pipe: Connection) -> None:
    """The process: does the work, and sends a tuple of a kind and its details."""
    work, request, directory = pipe.recv()
    os.chdir(directory)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answer: tuple[Any, ...]
    try:
        answer = ("done", work(request))
    except RequestFieldError as error:
        answer = ("field", str(error), error.field)
    except UsageError as error:
        answer = ("usage", str(error))
    except NetkvError as error:
        answer = ("error", str(error))
    except MemoryError:
        answer = ("memory",)
    except BaseException as error:
        answer = ("fault", f"{type(error).__name__}: {error}")
    pipe.send(answer)
