"""The clock of the database, which all hosts that share a store agree on."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Double
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class DatabaseTime(FunctionElement[float]):
    """Now, in seconds since the epoch."""

    type = Double()
    inherit_cache = True


class ServerStart(FunctionElement[float]):
    """When the database began to serve, in seconds since the epoch; 0 for a file."""

    type = Double()
    inherit_cache = True


@compiles(DatabaseTime, "sqlite")
def _now_of_sqlite(*_: Any, **__: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(DatabaseTime, "postgresql")
def _now_of_postgresql(*_: Any, **__: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


@compiles(ServerStart, "sqlite")
def _start_of_sqlite(*_: Any, **__: Any) -> str:
    return "0.0"


@compiles(ServerStart, "postgresql")
def _start_of_postgresql(*_: Any, **__: Any) -> str:
    return "CAST(extract(epoch FROM pg_postmaster_start_time()) AS double precision)"
