"""Tables between markers of a Markdown document."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from netkv.cli.output import notify


def write_tables(file: Path, tables: Mapping[str, str]) -> None:
    """Writes tables between the markers of their names in a Markdown document.

    Raises `UsageError` if it cannot be read, and `NetkvError` if it cannot be written.
    """
    from netkv.errors import NetkvError, UsageError
    from netkv.evaluation import document

    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--write {file}: cannot be read: {error.strerror or error}.") from error
    for name in tables.keys() - document.bodies(text).keys():
        notify(f"{file} has no marker '<!-- evaluation: {name} -->'; the table is left out.")
    try:
        file.write_text(document.replaced(text, tables), encoding="utf-8")
    except OSError as error:
        raise NetkvError(
            f"--write {file}: cannot be written: {error.strerror or error}."
        ) from error
