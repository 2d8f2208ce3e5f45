"""The implementation of `RunSink` that writes runs into the store while they are in progress."""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from sqlalchemy import bindparam, delete, insert, select, update

from netkv.errors import StoreError, UsageError
from netkv.runs.mapping import sample_values
from netkv.runs.owner import Owner
from netkv.runs.records import RunRecord
from netkv.runs.schema import (
    Base,
    EventRow,
    GroupRow,
    RunRow,
    SampleRow,
    VerdictRow,
    delete_if_empty,
)
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
_LAST_PATIENCE_SECONDS = 30.0
"""The same at the exit: of a server with many writers, the others go first then."""
_RETRY_SECONDS = (1.0, 30.0)
"""Time until a store that could not be written is tried again; it doubles up to the second."""
MAX_UNSTORED = 100_000
"""Samples and events that wait until the store can be written; further ones are lost."""
_MANY = 1000
"""Planned runs from which on descriptions of runs that ended are not kept."""

# Without the accounts of the ORM: a simulation stores hundreds of samples in a second.
_TABLES = Base.metadata.tables
_RUNS, _GROUPS = _TABLES[RunRow.__tablename__], _TABLES[GroupRow.__tablename__]
_NEW_RUN = insert(_RUNS)
_NEW_SAMPLE = insert(_TABLES[SampleRow.__tablename__])
_NEW_EVENT = insert(_TABLES[EventRow.__tablename__])
_STATUS = select(_RUNS.c.status).where(_RUNS.c.id == bindparam("run"))
_CHANGE_OF_GROUP = (
    update(_GROUPS).where(_GROUPS.c.id == bindparam("group")).values(last_change=bindparam("last"))
)

_DELETED = "it was deleted while it was in progress"

Kind = Literal["begin", "sample", "event", "finish", "memory", "verdict"]


def new_group_id() -> str:
    """An id for one `netkv scenario run`. Ids of groups begin with 'g', unlike those of runs."""
    return f"g{secrets.token_hex(5)}"


@dataclass(frozen=True)
class _Change:
    """A change of the store that was not made yet."""

    number: int
    """Increases with each change of a sink."""
    kind: Kind
    make: Callable[[Session], object] | dict[str, Any]
    """Makes it; of a sample or an event its row."""
    run_id: str | None = None
    """The run that it changes, which must be in the store; None if it adds one."""
    begins: str | None = None
    """The run that it adds."""


class _Rows:
    """New samples and events, which are inserted together."""

    def __init__(self) -> None:
        self._of: dict[Kind, list[dict[str, Any]]] = {"sample": [], "event": []}

    def add(self, kind: Kind, row: dict[str, Any]) -> None:
        self._of[kind].append(row)

    def insert(self, session: Session) -> None:
        """Inserts those that were added since the last time."""
        for rows, statement in ((self._of["sample"], _NEW_SAMPLE), (self._of["event"], _NEW_EVENT)):
            if rows:
                session.execute(statement, list(rows))
                rows.clear()


class StoreSink:
    """Writes the runs of one `netkv scenario run`, with a transaction for each call or, within
    `together`, for several.

    So readers see each sample at once, and a SIGKILL loses at most the current call. At exit, the
    context manager marks unfinished runs: as cancelled after an interrupt, else as failed.

    A store that cannot be written (full, locked, read-only, damaged, gone) does not end a run, nor
    does somebody who deletes the run from the store. Changes wait in memory and are tried again;
    what is left at the end is `loss`. A change is made once, also if the answer to a commit is
    lost: on a server each transaction writes the number of its last change (`groups.last_change`).
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
        self.adopted: list[str] = []
        """Ids of the runs that were stored already."""
        self.failed: list[str] = []
        """Ids of those that failed."""
        self.cancelled: list[str] = []
        """Ids of the runs that the user stopped."""
        self._open: set[str] = set()
        self._starts: dict[str, RunStart] = {}
        self._ended: set[str] = set()
        """Ids of runs that began here and are in none of `_starts` any more."""
        self._thresholds: list[Threshold] = []
        self._has_group = False
        self._held = False
        self._plan: list[dict[str, Any]] = []
        self._warn = warn
        self._warned = False
        self._told_again = False
        self._unstored: list[_Change] = []
        self._name = secrets.token_hex(5)
        """Distinguishes its changes from those of earlier sinks of the same group."""
        self._numbers = count(1)
        self._uncertain = False
        """Whether the last transaction may have been committed, although it has failed."""
        self._lost: Counter[Kind] = Counter()
        self._leaving = False
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
        now = time.time()

        def make(session: Session) -> None:
            kept = _replace(session, run.id)
            self._add_group(session, now)
            values = {
                "group_id": self.group,
                "program_hash": run.provenance.program_hash,
                "status": "running",
                "figures": {},
                "latency_histogram": "",
                "tags": [],
                "note": "",
                "pinned": False,
                **kept,
                **run.model_dump(mode="json"),
            }
            session.execute(_NEW_RUN, values)

        # Before the change, since an interrupt may follow it at once.
        self._open.add(run.id)
        self._starts[run.id] = run
        self._change("begin", make, begins=run.id)
        self._has_group = True

    def adopt(self, run_id: str) -> None:
        """Move a simulated run that is stored already into this group."""
        if run_id in self._starts or run_id in self._ended or run_id in self.adopted:
            return
        now = time.time()

        def make(session: Session) -> None:
            self._add_group(session, now)
            of_run = RunRow.id == run_id
            before = session.scalars(select(RunRow.group_id).where(of_run)).one()
            session.execute(update(RunRow).where(of_run).values(group_id=self.group))
            if before != self.group:
                delete_if_empty(session, before)

        self._change("begin", make, run_id)
        self._has_group = True
        self.adopted.append(run_id)

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is stored within this context is stored at its end, in one transaction."""
        self._held = True
        first = len(self._unstored)
        try:
            yield
        finally:
            self._held = False
            self._store_from(first)

    def sample(self, run_id: str, sample: RunSample) -> None:
        """Store one interval."""
        values = sample_values(run_id, sample)
        self._change("sample", values, run_id)

    def event(self, run_id: str, event: RunEvent) -> None:
        """Store an event."""
        values = {"run_id": run_id, **event.model_dump(mode="json")}
        self._change("event", values, run_id)

    def finish(self, result: RunResult) -> None:
        """Store the result of a run."""
        finished_at = result.finished_at or time.time()

        def make(session: Session) -> None:
            values = {
                "status": result.status,
                "reason": result.reason,
                "finished_at": finished_at,
                "latency_histogram": result.latency_histogram,
                "figures": result.figures(),
            }
            session.execute(update(RunRow).where(RunRow.id == result.id).values(values))

        self._change("finish", make, result.id)
        self._open.discard(result.id)
        if len(self._plan) > _MANY:
            # What describes them takes more memory than anything else of them.
            self._starts.pop(result.id, None)
            self._ended.add(result.id)
        (self.cancelled if result.status == "cancelled" else self.finished).append(result.id)
        if result.status == "failed":
            self.failed.append(result.id)

    def memory(self, run_id: str, peak: int) -> None:
        """Store the most memory of the process that has executed a run, in bytes."""

        def make(session: Session) -> None:
            session.execute(update(RunRow).where(RunRow.id == run_id).values(peak_memory=peak))

        self._change("memory", make, run_id)

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
        """Whether `record` has what describes this run."""
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
        self._leaving = True
        try:
            self._store_all()
            self._end_runs(error)
        finally:
            self._store.end_writing(self.group)

    def _end_runs(self, error: BaseException | None) -> None:
        """Ends the runs that are unfinished at the exit."""
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
        self,
        kind: Kind,
        make: Callable[[Session], object] | dict[str, Any],
        run_id: str | None = None,
        begins: str | None = None,
    ) -> None:
        """Makes a change of the store now, or later if it cannot be written."""
        if len(self._unstored) >= MAX_UNSTORED and kind in ("sample", "event"):
            self._lost[kind] += 1
            return
        self._unstored.append(_Change(next(self._numbers), kind, make, run_id, begins))
        if not self._held:
            self._store_from(len(self._unstored) - 1)

    def _store_from(self, first: int) -> None:
        """Makes all changes that wait; if the store refuses one, those from `first` on are dropped,
        and the run that they begin is none of this sink's."""
        if self._reason and time.monotonic() < self._retry_at:
            return
        try:
            self._store_all()
        except Exception:
            refused, self._unstored[first:] = self._unstored[first:], []
            for each in refused:
                if each.begins is not None:
                    # It may be the run of another process, which goes on.
                    self._open.discard(each.begins)
                    self._starts.pop(each.begins, None)
                    self._ended.discard(each.begins)
                    for ended in (self.finished, self.failed, self.cancelled):
                        if each.begins in ended:
                            ended.remove(each.begins)
            raise

    def _add_group(self, session: Session, now: float) -> None:
        """Adds the group of this sink, unless it is there."""
        seen_at = self._store.begin_writing(self.group)
        # Not the row, whose plan may have thousands of runs.
        if session.scalar(select(GroupRow.id).where(GroupRow.id == self.group)) is not None:
            return
        owner = Owner.this_process()
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
                seen_at=seen_at,
            )
        )
        session.flush()

    def _store_all(self) -> None:
        """Makes all changes that wait."""
        if not self._unstored:
            return
        deleted: Counter[Kind] = Counter()
        there: set[str] = set()
        uncertain, self._uncertain = self._uncertain, True
        try:
            # Cleared before an interrupt takes effect, after which this is called again.
            with self._store.transaction(self._patience, self._unstored.clear) as session:
                stored = self._last_stored(session) if uncertain else 0
                rows = _Rows()
                for each in self._unstored:
                    if each.number <= stored:
                        continue
                    run = each.run_id
                    if run is None or run in there or self._is_there(session, run):
                        there.update(it for it in (run, each.begins) if it is not None)
                        if callable(each.make):
                            rows.insert(session)
                            each.make(session)
                        else:
                            rows.add(each.kind, each.make)
                    else:
                        deleted[each.kind] += 1
                rows.insert(session)
                session.flush()
                if self._store.is_shared:
                    # SQLite, which always knows how a commit ended, would write the plan again.
                    last_change = f"{self._name}.{self._unstored[-1].number}"
                    values = {"group": self.group, "last": last_change}
                    session.execute(_CHANGE_OF_GROUP, values)
            self._uncertain = False
        except StoreError as error:
            self._failed(error)
        else:
            self._succeeded()
            if deleted:
                self._lost += deleted
                self._last_reason = _DELETED
                self._warn_once(f"Warning: the run store lacks a run: {_DELETED}. It goes on.")

    def _last_stored(self, session: Session) -> int:
        """The number of the last change that the store has."""
        text = session.scalar(select(GroupRow.last_change).where(GroupRow.id == self.group))
        name, _, number = (text or "").partition(".")
        return int(number) if name == self._name else 0

    def _is_there(self, session: Session, run_id: str) -> bool:
        """Whether a run was not deleted.

        Another host may have marked it as failed while this process was silent: it runs again.
        """
        status = session.scalar(_STATUS, {"run": run_id})
        if status == "failed" and run_id in self._open:
            again: dict[str, Any] = {
                "status": "running",
                "reason": None,
                "finished_at": None,
                "figures": {},
            }
            session.execute(update(RunRow).where(RunRow.id == run_id).values(again))
        return status is not None

    def _update_group(self, **values: Any) -> None:
        """Changes columns of the group, which later changes replace."""
        if self._unstored or (self._reason and time.monotonic() < self._retry_at):
            return
        try:
            with self._store.transaction(self._patience) as session:
                # It may have been deleted with its runs.
                session.execute(update(GroupRow).where(GroupRow.id == self.group).values(values))
        except StoreError as error:
            self._failed(error)
        else:
            self._succeeded()

    @property
    def _patience(self) -> float:
        if self._leaving and self._store.is_shared:
            return _LAST_PATIENCE_SECONDS
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
    of_run = RunRow.id == run_id
    columns = (RunRow.status, RunRow.group_id, RunRow.tags, RunRow.note, RunRow.pinned)
    row = session.execute(select(*columns).where(of_run)).one_or_none()
    if row is None:
        return {}
    if row.status == "running":
        pid = session.scalar(select(GroupRow.owner_pid).where(GroupRow.id == row.group_id))
        raise UsageError(
            f"The simulated run {run_id} is already in progress (process {pid}); its result will "
            f"be the same."
        )
    session.execute(delete(RunRow).where(of_run))
    delete_if_empty(session, row.group_id)
    return {"tags": row.tags, "note": row.note, "pinned": row.pinned}


def _reason(error: BaseException | None) -> str:
    if error is None:
        return "The runner ended without finishing this run."
    return f"netkv failed: {error or type(error).__name__}"
