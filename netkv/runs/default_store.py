"""The default run store: where it is, and quick reads of it.

`netkv.runs.store` has all queries. Its library, SQLAlchemy, takes longer to import than a command
that only lists something may take, so two queries of such commands read the file directly.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netkv.errors import StoreError
from netkv.home import home
from netkv.runs import sqlite_file

_SQLITE = "sqlite:///"


def default_url() -> str:
    """The URL of the default store: `$NETKV_STORE`, or `runs.db` in the state directory."""
    return os.environ.get("NETKV_STORE") or f"{_SQLITE}{home() / 'runs.db'}"


def newest(limit: int) -> list[tuple[str, str]]:
    """Run and group of the newest runs; none if the store is not a readable SQLite file."""
    query = "SELECT id, group_id FROM runs ORDER BY started_at DESC LIMIT ?"
    return _read(query, (limit,)) or []


def finished() -> dict[str, list[float]] | None:
    """Scenario → number and times of its finished runs, which change with each of them.

    Returns None if the store is not a readable SQLite file.
    """
    # Of each row only columns before the long ones are read.
    query = (
        "SELECT scenario, COUNT(finished_at), MAX(finished_at), TOTAL(finished_at)"
        " FROM runs WHERE finished_at IS NOT NULL GROUP BY scenario"
    )
    rows = _read(query)
    return None if rows is None else {name: times for name, *times in rows}


def _read(query: str, parameters: Sequence[Any] = ()) -> list[Any] | None:
    url = default_url()
    if not url.startswith(_SQLITE) or "?" in url:
        return None
    file = Path(url.removeprefix(_SQLITE))
    if not file.exists():
        return []
    try:
        with contextlib.closing(sqlite_file.open_to_read(file)) as store:
            return store.execute(query, parameters).fetchall()
    except (sqlite3.Error, StoreError):
        return None
