"""Starts, watches and cancels jobs.

Rules
-----
1. One job runs at a time: concurrent runs distort each other's figures. A run of a terminal of this
   machine counts, so a job waits for its end.
2. A job is a process in a session of its own, which writes its runs to the store, its messages to
   `log` and its result to `result.json`. If the server is killed, the job continues, and the next
   server watches it.
3. If several servers have one state directory, one of them starts jobs (`record.scheduling`).
4. A job is cancelled by SIGINT, like Ctrl-C, and killed if it has not ended `_KILL_AFTER` seconds
   later. A server that ends in order cancels its jobs, the queued ones included.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from netkv import steps
from netkv.api.errors import ConflictError, LimitError, NotFoundError
from netkv.api.jobs import record
from netkv.api.jobs.record import Record
from netkv.api.models.jobs import Job, JobKind, JobProgress, Jobs, PlannedCell
from netkv.errors import NetkvError
from netkv.processes import identity
from netkv.runs import RunHead, Store, store_url
from netkv.runs.sink import new_group_id

_log = logging.getLogger("netkv.api")
MAX_QUEUED = 100
_ENDED_SHOWN = 20
_TURN = 0.25
"""Seconds between two looks at the processes."""
_CHECK_RUNS = 2.0
"""Seconds between two looks for runs whose process was killed."""
_KILL_AFTER = 30.0
"""Seconds that a cancelled job has to take its rack down."""

Command = Callable[[str, Path], Sequence[str]]
"""Makes the command line of a job from its id and its directory."""


class Queue:
    """The jobs of this machine, seen from one server."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        """Processes that this server has started; it must reap them."""
        self._wake = threading.Event()
        self._closing = False
        self._scheduler = False
        """Whether this server starts jobs (rule 3)."""
        self._next_check = 0.0
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)

    def start(self) -> None:
        """Begins to watch the jobs and to start queued ones; `close` ends it."""
        self._thread.start()

    def submit(
        self,
        *,
        title: str,
        request: dict[str, Any],
        command: Command,
        files: Mapping[str, str] | None = None,
        expected_seconds: float | None = None,
        kind: JobKind = "scenario",
    ) -> Job:
        """Adds a job to the queue; `files` are written into its directory.

        Raises `LimitError` if the queue is full, and `StoreError` if runs cannot be stored.
        """
        if kind == "scenario":
            self._store.check_writable()
        with record.locked():
            queued = sum(each.state == "queued" for each in record.all_records())
            if queued >= MAX_QUEUED:
                raise LimitError(
                    f"{queued} jobs are queued, which is the limit. Cancel some, or wait."
                )
            job_id = new_group_id()
            job = Record(
                id=job_id,
                title=title,
                request=request,
                command=list(command(job_id, record.directory() / job_id)),
                store=store_url.without_secrets(self._store.url),
                created_at=time.time(),
                expected_seconds=expected_seconds,
                kind=kind,
            )
            job.save()
            for name, text in (files or {}).items():
                (job.directory / name).write_text(text, encoding="utf-8")
            record.forget_old()
        self._wake.set()
        return self.job(job_id)

    def cancel(self, job_id: str) -> Job:
        """Stops a job, of a terminal as well; a queued one does not start.

        Raises `ConflictError` if it has ended or runs on another machine.
        """
        with record.locked():
            found = record.load(job_id)
            if found is None:
                self._interrupt_terminal(job_id)
            elif found.state == "queued":
                _ended(found, "cancelled")
            elif found.active:
                _stop(found)
            else:
                raise ConflictError(f"Job {job_id} has ended: it is {found.state}.")
        self._wake.set()
        return self.job(job_id)

    def job(self, job_id: str) -> Job:
        """A job, with its runs; raises `NotFoundError`."""
        found = record.load(job_id)
        if found is not None:
            queue = [each.id for each in record.all_records() if each.state == "queued"]
            return self._view(found, queue, whole=True)
        heads = self._heads(job_id)
        if not heads:
            raise NotFoundError(f"There is no job '{job_id}'.")
        return self._terminal(job_id, heads, whole=True)

    def jobs(self) -> Jobs:
        """All active jobs, and the newest ended ones; without plans and ended runs."""
        records = record.all_records()
        queue = [each.id for each in records if each.state == "queued"]
        active = [each for each in records if each.active]
        ended = sorted(
            (each for each in records if not each.active),
            key=lambda each: each.finished_at or 0.0,
            reverse=True,
        )
        own = {each.id for each in records}
        running = groupby(self._store.running(), key=lambda run: run.group)
        terminals = [(group, list(runs)) for group, runs in running if group not in own]
        return Jobs(
            active=[
                *(self._terminal(group, runs) for group, runs in terminals),
                *(self._view(each, queue) for each in sorted(active, key=_in_queue)),
            ],
            ended=[self._view(each, queue) for each in ended[:_ENDED_SHOWN]],
        )

    def record(self, job_id: str) -> Record:
        """The job on disk; raises `NotFoundError`, also for a job of a terminal."""
        found = record.load(job_id)
        if found is None:
            raise NotFoundError(f"There is no job '{job_id}' of this server.")
        return found

    def close(self) -> None:
        """Cancels the jobs that this server looks after, and waits for their end."""
        self._closing = True
        with record.locked():
            for each in record.all_records():
                if each.state == "queued" and self._scheduler:
                    _ended(each, "cancelled", "The server was stopped.")
                elif each.active and self._looks_after(each):
                    _stop(each)
        self._wake.set()
        self._thread.join(2 * _KILL_AFTER)

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        running = 0
        while True:
            try:
                with record.scheduling() as self._scheduler:
                    running = self._watch()
            except Exception:
                # Without this thread no job would start or end until the server is started again.
                _log.exception("The jobs could not be looked after")
            if self._closing and not running:
                return
            self._wait()

    def _watch(self) -> int:
        """Looks after the processes until the lock of the scheduler has to be tried again; returns
        the number of those that run.
        """
        running = 0
        while True:
            with contextlib.suppress(NetkvError, OSError, SQLAlchemyError):
                running = self._turn()
            if not self._scheduler or (self._closing and not running):
                return running
            self._wait()

    def _wait(self) -> None:
        self._wake.wait(_TURN)
        self._wake.clear()

    def _turn(self) -> int:
        if time.monotonic() > self._next_check:
            self._next_check = time.monotonic() + _CHECK_RUNS
            if self._store.running():
                self._store.fail_abandoned()
        with record.locked():
            records = record.all_records()
            active = [each for each in records if each.active and each.state != "queued"]
            mine = [each for each in active if self._looks_after(each)]
            for each in mine:
                self._look_after(each)
            queued = [each for each in records if each.state == "queued"]
            free = self._scheduler and not self._closing and not any(job.active for job in active)
            if queued and free and not self._busy_elsewhere():
                self._start(queued[0])
            return sum(each.active for each in mine)

    def _looks_after(self, job: Record) -> bool:
        """Whether this server watches a job that runs: it has started it, or its server is gone."""
        return job.id in self._children or self._scheduler

    def _look_after(self, job: Record) -> None:
        """Ends a job whose process has ended; kills one that does not stop."""
        child = self._children.get(job.id)
        alive = child.poll() is None if child is not None else _alive(job)
        if not alive:
            self._children.pop(job.id, None)
            self._finish(job)
        elif job.stopping_since is not None and time.time() > job.stopping_since + _KILL_AFTER:
            _signal(job, signal.SIGKILL)
        elif job.state == "starting" and self._store.heads(group=job.id, limit=1):
            job.state = "running"
            job.save()

    def _busy_elsewhere(self) -> bool:
        """Whether a run is in progress on this machine. Those of others disturb none here."""
        if not self._store.running():
            return False
        self._store.fail_abandoned()
        groups = {run.group for run in self._store.running()}
        owners = (self._store.owner(group) for group in groups)
        return any(owner is not None and owner.is_local for owner in owners)

    def _start(self, job: Record) -> None:
        # Before its process: if this fails, or the server dies, the job is not started again.
        job.state, job.started_at = "starting", time.time()
        job.save()
        # The record has no password.
        own = store_url.without_secrets(self._store.url) == job.store
        try:
            with (
                (job.directory / "log").open("wb") as log,
                (job.directory / "result.json").open("wb") as result,
            ):
                child = subprocess.Popen(
                    job.command,
                    stdin=subprocess.DEVNULL,
                    stdout=result,
                    stderr=log,
                    env={
                        **os.environ,
                        "NETKV_STORE": self._store.url if own else job.store,
                        steps.VARIABLE: str(job.steps_file),
                    },
                    # Ctrl-C in the server's terminal must not reach it.
                    start_new_session=True,
                )
        except OSError as error:
            _ended(job, "failed", f"Its process cannot be started: {error}.")
            return
        self._children[job.id] = child
        job.process = identity(child.pid)
        if job.kind != "scenario":
            # It has no runs in the store that would show that it has begun.
            job.state = "running"
        job.save()

    def _finish(self, job: Record) -> None:
        """The end of a process decides by what it left, as its status is unknown to a new server:
        a result, or cancelled runs, or an error message."""
        self._store.fail_abandoned()
        result = job.result()
        if result is not None:
            job.ok = _succeeded(job, result)
            _ended(job, "done")
        elif job.stopping_since is not None or any(
            run.status == "cancelled" for run in self._store.heads(group=job.id)
        ):
            _ended(job, "cancelled")
        else:
            _ended(job, "failed", job.log_tail() or "Its process ended without a message.")

    # ------------------------------------------------------------------ views

    def _view(self, job: Record, queue: Sequence[str], *, whole: bool = False) -> Job:
        runs = [] if job.state == "queued" or not (whole or job.active) else self._heads(job.id)
        return Job(
            id=job.id,
            kind=job.kind,
            source="api",
            title=job.title,
            request=job.request,
            state=job.state,
            position=queue.index(job.id) + 1 if job.id in queue else None,
            created_at=job.created_at,
            started_at=job.started_at,
            finished_at=job.finished_at,
            expected_seconds=job.expected_seconds,
            progress=self._progress(job) if job.active else None,
            plan=self._plan(job.id) if whole else [],
            runs=runs if whole else [run for run in runs if run.status == "running"],
            ok=job.ok,
            error=job.error,
        )

    def _terminal(self, group: str, heads: Sequence[RunHead], *, whole: bool = False) -> Job:
        """A `netkv scenario run` of a terminal."""
        running = any(run.status == "running" for run in heads)
        cancelled = any(run.status == "cancelled" for run in heads)
        first = min(run.started_at for run in heads)
        return Job(
            id=group,
            source="terminal",
            title=heads[0].scenario,
            request=None,
            state="running" if running else "cancelled" if cancelled else "done",
            created_at=first,
            started_at=first,
            finished_at=None if running else max(run.finished_at or 0.0 for run in heads),
            progress=self._stored_progress(group) if running else None,
            plan=self._plan(group) if whole else [],
            runs=list(heads),
            ok=None if running else all(run.status == "done" for run in heads),
        )

    def _heads(self, group: str) -> list[RunHead]:
        """The runs of a group in the order in which they began."""
        return self._store.heads(group=group)[::-1]

    def _progress(self, job: Record) -> JobProgress | None:
        return self._stored_progress(job.id) if job.kind == "scenario" else _steps(job)

    def _stored_progress(self, group: str) -> JobProgress | None:
        progress = self._store.progress(group)
        return None if progress is None else JobProgress.model_validate(progress)

    def _plan(self, group: str) -> list[PlannedCell]:
        return [PlannedCell.model_validate(each) for each in self._store.planned(group)]

    def _interrupt_terminal(self, group: str) -> None:
        self._store.fail_abandoned()
        owner = self._store.owner(group)
        running = any(run.status == "running" for run in self._store.heads(group=group))
        if owner is None:
            raise NotFoundError(f"There is no job '{group}'.")
        if not running:
            raise ConflictError(f"Job {group} has ended.")
        if not owner.is_local:
            raise ConflictError(
                f"Job {group} runs on another machine, {owner.host}, and cannot be stopped here."
            )
        if not owner.is_alive:
            raise ConflictError(f"Job {group} has ended.")
        try:
            os.kill(owner.process.pid, signal.SIGINT)
        except ProcessLookupError:
            raise ConflictError(f"Job {group} has ended.") from None
        except PermissionError:
            raise ConflictError(f"Job {group} belongs to another user.") from None


def _in_queue(job: Record) -> tuple[bool, float]:
    """Jobs that run are before queued ones."""
    return job.state == "queued", job.created_at


def _alive(job: Record) -> bool:
    return job.process is not None and job.process.alive


def _stop(job: Record) -> None:
    """Asks a running job to stop."""
    if job.stopping_since is None:
        job.state, job.stopping_since = "stopping", time.time()
        job.save()
    _signal(job, signal.SIGINT)


def _signal(job: Record, number: signal.Signals) -> None:
    if job.process is not None and job.process.alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(job.process.pid, number)


def _ended(job: Record, how: Any, error: str | None = None) -> None:
    job.state, job.error, job.finished_at = how, error, time.time()
    job.save()


def _steps(job: Record) -> JobProgress | None:
    """The progress of a benchmark or tool."""
    found = steps.read(job.steps_file)
    if found is None:
        return None
    fraction = found["at"] / max(found["count"], 1)
    return JobProgress(
        done=found["at"],
        total=found["count"],
        fraction=fraction,
        left_seconds=steps.time_left(fraction, time.time() - found["began"]),
        phase=found["label"],
        updated_at=found["written"],
    )


def _succeeded(job: Record, result: Mapping[str, Any]) -> bool:
    """Whether all runs of a result are done and all thresholds were met; of several benchmarks,
    whether none failed; of a tool, whether it found nothing wrong."""
    if job.kind == "tool":
        return bool(result.get("ok", True))
    if job.kind == "benchmark":
        return all(part["failed"] is None for part in result.get("parts", []))
    runs, thresholds = result.get("runs", []), result.get("thresholds", [])
    return all(run["status"] == "done" for run in runs) and all(each["ok"] for each in thresholds)
