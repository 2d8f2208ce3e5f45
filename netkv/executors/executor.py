"""What all executors have in common.

Rules
-----
1. A unit depends on its argument alone. So it does no harm if it is executed twice, for instance
   because the worker that executed it died before it had sent the result.
2. A unit may tell something while it is executed. What the result of one attempt belongs to is told
   before that result comes; an attempt that has died may have told something before.
3. Only a unit's own process dies of it. The others are not disturbed.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

from netkv.errors import NetkvError


class Unit(Protocol):
    """What a unit sees of its executor, in the process that executes it."""

    def tell(self, message: Any) -> None:
        """Sends a message to whoever has submitted the unit."""

    def cancel_when_interrupted(self, task: asyncio.Task[Any]) -> Callable[[], None]:
        """Cancels a task of the running loop when the unit is interrupted; the returned function
        ends that."""


Work: TypeAlias = Callable[[Any, Unit], Any]
"""The function of a unit, which a module has under its own name: processes find it by that."""
Told: TypeAlias = Callable[[Any], None]
Warn: TypeAlias = Callable[[str], None]
"""Gets sentences for the user."""


class WorkerDiedError(NetkvError):
    """The process that executed a unit has ended."""

    def __init__(self, how: str) -> None:
        """`how`: what happened to it, `ended by signal SIGKILL`."""
        super().__init__(how)
        self.how = how

    def __str__(self) -> str:
        return f"Its process {self.how}."


class UnitCrashedError(Exception):
    """A unit ended with an internal error of netkv; the text is that error and its traceback."""


@dataclass(frozen=True)
class Worker:
    """A process that executes units."""

    name: str
    host: str
    running: int
    """Units that it executes or has received."""
    done: int
    """Units that it has executed."""
    refused: str | None = None
    """Why it gets no units, as a sentence; None if it gets some."""


class Executor(ABC):
    """Executes units; a context manager, which discards what is under way at its end."""

    name: str
    """What it is, for users: `2 processes`, `the cluster tcp://10.0.0.1:8786`."""
    link: str | None = None
    """The address of a page about it."""
    streams: bool
    """Whether messages come while a unit is executed, not all with its result."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many units it executes at a time, at least 1. That of a cluster may change."""

    @abstractmethod
    def submit(
        self,
        work: Work,
        argument: Any,
        told: Told = lambda _: None,
        *,
        memory: int | None = None,
    ) -> Future[Any]:
        """Executes `work(argument, unit)` when a process is free; units begin in this order.

        `memory`: bytes that it needs; None if nobody knows. It begins where so much is left, or
        nothing else is executed.

        `told` gets the unit's messages, in a thread of the executor, and before the result is set.
        The future raises the `NetkvError` of the unit, `UnitCrashedError` for another error, and
        `WorkerDiedError` if its process has ended. `cancel` of the future prevents its begin.
        """

    @abstractmethod
    def interrupt(self, future: Future[Any]) -> None:
        """Asks a unit to end early; the future gets what it then returns or raises."""

    @abstractmethod
    def discard(self, future: Future[Any]) -> None:
        """Ends a unit whose result nobody needs; the future is cancelled or raises
        `WorkerDiedError`."""

    @abstractmethod
    def workers(self) -> list[Worker]:
        """The processes that execute units now."""

    @abstractmethod
    def close(self) -> None:
        """Ends all processes that it has started; units under way are discarded."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
