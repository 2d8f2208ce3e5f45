"""The tables of the run store as Markdown: docs/use/run-store-tables.md (`make docs`)."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from netkv.runs.schema import VERSION, Base

_HEAD = """\
# Tables of the run store

`netkv runs tables` prints this text, and `make docs` writes it here. It is generated from the
definitions of the tables. [run-store.md](run-store.md) describes where the store is and how to read
it.
"""


def markdown() -> str:
    """The reference, with a newline at its end."""
    return "\n".join([_HEAD, f"These are the tables of version {VERSION}.\n", *_tables()])


def document() -> dict[str, Any]:
    """The reference as data."""
    return {
        "version": VERSION,
        "tables": [
            {
                "name": mapper.local_table.description,
                "meaning": inspect.getdoc(mapper.class_),
                "columns": [
                    {
                        "name": column.name,
                        "type": str(column.type),
                        "null": bool(column.nullable),
                        "key": _key(column),
                        "meaning": column.doc,
                    }
                    for column in mapper.local_table.columns
                ],
            }
            for mapper in Base.registry.mappers
        ],
    }


def _key(column: Any) -> str:
    """`primary`, the target of a foreign key, or empty."""
    if column.primary_key:
        return "primary"
    return ", ".join(key.target_fullname for key in column.foreign_keys)


def _tables() -> Iterator[str]:
    for table in sorted(document()["tables"], key=lambda each: str(each["name"])):
        yield f"## `{table['name']}`\n\n{table['meaning']}\n"
        yield "| column | type | key | meaning |"
        yield "|---|---|---|---|"
        for column in table["columns"]:
            kind = f"{column['type']}{' or NULL' if column['null'] else ''}"
            yield f"| `{column['name']}` | {kind} | {column['key']} | {column['meaning']} |"
        yield ""
