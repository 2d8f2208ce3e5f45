"""The database of the run store: connections for one writer and many readers."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, func, insert, inspect, select
from sqlalchemy.engine import ExceptionContext, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from netkv.errors import NetkvError, StoreError, UsageError
from netkv.runs import sqlite_file
from netkv.runs.schema import VERSION, Base, StoreInfo

WRITES = {"netkv_writes": True}
"""Execution options of a connection for writing."""

BUSY_SECONDS = 15.0
"""How long a writer waits for the lock; each writer holds it for milliseconds."""


def connect(url: str) -> Engine:
    """An engine for the database of a SQLAlchemy URL; raises `NetkvError` if it cannot be used."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise UsageError(
            f"NETKV_STORE is '{url}', which is not a database URL. "
            f"It should look like sqlite:////var/lib/netkv/runs.db or postgresql://host/netkv."
        ) from error
    if parsed.get_backend_name() != "sqlite":
        engine = _server_engine(url)
        event.listen(engine, "handle_error", _as_sentence(url))
        return engine
    file = file_of(url)
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
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS})
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    event.listen(engine, "handle_error", _as_sentence(url))
    return engine


def file_of(url: str) -> Path | None:
    """The file of a store; None if it is on a server or in memory."""
    parsed = make_url(url)
    in_file = parsed.get_backend_name() == "sqlite" and parsed.database not in (
        None,
        "",
        ":memory:",
    )
    return Path(parsed.database or "") if in_file else None


def unusable(url: str, why: str) -> StoreError:
    """The error for a store that cannot be used now."""
    return StoreError(
        f"The run store {url} cannot be used: {why}. "
        f"NETKV_STORE or NETKV_HOME can name another place.",
        why,
    )


def read_only(url: str, why: str) -> StoreError:
    """The error for a change of a store that can only be read."""
    return StoreError(
        f"The run store {url} cannot be written: {why}. Its runs can be listed, shown, compared, "
        f"plotted and exported. NETKV_STORE or NETKV_HOME can name another place for new runs.",
        why,
    )


def damaged(url: str, why: str) -> StoreError:
    """The error for a store whose content cannot be read."""
    return StoreError(
        f"The run store {url} is damaged: {why}. 'netkv runs repair' saves the runs that can be "
        f"read; NETKV_STORE or NETKV_HOME can name another store.",
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


def _is_damage(error: BaseException) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    # For a text that is not UTF-8, Python's module has an error without a code.
    is_damage = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return is_damage or "Could not decode to UTF-8" in str(error)


def prepare(engine: Engine, url: str) -> None:
    """Create missing tables. Raises `NetkvError` for tables of another version.

    Before 1.0 none are converted.
    """
    if not inspect(engine).has_table(StoreInfo.__tablename__):
        # If two processes create the store at once, the second waits and finds the tables.
        with engine.execution_options(**WRITES).begin() as connection:
            Base.metadata.create_all(connection)
            if not connection.scalar(select(func.count()).select_from(StoreInfo)):
                connection.execute(insert(StoreInfo).values(id=1, version=VERSION))
    with Session(engine) as session:
        check_version(session.scalar(select(StoreInfo.version)) or 0, url)


def check_version(version: int, url: str) -> None:
    """Raises `NetkvError` for tables of another version than this netkv's."""
    if version != VERSION:
        other = "a newer" if version > VERSION else "an older"
        remedy = "Update netkv" if version > VERSION else "Read it with that netkv (runs export)"
        raise NetkvError(
            f"The run store {url} was written by {other} netkv (its version is {version}, this "
            f"netkv reads {VERSION}). {remedy}, or name another store with NETKV_STORE."
        )


def _server_engine(url: str) -> Engine:
    try:
        return create_engine(url, pool_pre_ping=True)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise UsageError(
            f"NETKV_STORE is '{url}', but its database driver is not installed ({error}). "
            f"Install it into netkv's environment."
        ) from error


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
