"""Commands of `netkv runs` for a whole store: repair, upgrade, and archives between stores."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from netkv.cli.output import Json, notify, print_json, write


def repair(
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the new store there, and leave the damaged one where it is.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Replace a damaged store by a new one with all runs that can be read.

    The damaged file is kept under another name, which is printed.
    """
    from netkv.runs import default_url
    from netkv.runs.repair import repair as repair_store

    repaired = repair_store(default_url(), output)
    if json:
        print_json(None if repaired is None else repaired.document())
    elif repaired is None:
        write("The run store is not damaged.")
    else:
        write("\n".join(repaired.sentences()))


def upgrade(json: Json = False) -> None:
    """Upgrade the store of an older netkv to the tables of this one.

    A copy of a SQLite file is kept beside it. For a server, make one with pg_dump before.
    """
    from netkv.runs import default_url
    from netkv.runs.upgrade import upgrade as upgrade_store

    upgraded = upgrade_store(default_url())
    if json:
        print_json(None if upgraded is None else upgraded.document())
    elif upgraded is None:
        write("The run store has the tables of this netkv; nothing was changed.")
    else:
        write("\n".join(upgraded.sentences()))


def import_runs(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="What 'netkv runs export --archive' has written; '-' for stdin."
        ),
    ],
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Replace runs of the store that differ from those of the file."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Add the groups and runs of an archive to the store.

    Runs that the store has already are skipped. If one differs, or a line is wrong, nothing is
    imported.
    """
    from netkv.runs import Store
    from netkv.runs.importing import import_archive

    with _opened(file) as opened, Store() as store:
        name = "stdin" if file == "-" else file
        imported = import_archive(store, name, opened, replace=replace)
    if json:
        print_json(imported.document())
    else:
        notify(imported.sentence())


@contextlib.contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    """The file, seekable; raises `NetkvError`."""
    from netkv.errors import NetkvError

    try:
        with ExitStack() as opened:
            source: BinaryIO = sys.stdin.buffer
            if file != "-":
                source = opened.enter_context(Path(file).open("rb"))
            if not source.seekable():
                copy = opened.enter_context(tempfile.TemporaryFile())
                shutil.copyfileobj(source, copy)
                copy.seek(0)
                source = copy
            yield source
    except OSError as error:
        raise NetkvError(f"{file} cannot be read: {error.strerror}.") from error


def write_archive(ids: Sequence[str], output: Path | None) -> None:
    """Write the groups of runs, or all groups without ids, to a file or stdout."""
    from netkv.errors import NetkvError
    from netkv.runs import Store

    with Store() as store:
        groups = {head.group for head in map(store.head, store.find(ids))} if ids else None
        lines = store.archived(groups)
        if output is None:
            sys.stdout.buffer.writelines(line.encode() for line in lines)
            sys.stdout.flush()
            return
        # An archive that is not complete never has the name of one.
        draft = output.with_name(f".{output.name}.{os.getpid()}.new")
        try:
            with draft.open("wb") as opened:
                opened.writelines(line.encode() for line in lines)
            draft.replace(output)
        except OSError as error:
            raise NetkvError(f"{output} cannot be written: {error.strerror}.") from error
        finally:
            draft.unlink(missing_ok=True)
    notify(f"Wrote {'the whole store' if groups is None else _groups(groups)} to {output}.")


def _groups(groups: set[str]) -> str:
    return f"{len(groups)} {'group' if len(groups) == 1 else 'groups'}"
