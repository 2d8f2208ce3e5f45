"""Changes of the tables of the run store, by version: Alembic's scripts in `versions`.

`store_info.version` is the only record of a store's version: its text is the id of the revision. A
new store is made from `netkv.runs.schema` at once, and a test shows that the scripts lead to the
same tables. So Alembic is imported only when a store is upgraded.

A change of the tables needs a script: a copy of the newest with the next number, whose docstring
says in one line what it changes and why. On SQLite a script must write every row of a table to
which it adds columns: `netkv runs repair` knows a row by the number of its values.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, update

from netkv.runs.schema import StoreInfo

_FOLDER = Path(__file__).parent


def run(connection: Connection, since: int | None, until: int) -> Iterator[tuple[int, str]]:
    """Change the tables from a version (None: there are none) to a later one.

    Yields each version that is reached, and what was changed for it.
    """
    scripts = ScriptDirectory(str(_FOLDER), version_locations=[str(_FOLDER / "versions")])
    start = "base" if since is None else str(since)
    pending = list(scripts.iterate_revisions(str(until), start))
    with Operations.context(MigrationContext.configure(connection)):
        for script in reversed(pending):
            script.module.upgrade()
            connection.execute(update(StoreInfo).values(version=int(script.revision)))
            yield int(script.revision), script.doc
