"""A process that works for this one, and the pipe to it.

- It ends when its pipe is closed, so none outlives its parent, however the parent ended.
- Only the parent handles interrupts. It closes the pipes and kills processes that are busy.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


class WorkerProcess:
    """A process with a new interpreter, and the parent's end of the pipe to it."""

    def __init__(self, work: Callable[[Connection], None]) -> None:
        """`work`, a function of a module, is called in the process with the other end."""
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process: SpawnProcess = context.Process(
            target=_main, args=(work, theirs), daemon=True
        )
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        """Its process id."""
        pid = self._process.pid
        assert pid is not None, "it was started"
        return pid

    def send(self, message: Any) -> None:
        """Sends a message. If the process has ended, the next `recv` of the pipe reports it."""
        with contextlib.suppress(ConnectionError):
            self.pipe.send(message)

    def kill(self) -> None:
        """Kills the process. Another thread may wait for it, which calls `end`."""
        self._process.kill()

    def end(self, patience: float) -> int | None:
        """Ends the process, by a signal if it has not ended by itself after `patience` seconds.

        Returns its exit code (negative: the signal) if it had ended by itself before.
        """
        self._process.join(patience)
        code = self._process.exitcode
        self.pipe.close()
        if code is None:
            self._process.kill()
            self._process.join()
        return code


def ended_how(code: int | None) -> str:
    """`by signal SIGKILL` or `with status 3`, for an exit code."""
    if code is not None and code < 0:
        return f"by signal {signal.Signals(-code).name}"
    return f"with status {code}"


def _main(work: Callable[[Connection], None], pipe: Connection) -> None:
    # The terminal sends both to all processes of a command.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    work(pipe)
