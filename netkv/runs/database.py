"""The database of the run store: connections for one writer and many readers, and its version."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, func, insert, inspect, select
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from netkv.errors import NetkvError, StoreError
from netkv.runs import postgresql, sqlite_file, store_url
from netkv.runs.schema import OLDEST, VERSION, Base, RunRow, StoreInfo
from netkv.runs.stored_values import to_json

WRITES = {"netkv_writes": True}
"""Execution options of a connection for writing."""

BUSY_SECONDS = 15.0
"""How long a writer waits for the lock; each writer holds it for milliseconds."""


def connect(url: str) -> Engine:
    """An engine for the database of a SQLAlchemy URL; raises `NetkvError` if it cannot be used."""
    parsed = store_url.parse(url)
    if parsed.get_backend_name() != "sqlite":
        engine = postgresql.connect(parsed, store_url.shown(url))
        event.listen(engine, "handle_error", _as_sentence_of_server(url))
        return engine
    file = store_url.file_of(url)
    if file is not None and sqlite_file.why_read_only(file) is not None:
        engine = _read_only_engine(url, file)
        event.listen(engine, "handle_error", _as_sentence(url))
        return engine
    if file is not None:
        directory = file.parent
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise NetkvError(
                f"The directory {directory} for the run store cannot be made: {error.strerror}. "
                f"NETKV_STORE or NETKV_HOME can name another place."
            ) from error
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS}, json_serializer=to_json)
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    event.listen(engine, "handle_error", _as_sentence(url))
    return engine


def unusable(url: str, why: str) -> StoreError:
    """The error for a store that cannot be used now."""
    return StoreError(
        f"The run store {store_url.shown(url)} cannot be used: {why}. "
        f"NETKV_STORE or NETKV_HOME can name another place.",
        why,
    )


def read_only(url: str, why: str) -> StoreError:
    """The error for a change of a store that can only be read."""
    return StoreError(
        f"The run store {store_url.shown(url)} cannot be written: {why}. Its runs can be listed, "
        f"shown, compared, plotted and exported. NETKV_STORE or NETKV_HOME can name another place "
        f"for new runs.",
        why,
    )


def damaged(url: str, why: str) -> StoreError:
    """The error for a store whose content cannot be read."""
    return StoreError(
        f"The run store {store_url.shown(url)} is damaged: {why}. 'netkv runs repair' saves the "
        f"runs that can be read; NETKV_STORE or NETKV_HOME can name another store.",
        why,
    )


def _as_sentence(url: str) -> Callable[[ExceptionContext], None]:
    """A listener that turns errors of the database, not of a query, into `StoreError`."""

    def listener(context: ExceptionContext) -> None:
        error = context.original_exception
        of_sqlite = type(error) in (sqlite3.OperationalError, sqlite3.DatabaseError)
        if of_sqlite or isinstance(context.sqlalchemy_exception, OperationalError):
            why = str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__
            raise (damaged if _is_damage(error) else unusable)(url, why) from error

    return listener


def _as_sentence_of_server(url: str) -> Callable[[ExceptionContext], None]:
    """The same for a server."""

    def listener(context: ExceptionContext) -> None:
        # A connection that was lost is replaced, if it can be.
        if not context.is_pre_ping and (why := postgresql.why_unusable(context, url)) is not None:
            raise unusable(url, why) from context.original_exception

    return listener


def _is_damage(error: BaseException) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    # For a text that is not UTF-8, Python's module has an error without a code.
    is_damage = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return is_damage or "Could not decode to UTF-8" in str(error)


def prepare(engine: Engine, url: str) -> str | None:
    """Create missing tables; returns why the store can only be read, or None.

    Raises `NetkvError` for tables of another version.
    """
    if not inspect(engine).has_table(StoreInfo.__tablename__):
        # If two processes create the store at once, the second waits and finds the tables.
        with engine.execution_options(**WRITES).begin() as connection:
            Base.metadata.create_all(connection)
            if not connection.scalar(select(func.count()).select_from(StoreInfo)):
                connection.execute(insert(StoreInfo).values(id=1, version=VERSION))
    with engine.connect() as connection:
        check_version(version(connection), url)
        if engine.dialect.name == "sqlite":
            file = store_url.file_of(url)
            return None if file is None else sqlite_file.why_read_only(file)
        return postgresql.why_read_only(connection, RunRow.__tablename__)


def version(connection: Connection) -> int:
    """The version of the tables of a store."""
    return connection.scalar(select(StoreInfo.version)) or 0


def check_version(version: int, url: str) -> None:
    """Raises `NetkvError` for tables of another version than this netkv's."""
    if version == VERSION:
        return
    other = "a newer" if version > VERSION else "an older"
    remedy = (
        "Update netkv"
        if version > VERSION
        else "'netkv runs upgrade' upgrades it"
        if version >= OLDEST
        else "Read it with that netkv (runs export)"
    )
    raise NetkvError(
        f"The run store {store_url.shown(url)} was written by {other} netkv (its version is "
        f"{version}, this netkv reads {VERSION}). {remedy}, or name another store with NETKV_STORE."
    )


def _read_only_engine(url: str, file: Path) -> Engine:
    # Each session has a connection of its own: a writer that may come later makes a log.
    engine = create_engine(url, creator=lambda: sqlite_file.open_to_read(file), poolclass=NullPool)
    event.listen(engine, "connect", lambda connection, _: _begin_explicitly(connection))
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _begin_explicitly(connection: sqlite3.Connection) -> None:
    # `_begin_sqlite` begins transactions; sqlite3 would begin them at the first write only.
    connection.isolation_level = None


def _configure_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    _begin_explicitly(connection)
    _use_write_ahead_log(connection)
    for pragma in (
        # In WAL mode, NORMAL loses nothing if the process is killed, and the last seconds at a
        # power failure. FULL would wait for the disk at every sample.
        "synchronous = NORMAL",
        "foreign_keys = ON",
        f"busy_timeout = {int(BUSY_SECONDS * 1000)}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    # SQLite ignores `busy_timeout` when it changes the mode, and two processes may create the
    # store at the same time.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _begin_sqlite(connection: Connection) -> None:
    # If a transaction reads and then writes, SQLite fails at once instead of waiting for another
    # writer. So writers take the lock at the beginning.
    options = connection.get_execution_options()
    writes = options.get("netkv_writes")
    patience = options.get("netkv_patience", BUSY_SECONDS)
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {int(patience * 1000)}")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
