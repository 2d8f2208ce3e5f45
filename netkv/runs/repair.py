"""Repair of a damaged run store: the runs that can be read, in a new store.

The new store is written in a folder beside the old one (`netkv.runs.salvage`). Then the damaged
file gets another name, and the new store its name. Nothing is overwritten.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Table

from netkv.errors import NetkvError, StoreError, UsageError
from netkv.runs import database, sqlite_file, store_url
from netkv.runs.salvage import Salvaged, has_right_types, salvage, tables
from netkv.runs.schema import StoreInfo


@dataclass(frozen=True)
class Repaired:
    """What a repair has saved."""

    file: Path
    """The store with the saved runs."""
    damaged: Path
    """Where the damaged store is."""
    runs: Salvaged

    def document(self) -> dict[str, Any]:
        """The fields as JSON."""
        return {"file": str(self.file), "damaged": str(self.damaged), **asdict(self.runs)}

    def sentences(self) -> list[str]:
        """What a user has to know."""
        lines = [f"Saved {_counted(len(self.runs.saved), 'run')} in {self.file}."]
        if lost := self.runs.lost:
            lines.append(f"Lost {_counted(len(lost), 'run')}: {', '.join(lost)}.")
        lines += [
            f"Run {run} lacks {_counted(number, 'sample or event', 'samples or events')}."
            for run, number in self.runs.incomplete.items()
        ]
        lines.append(f"The damaged store is {self.damaged}; nothing in it was changed.")
        return lines


def _counted(number: int, one: str, several: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def repair(url: str, output: Path | None = None) -> Repaired | None:
    """Replace a damaged store by one with what can be read; None if the store is not damaged.

    With `output` the new store is written there and the damaged one stays as it is. Raises
    `NetkvError` if nothing can be read or written; then the damaged store is as before.
    """
    file = store_url.file_of(url)
    if file is None:
        raise UsageError(
            f"The run store {store_url.shown(url)} is no SQLite file, so netkv cannot repair it; "
            f"the tools of its database can."
        )
    if not file.is_file():
        raise UsageError(f"There is no run store {file}.")
    if output is not None and output.exists():
        raise UsageError(f"{output} exists already; name a new file with --output.")
    if output is None and (why := sqlite_file.why_read_only(file)) is not None:
        raise NetkvError(
            f"The run store {file} cannot be replaced: {why}. --output FILE writes the new store "
            f"elsewhere."
        )
    if _is_sound(file, url):
        return None
    place = output or file
    try:
        with tempfile.TemporaryDirectory(prefix=".netkv-repair-", dir=place.parent) as folder:
            new = Path(folder) / "new.db"
            salvaged = salvage(file, new)
            shutil.copymode(file, new)
            kept = _set_aside(file) if output is None else file
            new.rename(place)
    except (OSError, sqlite3.Error, StoreError) as error:
        why = error.why if isinstance(error, StoreError) else str(error)
        raise NetkvError(
            f"The run store {file} cannot be repaired: {why}. It is as before. "
            f"--output FILE writes the new store elsewhere."
        ) from error
    return Repaired(place, kept, salvaged)


def _is_sound(file: Path, url: str) -> bool:
    """Whether a store can be read completely; raises `NetkvError` for one of another version."""
    try:
        with contextlib.closing(sqlite_file.open_to_read(file)) as store:
            (version,) = store.execute(f"SELECT version FROM {StoreInfo.__tablename__}").fetchone()
            database.check_version(version, url)
            if store.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                return False
            return all(
                _all_sound(table, store.execute(f"SELECT {_names(table)} FROM {table.name}"))
                for table in tables()
            )
    except (sqlite3.Error, TypeError):
        return False


def _names(table: Table) -> str:
    return ", ".join(column.name for column in table.columns)


def _all_sound(table: Table, rows: Iterable[Sequence[Any]]) -> bool:
    return all(has_right_types(table, row) for row in rows)


def _set_aside(file: Path) -> Path:
    """Renames the damaged store with its log; returns its new name."""
    stem = f"{file.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    names = (stem if number == 0 else f"{stem}-{number}" for number in itertools.count())
    kept = next(path for name in names if not (path := file.with_name(name)).exists())
    # The log goes first: SQLite would delete the log of a store that is not there.
    for suffix in ("-wal", "-shm", ""):
        with contextlib.suppress(FileNotFoundError):
            file.with_name(file.name + suffix).rename(kept.with_name(kept.name + suffix))
    return kept
