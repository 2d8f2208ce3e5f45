"""Starts and stops runs for the dashboard: `netkv scenario run` in a separate process.

In a separate process, a run does not compete with the server for the interpreter, and SIGINT stops
it as Ctrl-C does. The launcher refuses a second run, because concurrent runs distort each other's
measurements. Runs that were started from a terminal count as well.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

from netkv.api.models.activity import Activity, RunRequest
from netkv.api.problems import ConflictError
from netkv.errors import NetkvError
from netkv.lab import state
from netkv.runs import Store
from netkv.runs.sink import new_group_id

_TAIL_LINES = 12
_KILL_AFTER = 30.0
"""Seconds that an interrupted run has to take its rack down."""


class Launcher:
    """The process of the run that this server has started; at most one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._group: str | None = None
        self._scenario: str | None = None
        self._log: Path | None = None
        self._stopping = False
        self._error: str | None = None

    def start(self, request: RunRequest) -> Activity:
        """Start a run; raises `ConflictError` if one is in progress.

        Raises `UsageError` if the request is invalid.
        """
        _check(request)
        with self._lock:
            self._reap()
            self._refuse_second()
            group = new_group_id()
            self._log = state.home() / "logs" / f"serve-{group}.log"
            try:
                self._log.parent.mkdir(parents=True, exist_ok=True)
                with self._log.open("wb") as log:
                    self._process = _spawn(_command(request, group), log, self._store.url)
            except OSError as error:
                raise NetkvError(f"The run cannot be started: {error}.") from error
            self._group, self._scenario = group, request.scenario
            self._stopping, self._error = False, None
        return self.activity()

    def stop(self) -> Activity:
        """Interrupt the run in progress, like Ctrl-C; raises `ConflictError` if there is none."""
        with self._lock:
            self._reap()
            if self._process is not None:
                self._stopping = True
                self._process.send_signal(signal.SIGINT)
                threading.Thread(target=_kill_if_stuck, args=(self._process,), daemon=True).start()
            else:
                self._interrupt_other()
        return self.activity()

    def activity(self) -> Activity:
        """The current state, and the runs in progress."""
        with self._lock:
            self._reap()
            running = self._store.running()
            if self._process is None:
                if not running:
                    return Activity(state="idle", error=self._error, group=self._group)
                first = running[0]
                return Activity(
                    state="running", group=first.group, scenario=first.scenario, runs=running
                )
            own = [run for run in running if run.group == self._group]
            return Activity(
                state="stopping" if self._stopping else "running" if own else "starting",
                group=self._group,
                scenario=self._scenario,
                runs=own,
            )

    def close(self) -> None:
        """Stop the process that this launcher has started, and wait for its end."""
        with self._lock:
            process = self._process
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGINT)
            _kill_if_stuck(process)

    def _reap(self) -> None:
        """Forget a process that has ended. If it failed before its first run, keep its error."""
        if self._process is None or self._process.poll() is None:
            return
        status = self._process.returncode
        self._process = None
        self._store.fail_abandoned()
        if status != 0 and not self._stopping and not self._store.heads(group=self._group, limit=1):
            self._error = f"The run ended with status {status}. {_tail(self._log)}".strip()
        elif self._log is not None:
            self._log.unlink(missing_ok=True)
        self._stopping = False

    def _refuse_second(self) -> None:
        if self._process is not None:
            raise ConflictError(
                f"A run of '{self._scenario}' is in progress. Stop it, or wait for its end."
            )
        self._store.fail_abandoned()
        for run in self._store.running():
            raise ConflictError(
                f"A run of '{run.scenario}' that was started elsewhere is in progress ({run.id}). "
                f"Concurrent runs distort each other's figures: stop it, or wait for its end."
            )

    def _interrupt_other(self) -> None:
        self._store.fail_abandoned()
        for run in self._store.running():
            owner = self._store.owner(run.group)
            if owner is None or not owner.is_local:
                raise ConflictError(
                    f"Run {run.id} is in progress on another machine and cannot be stopped here."
                )
            if owner.is_alive:
                os.kill(owner.process.pid, signal.SIGINT)
                return
        raise ConflictError("Nothing is running.")


def _check(request: RunRequest) -> None:
    """Validate a request before the process starts, so that the user sees the `UsageError`."""
    from netkv.scenarios import loader
    from netkv.scenarios.run_plan import only_schemes

    scenario = loader.load(loader.find(request.scenario), request.set, also=request.schemes)
    if request.schemes:
        only_schemes(scenario, request.schemes)


def _command(request: RunRequest, group: str) -> list[str]:
    command = [sys.executable, "-m", "netkv", "scenario", "run", request.scenario]
    command += ["--json", f"--group={group}"]
    command += [f"--scheme={name}" for name in request.schemes]
    command += [f"--set={item}" for item in request.set]
    if request.seed is not None:
        command.append(f"--seed={request.seed}")
    if request.repeat is not None:
        command.append(f"--repeat={request.repeat}")
    return command


def _spawn(command: list[str], log: IO[bytes], store_url: str) -> subprocess.Popen[bytes]:
    # In its own session: Ctrl-C in the server's terminal must not reach it, `close` stops it.
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=log,
        env={**os.environ, "NETKV_STORE": store_url},
        start_new_session=True,
    )


def _kill_if_stuck(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_KILL_AFTER)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _tail(log: Path | None) -> str:
    if log is None:
        return ""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-_TAIL_LINES:])
