"""Plays cases on an executor.

Rules
-----
1. A process plays one case at a time, independently of the others. If the process crashes, only
   that case is affected, and its outcome is the violation `crash`.
2. The results of cases that are no longer needed are discarded, and their processes killed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Protocol

from netkv.executors.executor import Executor, Unit, UnitCrashedError, WorkerDiedError
from netkv.soak.case import Case
from netkv.soak.run import Outcome, play
from netkv.soak.verdict import CRASH, Violation

NICENESS = 5
"""Other processes of this machine have priority."""


class Player(Protocol):
    """Plays cases."""

    @property
    def size(self) -> int:
        """How many cases it plays at a time."""

    def play(self, cases: Iterator[Case]) -> Iterator[tuple[int, Case, Outcome]]: ...
    def play_all(self, cases: Sequence[Case]) -> list[Outcome]: ...


class Pool:
    """A `Player` with an executor."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._under_way: dict[Future[Outcome], tuple[int, Case]] = {}

    @property
    def size(self) -> int:
        """See `Player`."""
        return self._executor.width

    def play(self, cases: Iterator[Case]) -> Iterator[tuple[int, Case, Outcome]]:
        """Plays cases; yields number (from 0), case and outcome of each when it is done.

        It takes the next case from `cases` only when a process is free. If the caller leaves the
        loop early, the results of running cases are discarded. Raises `NetkvError` for a case that
        cannot be played.
        """
        self._discard()
        numbered = enumerate(cases)
        while True:
            while len(self._under_way) < self.size:
                if (following := next(numbered, None)) is None:
                    break
                future = self._executor.submit(play_unit, following[1])
                self._under_way[future] = following
            if not self._under_way:
                return
            ended, _ = wait(self._under_way, return_when=FIRST_COMPLETED)
            for future in ended:
                number, case = self._under_way.pop(future)
                try:
                    outcome = future.result()
                except WorkerDiedError as died:
                    outcome = _crashed(case, f"The process that played it {died.how}.")
                except UnitCrashedError as error:
                    outcome = _crashed(case, f"It ended with an internal error: {error}")
                yield number, case, outcome

    def play_all(self, cases: Sequence[Case]) -> list[Outcome]:
        """Plays a few cases; returns the outcomes in the same order."""
        done = {number: outcome for number, _, outcome in self.play(iter(cases))}
        return [done[number] for number in range(len(cases))]

    def _discard(self) -> None:
        """Discards cases whose result is not needed any more."""
        for future in self._under_way:
            self._executor.discard(future)
        self._under_way.clear()


def play_unit(case: Case, _: Unit) -> Outcome:
    """Plays a case: a unit of an executor."""
    return play(case)


def _crashed(case: Case, text: str) -> Outcome:
    """The outcome of a case that ended with its process."""
    violation = Violation(kind=CRASH, text=text, at=0.0)
    return Outcome(case.seed, 0, 0, 0, (violation,), 0.0, "")
