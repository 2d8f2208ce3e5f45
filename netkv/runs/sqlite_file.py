"""The SQLite file of a run store: whether it can be written, and connections that only read it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from netkv.errors import StoreError


def why_read_only(file: Path) -> str | None:
    """Why an existing file cannot be written, without a full stop; None if it can."""
    if not file.exists():
        return None
    if not os.access(file, os.W_OK):
        return "its file is read-only"
    # SQLite makes a log (-wal) and its index (-shm) beside the file.
    if not os.access(file.parent, os.W_OK):
        return "its folder is read-only"
    return None


def open_to_read(file: Path) -> sqlite3.Connection:
    """A connection that changes nothing, also in a read-only folder.

    Raises `StoreError` for a log that SQLite cannot read there.
    """
    uri = f"{file.absolute().as_uri()}?mode=ro"
    log, index = (file.with_name(file.name + suffix) for suffix in ("-wal", "-shm"))
    if not os.access(file.parent, os.W_OK) and not index.exists():
        if log.exists() and log.stat().st_size:
            raise StoreError(
                f"The last changes of the run store {file} are in {log.name}, which SQLite cannot "
                f"read in a read-only folder. Copy both files into another folder, and name it "
                f"with NETKV_STORE=sqlite:////FOLDER/{file.name}.",
                f"{log.name} cannot be read in a read-only folder",
            )
        # Nobody writes: a writer would have a log and its index there.
        uri += "&immutable=1"
    return sqlite3.connect(uri, uri=True, check_same_thread=False)
