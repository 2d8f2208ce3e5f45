"""Plays cases on all cores, with a process for each core.

Rules
-----
1. A process plays one case at a time, independently of the others. If the process crashes, only
   that case is affected, and its outcome is the violation `crash`.
2. The results of cases that are no longer needed are discarded, and their processes killed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Protocol

from netkv.errors import NetkvError
from netkv.soak.case import Case
from netkv.soak.run import Outcome, play
from netkv.soak.verdict import CRASH, Violation
from netkv.worker_process import WorkerProcess, cores, ended_how

_PATIENCE = 0.1
"""Seconds that an idle process has to end by itself."""


class Player(Protocol):
    """Plays cases."""

    size: int
    """How many cases it plays at a time."""

    def play(self, cases: Iterator[Case]) -> Iterator[tuple[int, Case, Outcome]]: ...
    def play_all(self, cases: Sequence[Case]) -> list[Outcome]: ...


class Pool:
    """A `Player` with processes. A context manager."""

    def __init__(self, processes: int | None = None) -> None:
        """`processes`: None for one on each core; they start with the first case."""
        self.size = processes or cores()
        self._workers: list[_Worker] = []

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.end(_PATIENCE if worker.playing is None else 0)

    def play(self, cases: Iterator[Case]) -> Iterator[tuple[int, Case, Outcome]]:
        """Plays cases; yields number (from 0), case and outcome of each when it is done.

        It takes the next case from `cases` only when a process is free. If the caller leaves the
        loop early, the results of running cases are discarded. Raises `NetkvError` for a case that
        cannot be played.
        """
        self._replace_busy()
        numbered = enumerate(cases)
        while True:
            for worker in self._workers:
                if worker.playing is None and (following := next(numbered, None)) is not None:
                    worker.begin(*following)
            busy = {each.pipe: each for each in self._workers if each.playing is not None}
            if not busy:
                return
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]  # only connections were given
                yield self._take(worker)

    def play_all(self, cases: Sequence[Case]) -> list[Outcome]:
        """Plays a few cases; returns the outcomes in the same order."""
        done = {number: outcome for number, _, outcome in self.play(iter(cases))}
        return [done[number] for number in range(len(cases))]

    def _replace_busy(self) -> None:
        """Replaces processes that still play a case whose result is not needed any more."""
        for worker in list(self._workers):
            if worker.playing is not None:
                worker.end(0)
                self._workers.remove(worker)
        while len(self._workers) < self.size:
            self._workers.append(_Worker())

    def _take(self, worker: _Worker) -> tuple[int, Case, Outcome]:
        assert worker.playing is not None, "it was given a case"
        number, case = worker.playing
        worker.playing = None
        try:
            answer = worker.pipe.recv()
        except (EOFError, ConnectionError):
            self._workers[self._workers.index(worker)] = _Worker()
            return number, case, _died(case, worker.end(_PATIENCE))
        if isinstance(answer, NetkvError):
            raise answer
        return number, case, answer


class _Worker(WorkerProcess):
    """A process that plays cases."""

    def __init__(self) -> None:
        super().__init__(_work)
        self.playing: tuple[int, Case] | None = None
        """Number and case that it plays."""

    def begin(self, number: int, case: Case) -> None:
        """Sends it a case."""
        self.playing = (number, case)
        self.send(case)


def _work(pipe: Connection) -> None:
    """The main loop of a process."""
    os.nice(5)  # other processes of this machine have priority
    while True:
        try:
            case: Case = pipe.recv()
        except (EOFError, ConnectionError):
            return
        try:
            answer: Outcome | NetkvError = play(case)
        except NetkvError as error:
            answer = error
        try:
            pipe.send(answer)
        except ConnectionError:
            return


def _died(case: Case, code: int | None) -> Outcome:
    """The outcome of a case whose process has crashed."""
    text = f"The process that played it ended {ended_how(code)}."
    violation = Violation(kind=CRASH, text=text, at=0.0)
    return Outcome(case.seed, 0, 0, 0, (violation,), 0.0, "")
