"""Upgrade of a run store to the tables of this netkv.

It is one transaction that holds the writers' lock, so it takes effect as a whole or not at all, and
the second of two processes finds that there is nothing to do. A copy of a SQLite file is made
before, while the lock is held.
"""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from netkv.errors import NetkvError, UsageError
from netkv.runs import database, mapping, postgresql, sqlite_file, store_url
from netkv.runs.schema import OLDEST, VERSION, GroupRow, RunRow, StoreInfo

_PATIENCE_S = 60.0
"""How long another upgrade may take."""


@dataclass(frozen=True)
class Upgraded:
    """What an upgrade has changed."""

    store: str
    """Its URL, without its password."""
    since: int
    """Its version before."""
    version: int
    changes: list[str]
    """What was changed, a phrase for each version."""
    backup: Path | None
    """The copy of the store before; None for one on a server."""

    def document(self) -> dict[str, Any]:
        """The fields as JSON."""
        return {**asdict(self), "backup": None if self.backup is None else str(self.backup)}

    def sentences(self) -> list[str]:
        """What a user has to know."""
        lines = [
            f"Upgraded the run store {self.store} from version {self.since} to {self.version}."
        ]
        numbered = enumerate(self.changes, start=self.since + 1)
        lines += [f"Version {number}: {text}." for number, text in numbered]
        if self.backup is not None:
            lines.append(f"The store as it was before is {self.backup}.")
        return lines


def upgrade(url: str) -> Upgraded | None:
    """Upgrade a store; None if it has the tables of this netkv.

    Raises `NetkvError` if it cannot be upgraded; then it is as before.
    """
    shown, file = store_url.shown(url), store_url.file_of(url)
    if file is not None and not file.exists():
        raise UsageError(f"There is no run store {shown}.")
    if file is not None and (why := sqlite_file.why_read_only(file)) is not None:
        raise database.read_only(url, why)
    engine = database.connect(url)
    backup: Path | None = None
    try:
        with engine.connect() as connection:
            if not inspect(connection).has_table(StoreInfo.__tablename__):
                raise UsageError(f"There is no run store {shown}.")
            if database.version(connection) == VERSION:
                return None
            if file is None and (why := postgresql.why_read_only(connection, "runs")) is not None:
                raise database.read_only(url, why)
        writes = engine.execution_options(**database.WRITES, netkv_patience=_PATIENCE_S)
        with writes.begin() as connection:
            since = database.version(connection)
            if since == VERSION:
                return None
            if not OLDEST <= since < VERSION:
                database.check_version(since, url)
            _refuse_running(connection, shown)
            if file is not None:
                backup = _back_up(file, since)
            from netkv.runs import migrations

            changes = [text for _, text in migrations.run(connection, since, VERSION)]
        return Upgraded(shown, since, VERSION, changes, backup)
    except (SQLAlchemyError, OSError, sqlite3.Error) as error:
        why = str(getattr(error, "orig", None) or error).strip().split("\n")[0].rstrip(".")
        raise NetkvError(
            f"The run store {shown} cannot be upgraded: {why}. It is as before."
        ) from error
    finally:
        engine.dispose()


def _refuse_running(connection: Connection, shown: str) -> None:
    """Raises `NetkvError` if a process of this host writes a run; it has the old tables in mind."""
    query = select(RunRow.id, *mapping.OWNER).join(GroupRow).where(RunRow.status == "running")
    with Session(connection) as session:
        for row in session.execute(query):
            found = mapping.owner(row)
            if found.is_local and found.is_alive:
                raise NetkvError(
                    f"Run {row.id} of the run store {shown} is in progress "
                    f"(process {found.process.pid}). Upgrade the store after its end."
                )


def _back_up(file: Path, version: int) -> Path:
    """A copy of a store beside it; nothing is overwritten."""
    stem = f"{file.name}.version-{version}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = (stem if number == 0 else f"{stem}-{number}" for number in itertools.count())
    copy = next(path for name in names if not (path := file.with_name(name)).exists())
    try:
        with (
            contextlib.closing(sqlite_file.open_to_read(file)) as source,
            contextlib.closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)
    except BaseException:
        copy.unlink(missing_ok=True)
        raise
    return copy
