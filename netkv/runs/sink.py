"""The implementation of `RunSink` that writes runs into the store while they are in progress."""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from netkv.errors import StoreError, UsageError
from netkv.runs.mapping import sample_row
from netkv.runs.owner import Owner
from netkv.runs.records import RunRecord
from netkv.runs.schema import EventRow, GroupRow, RunRow, VerdictRow
from netkv.scenarios.results import (
    CANCELLED,
    RunEvent,
    RunResult,
    RunSample,
    RunStart,
    StoreLoss,
    Threshold,
)

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from netkv.runs.store import Store

_PATIENCE_SECONDS = 5.0
"""Time to wait for another writer. The event loop of a live run waits with it."""
_RETRY_PATIENCE_SECONDS = 0.1
"""The same, when the store could not be written before."""
_RETRY_SECONDS = (1.0, 30.0)
"""Time until a store that could not be written is tried again; it doubles up to the second."""
MAX_UNSTORED = 100_000
"""Samples and events that wait until the store can be written; further ones are lost."""

_DELETED = "it was deleted while it was in progress"

Kind = Literal["begin", "sample", "event", "finish", "verdict"]


def new_group_id() -> str:
    """An id for one `netkv scenario run`. Ids of groups begin with 'g', unlike those of runs."""
    return f"g{secrets.token_hex(5)}"


@dataclass(frozen=True)
class _Change:
    """A change of the store that was not made yet."""

    kind: Kind
    make: Callable[[Session], None]
    run_id: str | None = None
    """The run that it changes, which must be in the store; None if it adds one."""


class StoreSink:
    """Writes the runs of one `netkv scenario run`, with a transaction for each call.

    So readers see each sample at once, and a SIGKILL loses at most the current call. At exit, the
    context manager marks unfinished runs: as cancelled after an interrupt, else as failed.

    A store that cannot be written (full, locked, read-only, damaged, gone) does not end a run, nor
    does somebody who deletes the run from the store. Changes wait in memory and are tried again;
    what is left at the end is `loss`.
    """

    def __init__(
        self,
        store: Store,
        *,
        group: str | None = None,
        command: Sequence[str] | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`warn` gets a sentence when the store cannot be written, once, and when it can again."""
        self._store = store
        self.group = group or new_group_id()
        """Id of the group of the runs; the first run adds it to the store."""
        self._command = list(sys.argv if command is None else command)
        self.finished: list[str] = []
        """Ids of the runs that ended, done or failed."""
        self.failed: list[str] = []
        """Ids of those that failed."""
        self.cancelled: list[str] = []
        """Ids of the runs that the user stopped."""
        self._open: set[str] = set()
        self._starts: dict[str, RunStart] = {}
        self._thresholds: list[Threshold] = []
        self._has_group = False
        self._plan: list[dict[str, Any]] = []
        self._warn = warn
        self._warned = False
        self._told_again = False
        self._unstored: list[_Change] = []
        self._lost: Counter[Kind] = Counter()
        self._reason = ""
        """Why the store cannot be written; empty if it can."""
        self._last_reason = ""
        self._retry_at = 0.0
        self._retry_seconds = _RETRY_SECONDS[0]

    def plan(self, entries: Sequence[dict[str, Any]]) -> None:
        """Store the planned runs of the group: `scheme`, `params` and `repeat` of each, in order.

        The group exists from the first run on; until then the plan is remembered.
        """
        self._plan = list(entries)
        if self._has_group:
            self._update_group(plan=self._plan)

    def progress(self, document: dict[str, Any]) -> None:
        """Store the progress of the group (`groups.progress`), if a run has begun."""
        if self._has_group:
            self._update_group(progress=document)

    def begin(self, run: RunStart) -> None:
        """Add a run that starts now."""
        owner, now = Owner.this_process(), time.time()

        def make(session: Session) -> None:
            kept = _replace(session, run.id)
            if session.get(GroupRow, self.group) is None:
                session.add(
                    GroupRow(
                        id=self.group,
                        created_at=now,
                        command=self._command,
                        owner_host=owner.host,
                        owner_boot=owner.process.boot,
                        owner_pid=owner.process.pid,
                        owner_started=owner.process.start,
                        plan=self._plan,
                    )
                )
                session.flush()
            session.add(
                RunRow(
                    group_id=self.group,
                    program_hash=run.provenance.program_hash,
                    status="running",
                    figures={},
                    latency_histogram="",
                    **kept,
                    **run.model_dump(mode="json"),
                )
            )

        # Before the change, since an interrupt may follow it at once.
        self._open.add(run.id)
        self._starts[run.id] = run
        try:
            self._change("begin", make)
        except Exception:
            # It may be the run of another process, which goes on.
            self._open.discard(run.id)
            del self._starts[run.id]
            raise
        self._has_group = True

    def sample(self, run_id: str, sample: RunSample) -> None:
        """Store one interval."""
        self._change("sample", lambda session: session.add(sample_row(run_id, sample)), run_id)

    def event(self, run_id: str, event: RunEvent) -> None:
        """Store an event."""
        fields = event.model_dump(mode="json")
        self._change(
            "event", lambda session: session.add(EventRow(run_id=run_id, **fields)), run_id
        )

    def finish(self, result: RunResult) -> None:
        """Store the result of a run."""
        finished_at = result.finished_at or time.time()

        def make(session: Session) -> None:
            row = session.get_one(RunRow, result.id)
            row.status = result.status
            row.reason = result.reason
            row.finished_at = finished_at
            row.latency_histogram = result.latency_histogram
            row.figures = result.figures()

        self._change("finish", make, result.id)
        self._open.discard(result.id)
        (self.cancelled if result.status == "cancelled" else self.finished).append(result.id)
        if result.status == "failed":
            self.failed.append(result.id)

    def verdict(self, run_ids: list[str], thresholds: list[Threshold]) -> None:  # noqa: ARG002
        """Store the verdicts on the group (`run_ids` are the runs of this sink)."""
        self._thresholds = thresholds
        if not self._has_group:
            return

        def make(session: Session) -> None:
            if session.get(GroupRow, self.group) is None:
                return  # deleted with its runs
            for threshold in thresholds:
                session.add(VerdictRow(group_id=self.group, **threshold.model_dump(mode="json")))

        self._change("verdict", make)

    @property
    def loss(self) -> StoreLoss | None:
        """What could not be stored so far; None if the store has everything."""
        counts = self._lost + Counter(each.kind for each in self._unstored)
        if not counts:
            return None
        return StoreLoss(
            reason=self._last_reason,
            runs=counts["finish"],
            samples=counts["sample"],
            events=counts["event"],
        )

    def has(self, run_id: str) -> bool:
        """Whether this run has begun here."""
        return run_id in self._starts

    def record(self, result: RunResult) -> RunRecord:
        """The record of a run that ended, without the store."""
        return RunRecord.model_validate(
            {
                **self._starts[result.id].model_dump(),
                **result.model_dump(),
                "group": self.group,
                "thresholds": self._thresholds,
            }
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._store_all()
        if not self._open:
            return
        interrupted = isinstance(error, KeyboardInterrupt | asyncio.CancelledError)
        try:
            if interrupted:
                self._store.end(self._open, "cancelled", CANCELLED)
            else:
                self._store.end(self._open, "failed", _reason(error))
        except StoreError as unusable:
            self._failed(unusable)
            self._lost["finish"] += len(self._open)
        (self.cancelled if interrupted else self.finished).extend(sorted(self._open))
        self._open.clear()

    # ------------------------------------------------------------------ the store

    def _change(
        self, kind: Kind, make: Callable[[Session], None], run_id: str | None = None
    ) -> None:
        """Makes a change of the store now, or later if it cannot be written."""
        if len(self._unstored) >= MAX_UNSTORED and kind in ("sample", "event"):
            self._lost[kind] += 1
            return
        change = _Change(kind, make, run_id)
        self._unstored.append(change)
        if self._reason and time.monotonic() < self._retry_at:
            return
        try:
            self._store_all()
        except Exception:
            # The store refuses this change; earlier ones wait.
            self._unstored.remove(change)
            raise

    def _store_all(self) -> None:
        """Makes all changes that wait."""
        if not self._unstored:
            return
        deleted: Counter[Kind] = Counter()
        try:
            # Cleared before an interrupt takes effect, after which this is called again.
            with self._store.transaction(self._patience, self._unstored.clear) as session:
                for each in self._unstored:
                    if each.run_id is not None and session.get(RunRow, each.run_id) is None:
                        deleted[each.kind] += 1
                    else:
                        each.make(session)
        except StoreError as error:
            self._failed(error)
        else:
            self._succeeded()
            if deleted:
                self._lost += deleted
                self._last_reason = _DELETED
                self._warn_once(f"Warning: the run store lacks a run: {_DELETED}. It goes on.")

    def _update_group(self, **values: Any) -> None:
        """Changes columns of the group, which later changes replace."""
        if self._unstored or (self._reason and time.monotonic() < self._retry_at):
            return
        try:
            with self._store.transaction(self._patience) as session:
                row = session.get(GroupRow, self.group)
                if row is None:
                    return  # deleted with its runs
                for name, value in values.items():
                    setattr(row, name, value)
        except StoreError as error:
            self._failed(error)
        else:
            self._succeeded()

    @property
    def _patience(self) -> float:
        return _RETRY_PATIENCE_SECONDS if self._reason else _PATIENCE_SECONDS

    def _failed(self, error: StoreError) -> None:
        first, longest = _RETRY_SECONDS
        self._retry_seconds = min(2 * self._retry_seconds, longest) if self._reason else first
        self._retry_at = time.monotonic() + self._retry_seconds
        self._reason = self._last_reason = error.why
        self._warn_once(
            f"Warning: the run store cannot be written ({error.why}). The run goes on without "
            f"it; what is measured is stored when it can be written again."
        )

    def _warn_once(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            self._warn(text)

    def _succeeded(self) -> None:
        if self._reason and not self._lost and not self._told_again:
            self._told_again = True
            self._warn("The run store can be written again; nothing is lost.")
        self._reason = ""


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
