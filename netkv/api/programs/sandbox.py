"""Work on what a request supplies, in a process of its own with limits.

A program of a request may be built to take long or to need much memory. Rules:

1. Each piece of work has a new process, which is killed when its time is over.
2. The process has a limit of memory, and an empty directory that is removed afterwards.
3. Few such processes run at once; further requests wait for a moment, then are refused.
"""

from __future__ import annotations

import os
import resource
import tempfile
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Protocol, TypeVar

from netkv.api.problems import LimitError, RequestFieldError
from netkv.api.programs.errors import InputError
from netkv.errors import NetkvError, UsageError
from netkv.worker_process import WorkerProcess

SECONDS = 20.0
"""Time for the work of one request."""
MAX_PROCESSES = 2
_MEMORY = 2 << 30
_WAIT_S = 30.0

_free = threading.BoundedSemaphore(MAX_PROCESSES)

Request_contra = TypeVar("Request_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)
Argument = TypeVar("Argument")
Answer = TypeVar("Answer")


class Work(Protocol[Request_contra, Result_co]):
    """A function of a module that can be sent to another process, with its argument."""

    def __call__(self, request: Request_contra, /) -> Result_co: ...


def run(
    work: Callable[[Argument], Answer], request: Argument, what: str, seconds: float = SECONDS
) -> Answer:
    """`work(request)` in a process of its own; `what` names the work in errors.

    Raises `LimitError` if it takes too long or too much memory, or if too many others run.
    """
    if not _free.acquire(timeout=_WAIT_S):
        raise LimitError(f"{what} has to wait: {MAX_PROCESSES} others run. Try again.")
    try:
        with tempfile.TemporaryDirectory(prefix="netkv-") as directory:
            process = WorkerProcess(_main)
            try:
                process.send((work, request, directory))
                kind, *found = _answer(process, what, seconds)
            finally:
                process.end(0)
    finally:
        _free.release()
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
    except InputError as error:
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
