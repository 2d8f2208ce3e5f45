"""The run store: its queries and changes.

By default, the store is one SQLite file in WAL mode, which can be read while a run is written.
`NETKV_STORE` is the SQLAlchemy URL of another file, or of a database on a PostgreSQL server, which
the hosts of a group share.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Self

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from netkv.errors import NetkvError, StoreError, UsageError
from netkv.runs import (
    archive,
    database,
    interrupts,
    mapping,
    postgresql,
    remarks,
    series,
    store_url,
)
from netkv.runs.database_clock import DatabaseTime, ServerStart
from netkv.runs.default_store import default_url
from netkv.runs.heartbeat import SILENT_SECONDS, Heartbeat
from netkv.runs.owner import Owner
from netkv.runs.query import Page, RunQuery, search
from netkv.runs.records import RunHead, RunRecord, Timing
from netkv.runs.schema import (
    EventRow,
    GroupRow,
    RunRow,
    SampleRow,
    VerdictRow,
    delete_if_empty,
)
from netkv.runs.series import Columns
from netkv.scenarios import collect
from netkv.scenarios.results import (
    RunEvent,
    RunResult,
    RunSample,
    RunStart,
    Status,
    Threshold,
)

_BATCH = 1000
"""Runs in a query by their ids; databases limit the parameters of a query."""


def _interrupt_before(error: BaseException) -> KeyboardInterrupt | None:
    """The interrupt during whose handling an error was raised, if any."""
    cause = error.__context__
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__context__
    return cause


class Store:
    """All runs. Thread-safe; close it, or use it as a context manager."""

    def __init__(self, url: str | None = None) -> None:
        """Open or create the store, and mark unfinished runs of ended processes as failed.

        A file that cannot be written is only read (`read_only`). Raises `NetkvError` if it cannot
        be opened or has another version.
        """
        self.url = url or default_url()
        """With its password; messages show `netkv.runs.store_url.shown`."""
        self._engine = database.connect(self.url)
        self._file = store_url.file_of(self.url)
        self.is_shared = self._engine.dialect.name != "sqlite"
        """Whether it is on a server, with writers of several hosts."""
        self._readers = self._engine
        if self.is_shared:
            self._readers = self._engine.execution_options(**postgresql.READS)
        self._heartbeat = Heartbeat(self._beat)
        self.read_only: str | None = None
        """Why it cannot be written; None if it can."""
        self._inode: int | None = None
        try:
            self.read_only = database.prepare(self._engine, self.url)
            self.fail_abandoned()
            self._inode = self._found_inode()
        except SQLAlchemyError as error:
            self.close()
            detail = getattr(error, "orig", None) or error
            raise NetkvError(
                f"The run store {store_url.shown(self.url)} cannot be opened: {detail}. "
                f"NETKV_STORE or NETKV_HOME can name another place."
            ) from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close all connections."""
        self._heartbeat.close()
        with suppress(StoreError):
            self._engine.dispose()

    def _found_inode(self) -> int | None:
        if self._file is None:
            return None
        try:
            return self._file.stat().st_ino
        except OSError:
            return None

    def check_writable(self) -> None:
        """Raises `StoreError` if it is read-only, or its file was deleted or replaced."""
        if self.read_only is not None:
            raise database.read_only(self.url, self.read_only)
        # SQLite would go on writing to a file that has no name any more.
        if self._inode is not None and self._found_inode() != self._inode:
            raise database.unusable(self.url, "its file was deleted or replaced")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session for queries; a value that no netkv has written is damage."""
        try:
            with Session(self._readers) as session:
                yield session
        except ValueError as error:
            raise database.damaged(self.url, "a value in it cannot be read") from error

    @contextmanager
    def transaction(
        self,
        patience: float = database.BUSY_SECONDS,
        committed: Callable[[], None] | None = None,
    ) -> Iterator[Session]:
        """A session whose changes are committed at the end; an exception discards them.

        An interrupt takes effect after the commit, and after `committed`, which is called then.

        `patience`: seconds to wait for the lock of another writer. Raises `StoreError` if the store
        cannot be written, also if its file was deleted or replaced.
        """
        self.check_writable()
        engine = self._engine.execution_options(**database.WRITES, netkv_patience=patience)
        try:
            with Session(engine) as session:
                session.connection()  # waits for the lock, if need be
                with interrupts.held():
                    yield session
                    session.commit()
                    if committed is not None:
                        committed()
        except Exception as error:
            # SQLAlchemy's own clean-up after an interrupt may fail.
            if interrupt := _interrupt_before(error):
                raise interrupt from None
            raise

    # Queries

    def heads(
        self, *, group: str | None = None, scenario: str | None = None, limit: int | None = None
    ) -> list[RunHead]:
        """Runs without their series, newest first."""
        return self.search(RunQuery(group=group, scenario=scenario, limit=limit)).runs

    def search(self, query: RunQuery) -> Page:
        """Runs without their series, by filters and in an order of choice."""
        with self.reading() as session:
            return search(session, query)

    def timings(self, scenario: str | None = None, limit: int = 1000) -> list[Timing]:
        """Durations of successful runs of one scenario, or of all, newest first."""
        query = (
            select(
                RunRow.scenario,
                RunRow.scheme,
                RunRow.params,
                RunRow.mode,
                RunRow.target,
                RunRow.parameters,
                RunRow.provenance,
                RunRow.started_at,
                RunRow.finished_at,
                RunRow.peak_memory,
            )
            .where(RunRow.status == "done")
            .order_by(RunRow.started_at.desc())
        )
        if scenario is not None:
            query = query.where(RunRow.scenario == scenario)
        with self.reading() as session:
            return [
                Timing(
                    scenario=row.scenario,
                    scheme=row.scheme,
                    params=row.params,
                    mode=row.mode,
                    target=row.target,
                    parameters=row.parameters,
                    host=row.provenance.get("host", {}),
                    seconds=row.finished_at - row.started_at,
                    peak_memory=row.peak_memory,
                )
                for row in session.execute(query.limit(limit))
                if row.finished_at is not None
            ]

    def counts(self) -> dict[str, int]:
        """Number of runs of each status: `running`, `done`, ..."""
        query = select(RunRow.status, func.count()).group_by(RunRow.status)
        with self.reading() as session:
            return {row[0]: row[1] for row in session.execute(query)}

    def running(self) -> list[RunHead]:
        """Runs in progress, in the order of their start."""
        return self.search(RunQuery(status=("running",), descending=False)).runs

    def head(self, run_id: str) -> RunHead:
        """A run without its series; raises `UsageError` if no run has exactly this id."""
        with self.reading() as session:
            return mapping.head(_row(session, run_id))

    def record(self, run_id: str) -> RunRecord:
        """The record of a run; raises `UsageError` if no run has exactly this id."""
        with self.reading() as session:
            return _record(session, _row(session, run_id))

    def result(self, run_id: str) -> RunResult | None:
        """The result of a successful run; None if no such run has exactly this id."""
        with self.reading() as session:
            row = session.get(RunRow, run_id)
            if row is None or row.status != "done":
                return None
            return _record(session, row).result()

    def result_like(self, start: RunStart) -> RunResult | None:
        """The result of a successful simulated run with the same settings, program and source, as
        it was reported; None if there is none, or nobody can say, because files of the source
        differ from their commit."""
        found = None if start.provenance.uncommitted else self.result(start.id)
        if found is None:
            return None
        # The store knows more of it.
        series = {name: found.series[name] for name in collect.columns() if name in found.series}
        return found.model_copy(update={"series": series, "finished_at": None})

    def records(self, run_ids: Sequence[str]) -> list[RunRecord]:
        """The records of runs, in the given order."""
        return [self.record(run_id) for run_id in run_ids]

    def comparable(self, run_ids: Sequence[str]) -> list[RunRecord]:
        """What `netkv.runs.compare` needs of runs, in the given order: their records without
        series, events, verdicts and histogram. Raises `UsageError` for a run that is missing."""
        found: dict[str, RunRecord] = {}
        with self.reading() as session:
            for at in range(0, len(run_ids), _BATCH):
                ids = RunRow.id.in_(run_ids[at : at + _BATCH])
                rows = session.execute(select(*mapping.SETTINGS).where(ids))
                found |= {row.id: mapping.settled(row) for row in rows}
        for run_id in run_ids:
            if run_id not in found:
                raise _unknown(run_id)
        return [found[run_id] for run_id in run_ids]

    def histograms(self, run_ids: Sequence[str]) -> dict[str, str]:
        """The latency histograms of runs, by id; empty texts for runs without one."""
        found: dict[str, str] = {}
        with self.reading() as session:
            for at in range(0, len(run_ids), _BATCH):
                ids = RunRow.id.in_(run_ids[at : at + _BATCH])
                rows = session.execute(select(RunRow.id, RunRow.latency_histogram).where(ids))
                found |= {row.id: row.latency_histogram for row in rows}
        return found

    def values(self) -> dict[str, dict[str, int]]:
        """The scenarios, schemes and tags of all runs, each with its number of runs."""
        found: dict[str, Counter[str]] = {name: Counter() for name in ("scenario", "scheme", "tag")}
        with self.reading() as session:
            for row in session.execute(select(RunRow.scenario, RunRow.scheme, RunRow.tags)):
                found["scenario"][row.scenario] += 1
                found["scheme"][row.scheme] += 1
                found["tag"].update(row.tags)
        return {name: dict(sorted(counts.items())) for name, counts in found.items()}

    def samples(
        self, run_id: str, since: float | None = None, until: float | None = None
    ) -> tuple[list[RunSample], int]:
        """The intervals of a run that end from `since` to `until`, in its seconds, and the id of
        the last one (0 if there are none)."""
        query = series.within(select(SampleRow), run_id, since, until)
        with self.reading() as session:
            rows = session.scalars(query).all()
            return [mapping.sample(row) for row in rows], (rows[-1].id if rows else 0)

    def series(
        self,
        run_id: str,
        since: float | None = None,
        until: float | None = None,
        *,
        scalars: bool = False,
    ) -> tuple[Columns, int]:
        """The same intervals as columns (`netkv.runs.series`), and the id of the last one."""
        with self.reading() as session:
            return series.read(session, run_id, since, until, scalars=scalars)

    def events(self, run_id: str) -> list[RunEvent]:
        """The events of a run."""
        query = select(EventRow).where(EventRow.run_id == run_id).order_by(EventRow.id)
        with self.reading() as session:
            return [mapping.event(row) for row in session.scalars(query)]

    def thresholds(self, group: str) -> list[Threshold]:
        """The verdicts on a group; empty while it runs."""
        query = select(VerdictRow).where(VerdictRow.group_id == group).order_by(VerdictRow.id)
        with self.reading() as session:
            return [mapping.threshold(row) for row in session.scalars(query)]

    def owner(self, group: str) -> Owner | None:
        """The process that writes, or wrote, a group; None if there is no such group."""
        with self.reading() as session:
            row = session.get(GroupRow, group)
            return None if row is None else mapping.owner(row)

    def planned(self, group: str) -> list[dict[str, Any]]:
        """The planned runs of a group, in order: `scheme`, `params`, `repeat`; empty if unknown."""
        with self.reading() as session:
            return session.scalar(select(GroupRow.plan).where(GroupRow.id == group)) or []

    def progress(self, group: str) -> dict[str, Any] | None:
        """The progress of a group (`groups.progress`); None if it is not known."""
        with self.reading() as session:
            return session.scalar(select(GroupRow.progress).where(GroupRow.id == group))

    def newer(
        self, after_sample: int, after_event: int, limit: int = 500
    ) -> tuple[list[tuple[int, str, RunSample]], list[tuple[int, str, RunEvent]]]:
        """Samples and events with higher ids, oldest first: (id, run id, sample or event)."""
        samples = select(SampleRow).where(SampleRow.id > after_sample)
        events = select(EventRow).where(EventRow.id > after_event)
        with self.reading() as session:
            return (
                [
                    (row.id, row.run_id, mapping.sample(row))
                    for row in session.scalars(samples.order_by(SampleRow.id).limit(limit))
                ],
                [
                    (row.id, row.run_id, mapping.event(row))
                    for row in session.scalars(events.order_by(EventRow.id).limit(limit))
                ],
            )

    def latest(self) -> tuple[int, int]:
        """Ids of the newest sample and event; 0 if there are none."""
        with self.reading() as session:
            return (
                session.scalar(select(func.max(SampleRow.id))) or 0,
                session.scalar(select(func.max(EventRow.id))) or 0,
            )

    def find(self, prefixes: Sequence[str]) -> list[str]:
        """Ids of runs by prefixes of run or group ids, in the given order, each run once.

        The prefix of a group selects all its runs. Raises `UsageError` for a prefix that is unknown
        or ambiguous.
        """
        found: dict[str, None] = {}
        with self.reading() as session:
            for prefix in prefixes:
                found.update(dict.fromkeys(_find(session, prefix)))
        return list(found)

    def archived(self, groups: Collection[str] | None = None) -> Iterator[str]:
        """The lines of an archive (`netkv.runs.archive`) of groups, or of all.

        Raises `NetkvError` before the first line if a run of them is in progress.
        """
        with self.reading() as session:
            yield from archive.whole(session, groups)

    # Changes

    def delete(self, run_ids: Collection[str]) -> None:
        """Delete runs with their samples and events.

        Raises `NetkvError` for a run in progress or pinned; then nothing is deleted.
        """
        with self.transaction() as session:
            rows = [_row(session, run_id) for run_id in run_ids]
            for row in rows:
                if row.status == "running" and not self._abandoned(session, row.id):
                    raise NetkvError(
                        f"Run {row.id} is in progress (process {row.group.owner_pid}); "
                        f"stop it before you delete it. Nothing was deleted."
                    )
                if row.pinned:
                    raise NetkvError(
                        f"Run {row.id} is pinned; unpin it before you delete it. "
                        f"Nothing was deleted."
                    )
            groups = {row.group_id for row in rows}
            for row in rows:
                session.delete(row)
            session.flush()
            for group in groups:
                delete_if_empty(session, group)

    def tag(
        self, run_ids: Collection[str], add: Collection[str] = (), remove: Collection[str] = ()
    ) -> None:
        """Add and remove tags of runs; raises `UsageError` beyond their limits
        (`netkv.runs.remarks`)."""
        with self.transaction() as session:
            for run_id in run_ids:
                row = _row(session, run_id)
                row.tags = remarks.tagged(row.tags, add, remove)

    def note(self, run_id: str, text: str) -> None:
        """Replace the note of a run; an empty text deletes it."""
        with self.transaction() as session:
            _row(session, run_id).note = remarks.checked_note(text)

    def remark(
        self,
        run_id: str,
        *,
        tags: Sequence[str] | None = None,
        note: str | None = None,
        pinned: bool | None = None,
    ) -> None:
        """Replace tags, note and pin of a run, or some of them; all or nothing."""
        with self.transaction() as session:
            row = _row(session, run_id)
            if tags is not None:
                row.tags = remarks.tagged([], tags, ())
            if note is not None:
                row.note = remarks.checked_note(note)
            if pinned is not None:
                row.pinned = pinned

    def pin(self, run_ids: Collection[str], pinned: bool) -> None:
        """Pin or unpin runs. A pinned run cannot be deleted."""
        with self.transaction() as session:
            for run_id in run_ids:
                _row(session, run_id).pinned = pinned

    def end(self, run_ids: Collection[str], status: Status, reason: str) -> None:
        """End unfinished runs, with the figures of their series so far."""
        with self.transaction() as session:
            for run_id in run_ids:
                row = session.get(RunRow, run_id)
                # Another process may have marked or deleted it in the meantime.
                if row is not None and row.status == "running":
                    _end(row, status, reason)

    # The processes that write

    def begin_writing(self, group: str) -> ColumnElement[float] | None:
        """Report from now on that this process writes a group; returns the value of `seen_at`."""
        if not self.is_shared:
            return None
        self._heartbeat.add(group)
        return DatabaseTime()

    def end_writing(self, group: str) -> None:
        """This process writes a group no longer."""
        self._heartbeat.remove(group)

    def _beat(self, groups: Collection[str]) -> None:
        with self.transaction() as session:
            session.execute(
                update(GroupRow).where(GroupRow.id.in_(groups)).values(seen_at=DatabaseTime())
            )

    def fail_abandoned(self) -> None:
        """Mark unfinished runs of ended processes as failed, if the store can be written.

        A process of another host has ended if it was silent for `SILENT_SECONDS`.
        """
        if self.read_only is not None:
            return
        with self.reading() as session:
            left = self._abandoned(session)
        for run_id in left:
            with self.transaction() as session:
                # Its process may have given a sign of life since.
                if not self._abandoned(session, run_id):
                    continue
                row = _row(session, run_id)
                owner = mapping.owner(row.group)
                where = "" if owner.is_local else f" of {owner.host}"
                _end(
                    row,
                    "failed",
                    f"netkv (process {owner.process.pid}{where}) ended before the run was "
                    f"finished; the figures are those up to its last sample.",
                )

    def _abandoned(self, session: Session, run_id: str | None = None) -> list[str]:
        """The unfinished runs of ended processes, or this one if it is one of them."""
        query = (
            select(RunRow.id, *mapping.OWNER, GroupRow.seen_at, DatabaseTime(), ServerStart())
            .join(GroupRow)
            .where(RunRow.status == "running")
            .order_by(RunRow.id)
        )
        if run_id is not None:
            query = query.where(RunRow.id == run_id)
        found = []
        for row in session.execute(query):
            owner, (seen_at, now, serving_since) = mapping.owner(row), row[-3:]
            if not self.is_shared or owner.is_local:
                abandoned = not owner.is_alive
            else:
                # While there was no server, no process could report.
                seen = None if seen_at is None else max(seen_at, serving_since)
                abandoned = seen is not None and now - seen > SILENT_SECONDS
            if abandoned:
                found.append(row.id)
        return found


def _end(row: RunRow, status: Status, reason: str) -> None:
    row.status = status
    row.reason = reason
    row.finished_at = time.time()
    row.figures = mapping.figures_so_far(row)


def _record(session: Session, row: RunRow) -> RunRecord:
    columns, _ = series.read(session, row.id)
    return mapping.record(row, columns)


def _row(session: Session, run_id: str) -> RunRow:
    row = session.get(RunRow, run_id)
    if row is None:
        raise _unknown(run_id)
    return row


def _unknown(run_id: str) -> UsageError:
    return UsageError(f"There is no run '{run_id}'. 'netkv runs list' shows all runs.")


def _find(session: Session, prefix: str) -> list[str]:
    if not prefix:
        raise UsageError("The id of a run cannot be empty.")
    in_group = select(RunRow.id).order_by(RunRow.started_at, RunRow.id)
    # A complete id is unambiguous, even if it is a prefix of another id.
    if session.get(RunRow, prefix) is not None:
        return [prefix]
    if session.get(GroupRow, prefix) is not None:
        return list(session.scalars(in_group.where(RunRow.group_id == prefix)))
    runs = select(RunRow.id).where(*_begins_with(RunRow.id, prefix))
    groups = select(GroupRow.id).where(*_begins_with(GroupRow.id, prefix))
    run_ids = list(session.scalars(runs.order_by(RunRow.id)))
    group_ids = list(session.scalars(groups.order_by(GroupRow.id)))
    fits = [*run_ids, *group_ids]
    if not fits:
        raise UsageError(
            f"No run has an id that begins with '{prefix}'. 'netkv runs list' shows all runs."
        )
    if len(fits) > 1:
        shown = ", ".join(fits[:8]) + (", ..." if len(fits) > 8 else "")
        raise UsageError(f"{len(fits)} ids begin with '{prefix}': {shown}. Give more of the id.")
    if group_ids:
        return list(session.scalars(in_group.where(RunRow.group_id == group_ids[0])))
    return run_ids


def _begins_with(column: Any, prefix: str) -> Iterator[ColumnElement[bool]]:
    """Unlike LIKE, upper and lower case differ in all databases, and an index is used."""
    yield column >= prefix
    yield column < prefix + chr(sys.maxunicode)
