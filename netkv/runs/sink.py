"""The implementation of `RunSink` that writes runs into the store while they are in progress."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from netkv.errors import UsageError
from netkv.runs.mapping import sample_row
from netkv.runs.owner import Owner
from netkv.runs.schema import EventRow, GroupRow, RunRow, VerdictRow
from netkv.scenarios.results import (
    INTERRUPTED,
    RunEvent,
    RunResult,
    RunSample,
    RunStart,
    Threshold,
)

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from netkv.runs.store import Store


def new_group_id() -> str:
    """An id for one `netkv scenario run`. Ids of groups begin with 'g', unlike those of runs."""
    return f"g{secrets.token_hex(5)}"


class StoreSink:
    """Writes the runs of one `netkv scenario run`, with a transaction for each call.

    So readers see each sample at once, and a SIGKILL loses at most the current call. At exit, the
    context manager marks unfinished runs as failed.
    """

    def __init__(
        self, store: Store, *, group: str | None = None, command: Sequence[str] | None = None
    ) -> None:
        self._store = store
        self.group = group or new_group_id()
        """Id of the group of the runs; the first run adds it to the store."""
        self._command = list(sys.argv if command is None else command)
        self.finished: list[str] = []
        """Ids of the runs that ended, done or failed, without an interruption."""
        self.stopped: list[str] = []
        """Ids of the runs that were interrupted; the store has them as failed, with the reason."""
        self._open: set[str] = set()
        self._has_group = False

    def begin(self, run: RunStart) -> None:
        """Add a run that starts now."""
        with self._store.transaction() as session:
            _replace(session, run.id)
            if not self._has_group:
                owner = Owner.this_process()
                session.add(
                    GroupRow(
                        id=self.group,
                        created_at=time.time(),
                        command=self._command,
                        owner_host=owner.host,
                        owner_boot=owner.process.boot,
                        owner_pid=owner.process.pid,
                        owner_started=owner.process.start,
                    )
                )
                session.flush()
            fields = run.model_dump(mode="json")
            session.add(
                RunRow(
                    group_id=self.group,
                    program_hash=run.provenance.program_hash,
                    status="running",
                    figures={},
                    latency_histogram="",
                    **fields,
                )
            )
        self._has_group = True
        self._open.add(run.id)

    def sample(self, run_id: str, sample: RunSample) -> None:
        """Store one interval."""
        with self._store.transaction() as session:
            session.add(sample_row(run_id, sample))

    def event(self, run_id: str, event: RunEvent) -> None:
        """Store an event."""
        with self._store.transaction() as session:
            session.add(EventRow(run_id=run_id, **event.model_dump(mode="json")))

    def finish(self, result: RunResult) -> None:
        """Store the result of a run."""
        with self._store.transaction() as session:
            row = session.get_one(RunRow, result.id)
            row.status = result.status
            row.reason = result.reason
            row.finished_at = result.finished_at or time.time()
            row.latency_histogram = result.latency_histogram
            row.figures = result.figures()
        self._open.discard(result.id)
        (self.stopped if result.reason == INTERRUPTED else self.finished).append(result.id)

    def verdict(self, run_ids: list[str], thresholds: list[Threshold]) -> None:  # noqa: ARG002
        """Store the verdicts on the group (`run_ids` are the runs of this sink)."""
        if not self._has_group:
            return
        with self._store.transaction() as session:
            for threshold in thresholds:
                session.add(VerdictRow(group_id=self.group, **threshold.model_dump(mode="json")))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._open:
            return
        self._store.fail(self._open, _reason(error))
        self.stopped += sorted(self._open)
        self._open.clear()


def _replace(session: Session, run_id: str) -> None:
    """Delete an earlier simulated run with the same id, which contains a hash of all its inputs.

    Raises `UsageError` if that run is in progress.
    """
    row = session.get(RunRow, run_id)
    if row is None:
        return
    if row.status == "running":
        raise UsageError(
            f"The simulated run {run_id} is already in progress (process {row.group.owner_pid}); "
            f"its result will be the same."
        )
    group = row.group
    session.delete(row)
    session.flush()
    session.refresh(group)
    if not group.runs:
        session.delete(group)
        session.flush()


def _reason(error: BaseException | None) -> str:
    if error is None:
        return "The runner ended without finishing this run."
    if isinstance(error, KeyboardInterrupt):
        return "Interrupted by the user."
    return f"netkv failed: {error or type(error).__name__}"
