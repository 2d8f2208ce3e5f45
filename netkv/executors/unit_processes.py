"""What a worker of a cluster does with units: its processes execute them.

So a unit that kills its process does not kill the worker, and one that nobody wants any more is
ended.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from concurrent.futures import wait
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker

from netkv.errors import NetkvError
from netkv.executors.executor import Unit, UnitCrashedError
from netkv.executors.processes import Processes, usable_memory
from netkv.executors.same_code import identity

_LOOK_S = 0.5
"""Seconds between two looks at whether a unit is still wanted."""
_END_S = 10.0
"""Seconds that an interrupted unit has to end."""
_NAME = "netkv-units"
MEMORY = "netkv-memory"
"""The resource of Dask that is memory for units, in bytes."""


def options(count: int) -> dict[str, Any]:
    """The options of a Dask worker that executes so many units at a time."""
    resources = {identity(): count, MEMORY: usable_memory()}
    return {"resources": resources, "plugins": (_Plugin(count),)}


class _Plugin(WorkerPlugin):
    """The processes of a worker."""

    name = _NAME

    def __init__(self, count: int) -> None:
        self._count = count
        self.processes: Processes | None = None

    def setup(self, worker: Worker) -> None:  # noqa: ARG002
        """See `WorkerPlugin`."""
        self.processes = Processes(self._count)

    def teardown(self, worker: Worker) -> None:  # noqa: ARG002
        """See `WorkerPlugin`."""
        if self.processes is not None:
            self.processes.close()
            self.processes = None


def execute(order: bytes) -> tuple[str, bytes]:
    """Executes a unit in a process of this worker, whose thread waits for it meanwhile.

    Returns the name of the worker, and pickled what the unit has told, `result` or `raised`, and
    its result or error.
    """
    worker = get_worker()
    plugin = worker.plugins[_NAME]
    assert isinstance(plugin, _Plugin), "workers without it get no units"
    processes = plugin.processes
    assert processes is not None, "the worker is open"
    key = worker.get_current_task()
    future = processes.submit(_unpacked, order)
    while not wait([future], _LOOK_S).done:
        own = worker.state.tasks.get(key)
        if own is None or own.state == "cancelled":
            processes.interrupt(future)
            if not wait([future], _END_S).done:
                processes.discard(future)
                wait([future])
    try:
        answer: bytes = future.result()
    except (NetkvError, UnitCrashedError) as error:
        answer = pickle.dumps(([], "raised", error))
    return str(worker.name), answer


def _unpacked(order: bytes, unit: Unit) -> bytes:
    """Executes a unit, in a process of the worker. The worker itself imports none of its code, and
    unpacks none of what it tells."""
    work, argument = pickle.loads(order)
    gathering = _Gathering(unit)
    try:
        answer = "result", work(argument, gathering)
    except NetkvError as error:
        answer = "raised", error
    return pickle.dumps((gathering.told, *answer))


class _Gathering:
    """A `Unit` that keeps what is told until the end."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self.told: list[Any] = []

    def tell(self, message: Any) -> None:
        self.told.append(message)

    def cancel_when_interrupted(self, task: asyncio.Task[Any]) -> Callable[[], None]:
        return self._unit.cancel_when_interrupted(task)
