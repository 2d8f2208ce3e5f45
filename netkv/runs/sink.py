"""The implementation of `RunSink` that writes runs into the store while they are in progress."""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from netkv.errors import UsageError
from netkv.runs.mapping import sample_row
from netkv.runs.owner import Owner
from netkv.runs.schema import EventRow, GroupRow, RunRow, VerdictRow
from netkv.scenarios.results import (
    CANCELLED,
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
    context manager marks unfinished runs: as cancelled after an interrupt, else as failed.
    """

    def __init__(
        self, store: Store, *, group: str | None = None, command: Sequence[str] | None = None
    ) -> None:
        self._store = store
        self.group = group or new_group_id()
        """Id of the group of the runs; the first run adds it to the store."""
        self._command = list(sys.argv if command is None else command)
        self.finished: list[str] = []
        """Ids of the runs that ended, done or failed."""
        self.cancelled: list[str] = []
        """Ids of the runs that the user stopped."""
        self._open: set[str] = set()
        self._has_group = False
        self._plan: list[dict[str, Any]] = []

    def plan(self, entries: Sequence[dict[str, Any]]) -> None:
        """Store the planned runs of the group: `scheme`, `params` and `repeat` of each, in order.

        The group exists from the first run on; until then the plan is remembered.
        """
        self._plan = list(entries)
        if self._has_group:
            with self._store.transaction() as session:
                session.get_one(GroupRow, self.group).plan = self._plan

    def progress(self, document: dict[str, Any]) -> None:
        """Store the progress of the group (`groups.progress`), if a run has begun."""
        if self._has_group:
            with self._store.transaction() as session:
                session.get_one(GroupRow, self.group).progress = document

    def begin(self, run: RunStart) -> None:
        """Add a run that starts now."""
        with self._store.transaction() as session:
            kept = _replace(session, run.id)
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
                        plan=self._plan,
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
                    **kept,
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
        (self.cancelled if result.status == "cancelled" else self.finished).append(result.id)

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
        if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
            self._store.end(self._open, "cancelled", CANCELLED)
            self.cancelled += sorted(self._open)
        else:
            self._store.end(self._open, "failed", _reason(error))
            self.finished += sorted(self._open)
        self._open.clear()


def _replace(session: Session, run_id: str) -> dict[str, Any]:
    """Delete an earlier simulated run with the same id, which contains a hash of all its inputs.

    Returns what the user added to it, which the new run keeps. Raises `UsageError` if that run is
    in progress.
    """
    row = session.get(RunRow, run_id)
    if row is None:
        return {}
    if row.status == "running":
        raise UsageError(
            f"The simulated run {run_id} is already in progress (process {row.group.owner_pid}); "
            f"its result will be the same."
        )
    kept = {"tags": row.tags, "note": row.note, "pinned": row.pinned}
    group = row.group
    session.delete(row)
    session.flush()
    session.refresh(group)
    if not group.runs:
        session.delete(group)
        session.flush()
    return kept


def _reason(error: BaseException | None) -> str:
    if error is None:
        return "The runner ended without finishing this run."
    return f"netkv failed: {error or type(error).__name__}"
