"""The URL of a run store: what it names, and how it is shown without its password."""

from __future__ import annotations

import re
from pathlib import Path

from sqlalchemy import URL
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from netkv.errors import UsageError

_POSTGRESQL = ("postgresql+psycopg", "postgresql", "postgres")
_SQLITE = ("sqlite", "sqlite+pysqlite")
_SECRETS = ("password", "sslpassword")
"""Parameters of a connection that are not shown."""
_EXAMPLES = "sqlite:////var/lib/netkv/runs.db or postgresql+psycopg://host/netkv"


def parse(url: str) -> URL:
    """The parts of a URL; raises `UsageError` for one that names no store."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise UsageError(
            f"NETKV_STORE is '{shown(url)}', which is not a database URL. "
            f"It should look like {_EXAMPLES}."
        ) from error
    if parsed.drivername in _POSTGRESQL:
        return parsed.set(drivername=_POSTGRESQL[0])
    if parsed.drivername not in _SQLITE:
        raise UsageError(
            f"NETKV_STORE is '{shown(url)}', but netkv has no run stores of this kind of database. "
            f"It should look like {_EXAMPLES}."
        )
    return parsed


def shown(url: str) -> str:
    """The URL for messages."""
    if url.startswith(_SQLITE):
        return url
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # It may be a URL with a typing error, and with a password before its host.
        return re.sub(r"^.*@", "***@", url, flags=re.DOTALL)
    parsed = parsed.difference_update_query(_SECRETS)
    return parsed.render_as_string(hide_password=True)


def without_secrets(url: str) -> str:
    """The URL for a file: the same without its passwords."""
    parsed = parse(url)
    if not secrets(url):
        return url
    bare = parsed._replace(password=None).difference_update_query(_SECRETS)
    return bare.render_as_string(hide_password=False)


def file_of(url: str) -> Path | None:
    """The file of a store; None if it is on a server or in memory."""
    parsed = parse(url)
    if parsed.get_backend_name() != "sqlite" or parsed.database in (None, "", ":memory:"):
        return None
    return Path(parsed.database)


def secrets(url: str) -> list[str]:
    """The texts in a URL that no message may have."""
    parsed = parse(url)
    found = [parsed.password, *(parsed.query.get(name) for name in _SECRETS)]
    return [each for each in found if isinstance(each, str) and each]
