"""The rows of a damaged run store that can be read, in a new store.

1. The damaged file and its log are copied, and only the copy is opened for writing.
2. If SQLite cannot read the first page of the copy, that of an empty store takes its place: all
   stores of a version have the same tables on the same pages.
3. Each row that can be read (`netkv.runs.leaf_pages`) and has values of the right types goes to the
   new store. Rows of runs that are lost, and runs that cannot be shown, are left out.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import shutil
import socket
import sqlite3
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from sqlalchemy import JSON, Table

from netkv.errors import NetkvError, StoreError
from netkv.runs import leaf_pages
from netkv.runs.schema import Base, StoreInfo
from netkv.runs.store import Store

_PAGE_SIZES = tuple(2**power for power in range(9, 16))
_DEFAULT_PAGE_SIZE = 4096
_MAGIC = b"SQLite format 3\0"
_OF_RUNS = ("samples", "events")
"""Tables whose rows belong to a run."""
_LOST_RUNS = " UNION ".join(
    f"SELECT run_id FROM {table} WHERE run_id NOT IN (SELECT id FROM runs)" for table in _OF_RUNS
)
_BATCH = 500
"""Rows of an insertion."""


@dataclass(frozen=True)
class Salvaged:
    """The runs of a damaged store."""

    saved: list[str]
    """Ids of the runs in the new store."""
    lost: list[str]
    """Ids of the runs that are known to be lost; those of others may be lost, too."""
    incomplete: dict[str, int]
    """Saved run → number of its samples and events that are lost."""


def salvage(file: Path, new: Path) -> Salvaged:
    """Write a new store beside which a copy of the damaged file is left.

    Raises `NetkvError` if no run can be read or one is in progress, `OSError` and `sqlite3.Error`
    if the disk is full.
    """
    new_url = f"sqlite:///{new}"
    Store(new_url).close()
    copy = new.with_name("copy.db")
    page_size = _copy(file, copy, empty_store=new.read_bytes())
    with contextlib.closing(sqlite3.connect(new)) as store:
        _insert_all(copy, page_size, store)
        known = set(_keys(copy, "sqlite_autoindex_runs_1", "runs", "id"))
        known.update(store.execute(_LOST_RUNS))
        _delete_unconnected(store)
        store.commit()
    with Store(new_url) as saved:
        _refuse_live(saved, file)
        runs = [head.id for head in saved.heads()]
        unreadable = [run for run in runs if not _can_be_shown(saved, run)]
    with contextlib.closing(sqlite3.connect(new)) as store:
        store.execute("PRAGMA foreign_keys = ON")
        store.executemany("DELETE FROM runs WHERE id = ?", [(run,) for run in unreadable])
        store.commit()
        left = set(runs) - set(unreadable)
        incomplete = _incomplete(copy, store, left)
    if not left:
        raise NetkvError(
            f"No run can be read in the run store {file}. It is as before. If you move it "
            f"away, netkv begins an empty store."
        )
    return Salvaged(sorted(left), sorted({run for (run,) in known} - left), incomplete)


def _copy(file: Path, copy: Path, empty_store: bytes) -> int:
    """Copies a store, with the changes in its log, so that SQLite can read as much as possible of
    it. Returns its page size."""
    shutil.copyfile(file, copy)
    log = file.with_name(f"{file.name}-wal")
    if log.exists():
        shutil.copyfile(log, copy.with_name(f"{copy.name}-wal"))
    with copy.open("r+b") as opened:
        page_size = _page_size(opened.read(leaf_pages.HEADER))
        _write_size(opened, page_size)
    if not _apply_log(copy):
        page_size = _page_size(empty_store)
        with copy.open("r+b") as opened:
            opened.write(empty_store[:page_size])
            _write_size(opened, page_size)
        _apply_log(copy)
    return page_size


def _page_size(header: bytes) -> int:
    if not header.startswith(_MAGIC) or len(header) < leaf_pages.HEADER:
        return _DEFAULT_PAGE_SIZE
    (size,) = struct.unpack_from(">H", header, 16)
    return 65_536 if size == 1 else size if size in _PAGE_SIZES else _DEFAULT_PAGE_SIZE


def _write_size(store: BinaryIO, page_size: int) -> None:
    """Writes the number of pages that are there into the header; SQLite refuses a larger one."""
    pages = store.seek(0, os.SEEK_END) // page_size
    store.seek(24)
    changes = store.read(4)
    for place, value in ((28, struct.pack(">I", pages)), (92, changes)):
        store.seek(place)
        store.write(value)


def _apply_log(copy: Path) -> bool:
    """Whether SQLite can read the first page, and has written the changes in the log."""
    try:
        with contextlib.closing(sqlite3.connect(copy)) as store:
            store.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return bool(store.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    except sqlite3.DatabaseError as error:
        if _is_full(error):
            raise
        return False


def _is_full(error: sqlite3.Error) -> bool:
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def _insert_all(copy: Path, page_size: int, store: sqlite3.Connection) -> None:
    """Inserts all rows that can be read, also those of runs and groups that cannot."""
    by_columns = {len(table.columns): table for table in tables()}
    assert len(by_columns) == len(tables()), "a table is known by the number of its columns"
    waiting: dict[str, list[list[leaf_pages.Value]]] = {table.name: [] for table in tables()}

    def flush(table: Table) -> None:
        marks = ", ".join("?" for _ in table.columns)
        store.executemany(
            f"INSERT OR IGNORE INTO {table.name} VALUES ({marks})", waiting[table.name]
        )
        waiting[table.name].clear()

    with (
        copy.open("rb") as opened,
        mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as pages,
    ):
        for rowid, values in leaf_pages.rows(pages, page_size):
            table = by_columns.get(len(values))
            if table is None:
                continue
            if next(iter(table.primary_key)).type.python_type is int:
                values[0] = rowid
            if has_right_types(table, values):
                waiting[table.name].append(values)
                if len(waiting[table.name]) >= _BATCH:
                    flush(table)
    for table in tables():
        flush(table)


def _delete_unconnected(store: sqlite3.Connection) -> None:
    """Deletes samples and events of lost runs, and adds the groups of runs that have lost theirs.

    Nobody owns such a group.
    """
    store.execute(
        "INSERT INTO groups (id, created_at, command, owner_host, owner_boot, owner_pid, "
        "owner_started, plan) SELECT group_id, min(started_at), '[]', ?, '', 0, 0, '[]' FROM runs "
        "WHERE group_id NOT IN (SELECT id FROM groups) GROUP BY group_id",
        [socket.gethostname()],
    )
    for table in _OF_RUNS:
        store.execute(f"DELETE FROM {table} WHERE run_id NOT IN (SELECT id FROM runs)")
    store.execute("DELETE FROM groups WHERE id NOT IN (SELECT group_id FROM runs)")
    store.execute("DELETE FROM verdicts WHERE group_id NOT IN (SELECT id FROM groups)")


def _refuse_live(store: Store, file: Path) -> None:
    for run in store.running():
        owner = store.owner(run.group)
        if owner is not None and owner.is_local:
            raise NetkvError(
                f"Run {run.id} of the run store {file} is in progress (process "
                f"{owner.process.pid}). End it before the repair."
            )


def _can_be_shown(store: Store, run: str) -> bool:
    try:
        store.record(run)
    except StoreError:
        return False
    return True


def _incomplete(copy: Path, store: sqlite3.Connection, runs: set[str]) -> dict[str, int]:
    """Runs → number of samples and events that the indexes of the copy have and the store lacks."""
    missing: Counter[str] = Counter()
    for table in _OF_RUNS:
        missing.update(run for run, _ in _keys(copy, f"{table}_of_run", table, "run_id, id"))
        saved = store.execute(f"SELECT run_id, count(*) FROM {table} GROUP BY run_id")
        missing.subtract(dict(saved.fetchall()))
    return {run: number for run, number in sorted(missing.items()) if number > 0 and run in runs}


def _keys(copy: Path, index: str, table: str, columns: str) -> Iterator[tuple[Any, ...]]:
    """The entries of an index: from its beginning to what is damaged, and from its end to that."""
    last: tuple[Any, ...] | None = None
    with contextlib.closing(sqlite3.connect(copy)) as store:
        query = f"SELECT {columns} FROM {table} INDEXED BY {index} ORDER BY"
        try:
            for last in store.execute(f"{query} {columns}"):
                yield last
            return
        except sqlite3.Error:
            pass
        with contextlib.suppress(sqlite3.Error):
            descending = columns.replace(",", " DESC,") + " DESC"
            for entry in store.execute(f"{query} {descending}"):
                if last is not None and entry <= last:
                    return
                yield entry


def tables() -> list[Table]:
    """The tables with the content of a store, those first that others refer to."""
    return [table for table in Base.metadata.sorted_tables if table is not StoreInfo.__table__]


def has_right_types(table: Table, row: Sequence[Any]) -> bool:
    """Whether a row has values that netkv may have written."""
    return all(
        _has_right_type(column.type, value) if value is not None else column.nullable
        for column, value in zip(table.columns, row, strict=True)
    )


def _has_right_type(kind: Any, value: leaf_pages.Value) -> bool:
    if isinstance(kind, JSON):
        with contextlib.suppress(ValueError, TypeError):
            json.loads(cast(str, value))
            return True
        return False
    if kind.python_type is str:
        # Zeros may be in the middle of a text whose pages are damaged.
        return isinstance(value, str) and "\0" not in value
    return isinstance(value, int) or (kind.python_type is float and isinstance(value, float))
