"""An executor whose units Dask's workers execute, `netkv[cluster]`.

Rules
-----
1. Units go to workers with the same code only: each of `netkv worker` says what it has
   (`same_code.identity`) as a resource of Dask, and units ask for it.
2. A worker executes units in processes of its own (`unit_processes`). One that dies of its unit
   fails that unit alone; if the worker itself dies, Dask gives its units to others.
3. What a unit tells comes with its result, so an attempt that has died has told nothing.
"""

from __future__ import annotations

import asyncio
import math
import pickle
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any

from distributed import Client, KilledWorker
from distributed import Future as DaskFuture

from netkv.errors import NetkvError, UsageError
from netkv.executors.executor import (
    Executor,
    Told,
    UnitCrashedError,
    Warn,
    Work,
    Worker,
    WorkerDiedError,
)
from netkv.executors.same_code import identity
from netkv.executors.unit_processes import MEMORY, execute

_ASKED_S = 0.5
"""Seconds after which the scheduler is asked again for its workers."""
_WATCH_S = 5.0
"""Seconds between two looks at whether workers are left."""
_OTHERS_S = 5.0
"""Seconds in which a worker must come where others are that do not fit."""
_LOOK_S = 0.1
"""Seconds between two looks for the first worker."""


class ClusterLostError(NetkvError):
    """The cluster cannot be reached any more."""


class Cluster(Executor):
    """The workers of a cluster that have this netkv."""

    streams = False

    def __init__(
        self,
        client: Client,
        name: str,
        *,
        warn: Warn,
        closes: Callable[[], None] = lambda: None,
        restarts: str = "",
    ) -> None:
        """`closes` ends what was started for the cluster, after the client. `restarts`: what the
        user does when the cluster is gone, as a sentence."""
        self.name = name
        self.link = client.dashboard_link or None
        self._client = client
        self._closes = closes
        self._restarts = restarts
        self._session = secrets.token_hex(4)
        self._count = 0
        self._lock = threading.Lock()
        self._warn = warn
        self._under_way: set[Future[Any]] = set()
        self._workers: dict[str, Any] = {}
        self._asked_at = -math.inf
        self._done: Counter[str] = Counter()
        """Units that each worker has executed."""
        self._closed = threading.Event()
        self._watch = threading.Thread(target=self._look_at_workers, name="workers", daemon=True)
        self._watch.start()

    @property
    def width(self) -> int:
        """See `Executor`."""
        found = sum(each["nthreads"] for each in self._found().values() if _fits(each))
        return max(int(found), 1)

    def submit(
        self,
        work: Work,
        argument: Any,
        told: Told = lambda _: None,
        *,
        memory: int | None = None,
    ) -> Future[Any]:
        """See `Executor`."""
        with self._lock:
            self._count += 1
            number = self._count
        order = pickle.dumps((work, argument))
        sent = self._client.submit(
            execute,
            order,
            key=f"netkv-{self._session}-{number}",
            resources={identity(): 1, **self._memory(memory)},
            pure=False,
        )
        future: Future[Any] = Future()
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        future.add_done_callback(lambda it: _cancel(sent) if it.cancelled() else None)
        sent.add_done_callback(lambda it: self._ended(it, future, told))
        return future

    def interrupt(self, future: Future[Any]) -> None:
        """See `Executor`."""
        future.cancel()

    def discard(self, future: Future[Any]) -> None:
        """See `Executor`."""
        future.cancel()

    def workers(self) -> list[Worker]:
        """See `Executor`."""
        found = []
        for each in self._found().values():
            counts = each.get("metrics", {}).get("task_counts", {})
            running = counts.get("executing", 0) + counts.get("ready", 0)
            refused = None if _fits(each) else f"It has {_has(each)}, and units need {identity()}."
            name = str(each["name"])
            found.append(Worker(name, each["host"], running, self._done[name], refused))
        return found

    def close(self) -> None:
        """See `Executor`."""
        self._closed.set()
        with suppress(Exception):
            self._client.close(timeout=5)
        self._closes()

    def wait_for_workers(
        self, seconds: float | None, all_ended: Callable[[], bool] = lambda: False
    ) -> None:
        """Waits for the first worker with this netkv; raises `UsageError` if none comes within so
        many seconds, and `NetkvError` if none is left that could."""
        begun = time.monotonic()
        while True:
            found = self._found().values()
            if any(map(_fits, found)):
                return
            if all_ended():
                raise NetkvError(f"No worker of {self.name} could be started.")
            limit = _OTHERS_S if found else seconds
            if limit is not None and time.monotonic() - begun > limit:
                raise UsageError(self._nobody(limit))
            time.sleep(_LOOK_S)

    def _look_at_workers(self) -> None:
        """Says when units wait for workers, and when they do no more."""
        warned = False
        while not self._closed.wait(_WATCH_S):
            some = any(map(_fits, self._found().values()))
            if warned and some:
                warned = False
                self._warn("There are workers again.")
            elif not some and not warned and (waiting := len(self._under_way)):
                warned = True
                self._warn(
                    f"No worker of {self.name} is left. {waiting} units wait for new ones; Ctrl-C "
                    f"ends the command, and the same command resumes."
                )

    def _nobody(self, seconds: float) -> str:
        refused = [f"{each.name}: {each.refused}" for each in self.workers()]
        if not refused:
            return (
                f"No worker has come to {self.name} within {seconds:g} s. 'netkv worker ADDRESS' "
                f"starts one."
            )
        listed = "\n  ".join(refused[:10])
        return (
            f"No worker of {self.name} has this netkv, so none may execute its units. Install the "
            f"same wheel everywhere, and start workers by 'netkv worker'.\n  {listed}"
        )

    def _memory(self, needed: int | None) -> dict[str, float]:
        """The memory of a unit as a resource: at most as much as the largest worker has."""
        if needed is None:
            return {}
        found = [each["resources"].get(MEMORY, 0) for each in self._found().values() if _fits(each)]
        return {MEMORY: min(needed, max(found, default=0))}

    def _found(self) -> dict[str, Any]:
        """Dask's description of all workers."""
        with self._lock:
            now = time.monotonic()
            if now >= self._asked_at + _ASKED_S:
                # A question to the scheduler, and the width is needed for each unit.
                info = self._client.scheduler_info(n_workers=-1)
                self._workers, self._asked_at = info.get("workers", {}), now
            return self._workers

    def _ended(self, sent: DaskFuture[Any], future: Future[Any], told: Told) -> None:
        """Passes on how a unit has ended. A thread of Dask's client calls this."""
        if not future.set_running_or_notify_cancel():
            return
        try:
            worker, answer = sent.result()
            self._done[worker] += 1
            messages, kind, value = pickle.loads(answer)
        except KilledWorker as killed:
            future.set_exception(WorkerDiedError(_killed(killed)))
        except (CancelledError, asyncio.CancelledError, OSError):
            why = (
                "This command has closed it."
                if self._closed.is_set()
                else f"{self.name[:1].upper()}{self.name[1:]} cannot be reached any more. What had "
                f"ended is stored, and the same command resumes. {self._restarts}"
            )
            future.set_exception(ClusterLostError(why))
        except Exception as error:
            future.set_exception(UnitCrashedError(f"{error!r}, on a worker of {self.name}"))
        else:
            for each in messages:
                told(each)
            if kind == "result":
                future.set_result(value)
            else:
                future.set_exception(value)
        finally:
            sent.release()


def _cancel(sent: DaskFuture[Any]) -> None:
    with suppress(Exception):  # the scheduler may have gone
        sent.cancel()


def _killed(error: KilledWorker) -> str:
    attempts = error.allowed_failures + 1
    return f"had no end in {attempts} attempts: each time its worker has died"


def _fits(worker: dict[str, Any]) -> bool:
    return identity() in worker.get("resources", {})


def _has(worker: dict[str, Any]) -> str:
    found = [name for name in worker.get("resources", {}) if name.startswith("netkv ")]
    return found[0] if found else "no netkv that it tells of"
