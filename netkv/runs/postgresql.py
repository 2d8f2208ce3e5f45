"""Connections to a run store on a PostgreSQL server.

Rules
-----
1. All transactions that write take one lock (`LOCK`), so they commit in the order in which they
   take ids. A reader that has seen an id has seen all lower ones.
2. Each session that reads sees one state of the store.
3. A writer that stops in a transaction, with its host or its network, keeps the lock for
   `_IDLE_SECONDS` at most.
4. A server that does not answer delays a run for seconds only.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import InternalError, NoSuchModuleError, OperationalError

from netkv.errors import UsageError
from netkv.runs import store_url
from netkv.runs.stored_values import to_json

READS = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
"""Execution options of a connection for reading (rule 2)."""
LOCK = 0x6E65746B76
"""Key of the writers' lock in each database: "netkv"."""
_IDLE_SECONDS = 30
_CONNECTION = {
    "connect_timeout": 3,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "application_name": "netkv",
    "client_encoding": "utf8",
}
"""Parameters of libpq, unless the URL has others (rule 4)."""
_LOCK_TIMEOUT = "55P03"
_UNDEFINED_TABLE = "42P01"
_OF_THE_STORE = (_LOCK_TIMEOUT, _UNDEFINED_TABLE, "42501")
"""States of SQL that are no mistake of a query: also missing rights."""


def connect(url: URL, shown: str) -> Engine:
    """An engine for a URL; raises `UsageError` if the driver is missing."""
    defaults = {name: value for name, value in _CONNECTION.items() if name not in url.query}
    try:
        engine = create_engine(
            url,
            json_serializer=to_json,
            connect_args=defaults,
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            # A writer has one connection. Servers have few, for all of a group.
            pool_size=3,
            max_overflow=12,
            pool_use_lifo=True,
        )
    except (NoSuchModuleError, ModuleNotFoundError, ImportError) as error:
        raise UsageError(
            f"NETKV_STORE is '{shown}', but the driver of PostgreSQL is not installed ({error}). "
            f"Install it with: pip install 'netkv[postgresql]'"
        ) from error
    event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    if not options.get("netkv_writes"):
        return
    patience_ms = max(1, int(1000 * options.get("netkv_patience", _IDLE_SECONDS)))
    connection.exec_driver_sql(
        f"SET LOCAL lock_timeout = {patience_ms}; "
        f"SET LOCAL idle_in_transaction_session_timeout = {1000 * _IDLE_SECONDS}; "
        f"SELECT pg_advisory_xact_lock({LOCK})"
    )


def why_read_only(connection: Connection, table: str) -> str | None:
    """Why a store can only be read, without a full stop; None if it can be written."""
    standby, read_only, user, may_write = connection.execute(
        text(
            "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on', "
            "current_user, has_table_privilege(:table, 'INSERT')"
        ),
        {"table": table},
    ).one()
    if standby:
        return "its server is a standby, which can only be read"
    if read_only:
        return "transactions of its server are read-only (default_transaction_read_only)"
    return None if may_write else f"the user '{user}' may not write its tables"


def why_unusable(context: ExceptionContext, url: str) -> str | None:
    """Why the store cannot be used now, without a full stop; None if the query is wrong."""
    error = context.original_exception
    state = getattr(error, "sqlstate", None)
    of_server = isinstance(context.sqlalchemy_exception, OperationalError | InternalError)
    if not (of_server or context.is_disconnect or state in _OF_THE_STORE):
        return None
    if state == _LOCK_TIMEOUT:
        return "another process is writing to it"
    why = _first_cause(error)
    if state == _UNDEFINED_TABLE:
        why = f"its tables were deleted ({why})"
    for secret in store_url.secrets(url):
        why = why.replace(secret, "***")
    return why


def _first_cause(error: Any) -> str:
    diagnosis = getattr(error, "diag", None)
    found: str | None = getattr(diagnosis, "message_primary", None)
    if found is None:
        # Of an attempt for each address; further lines of an attempt are advice.
        lines = [line for line in str(error).split("\n") if line.strip() and line[0] != "\t"]
        found = lines[-1] if lines else type(error).__name__
        found = found.removeprefix("- ").split("connection failed: ")[-1]
    return found.strip().rstrip(".")
