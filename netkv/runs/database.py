"""The database under the run store: connections that suit one writer and many readers."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    create_engine,
    event,
    func,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.orm import Session

from netkv.errors import NetkvError, UsageError
from netkv.runs.schema import VERSION, Base, StoreInfo
from netkv.runs.upgrades import UPGRADES

WRITES = {"netkv_writes": True}
"""Execution options of a connection that is going to write."""

_BUSY_SECONDS = 15.0
"""How long a writer waits for another one; each holds the lock for milliseconds."""


def connect(url: str) -> Engine:
    """An engine for the store at a SQLAlchemy URL; raises `NetkvError` if it cannot be used."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise UsageError(
            f"NETKV_STORE is '{url}', which is no database URL. "
            f"It should look like sqlite:////var/lib/netkv/runs.db or postgresql://host/netkv."
        ) from error
    if parsed.get_backend_name() != "sqlite":
        return _server_engine(url)
    if parsed.database and parsed.database != ":memory:":
        directory = Path(parsed.database).parent
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise NetkvError(
                f"The directory {directory} for the run store cannot be made: {error.strerror}. "
                f"NETKV_STORE or NETKV_HOME can name another place."
            ) from error
    engine = create_engine(url, connect_args={"timeout": _BUSY_SECONDS})
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def prepare(engine: Engine, url: str) -> None:
    """Make the tables if there are none, and bring those of an older netkv up to date.

    Raises `NetkvError` for a store of a newer netkv.
    """
    if not inspect(engine).has_table(StoreInfo.__tablename__):
        # Two processes may get here at once: the second waits for the first and finds all made.
        with engine.execution_options(**WRITES).begin() as connection:
            Base.metadata.create_all(connection)
            if not connection.scalar(select(func.count()).select_from(StoreInfo)):
                connection.execute(insert(StoreInfo).values(id=1, version=VERSION))
    with Session(engine) as session:
        version = session.scalar(select(StoreInfo.version)) or 0
    if version > VERSION:
        raise NetkvError(
            f"The run store {url} was written by a newer netkv (its version is {version}, this "
            f"netkv reads up to {VERSION}). Update netkv, or name another store with NETKV_STORE."
        )
    if version < VERSION:
        _upgrade(engine)


def _upgrade(engine: Engine) -> None:
    """Brings a store up to date, all at once or not at all; another process may do the same."""
    with engine.execution_options(**WRITES).begin() as connection:
        version = connection.scalar(select(StoreInfo.version).with_for_update()) or 0
        for step in range(version + 1, VERSION + 1):
            UPGRADES[step](connection)
        connection.execute(update(StoreInfo).values(version=VERSION))


def _server_engine(url: str) -> Engine:
    try:
        return create_engine(url, pool_pre_ping=True)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise UsageError(
            f"NETKV_STORE is '{url}', but its database driver is not installed ({error}). "
            f"Install it into netkv's environment."
        ) from error


def _configure_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    # Transactions are begun by `_begin_sqlite`; sqlite3 would begin them late and only for writes.
    connection.isolation_level = None
    _use_write_ahead_log(connection)
    for pragma in (
        # With WAL, NORMAL survives a kill of the process; only a power cut may cost the last
        # seconds. FULL would wait for the disk at every sample.
        "synchronous = NORMAL",
        "foreign_keys = ON",
        f"busy_timeout = {int(_BUSY_SECONDS * 1000)}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    # SQLite does not wait for others while it changes the mode, whatever `busy_timeout` is, and
    # two processes may make the store at the same moment.
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first and writes later cannot be made to wait for another writer;
    # SQLite fails it at once. So writers take the lock at the beginning.
    writes = connection.get_execution_options().get("netkv_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
