"""The database of the run store: connections for one writer and many readers."""

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
"""Execution options of a connection for writing."""

_BUSY_SECONDS = 15.0
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
    """Create missing tables, and upgrade those of an older netkv.

    Raises `NetkvError` for a store of a newer netkv.
    """
    if not inspect(engine).has_table(StoreInfo.__tablename__):
        # If two processes create the store at once, the second waits and finds the tables.
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
    """Upgrade a store in one transaction; another process may do the same."""
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
    # `_begin_sqlite` begins transactions; sqlite3 would begin them at the first write only.
    connection.isolation_level = None
    _use_write_ahead_log(connection)
    for pragma in (
        # In WAL mode, NORMAL loses nothing if the process is killed, and the last seconds at a
        # power failure. FULL would wait for the disk at every sample.
        "synchronous = NORMAL",
        "foreign_keys = ON",
        f"busy_timeout = {int(_BUSY_SECONDS * 1000)}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    # SQLite ignores `busy_timeout` when it changes the mode, and two processes may create the
    # store at the same time.
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
    # If a transaction reads and then writes, SQLite fails at once instead of waiting for another
    # writer. So writers take the lock at the beginning.
    writes = connection.get_execution_options().get("netkv_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
