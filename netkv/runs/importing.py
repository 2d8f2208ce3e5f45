"""Import of an archive into a store.

Rules
-----
1. Nothing is stored if a line of the archive is wrong, or if something in it is in the store
   already and differs, unless it shall be replaced.
2. A group with its verdicts is one transaction, and so is each run with its series. An import that
   ends early can be repeated: what is in the store already and the same is skipped.
3. Runs that are pinned or in progress are not replaced.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from netkv.errors import NetkvError
from netkv.runs import archive
from netkv.runs.archive import ROWS
from netkv.runs.archive_file import ArchiveFile, Entry, digest_of
from netkv.runs.schema import GroupRow, RunRow, VerdictRow, delete_if_empty

if TYPE_CHECKING:
    from netkv.runs.store import Store

_BATCH = 500
"""Rows of an insertion."""


@dataclass
class Imported:
    """What an import has done, by ids of runs."""

    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """They were in the store already, and are the same."""

    def document(self) -> dict[str, Any]:
        """The fields as JSON."""
        return asdict(self)

    def sentence(self) -> str:
        """What a user has to know."""
        parts = [f"Added {_counted(len(self.added))}."]
        if self.replaced:
            parts.append(f"Replaced {_counted(len(self.replaced))}: {', '.join(self.replaced)}.")
        if self.skipped:
            parts.append(f"Skipped {_counted(len(self.skipped))} that the store has already.")
        return " ".join(parts)


def _counted(number: int) -> str:
    return f"{number:,} {'run' if number == 1 else 'runs'}"


def import_archive(store: Store, name: str, file: BinaryIO, *, replace: bool = False) -> Imported:
    """Add the groups and runs of an archive to a store.

    `file` is seekable, and `name` is its name for messages. `replace`: what differs in the store is
    replaced. Raises `NetkvError` for what is wrong or differs; then nothing is stored.
    """
    store.check_writable()
    read = ArchiveFile(name, file)
    done = Imported()
    changed = {
        (group.id, entry.id)
        for group in read.groups
        for entry in (group, *group.runs)
        if _differs(store, read, group, entry, replace=replace)
    }
    for group in read.groups:
        if (group.id, group.id) in changed:
            with store.transaction() as session:
                _write_group(session, read, group)
        for run in group.runs:
            if (group.id, run.id) not in changed:
                done.skipped.append(run.id)
                continue
            with store.transaction() as session:
                replaced = _write_run(session, read, group, run, replace=replace)
            (done.replaced if replaced else done.added).append(run.id)
    return done


def _differs(store: Store, read: ArchiveFile, group: Entry, entry: Entry, *, replace: bool) -> bool:
    """Whether a group or run has to be stored. Raises `NetkvError` if it must not be."""
    is_run = entry is not group
    kind = "Run" if is_run else "Group"
    with store.reading() as session:
        lines = archive.of_run if is_run else archive.of_group
        row = session.get(RunRow, entry.id) if is_run else None
        stored = digest_of(row.group_id if row else group.id, lines(session, entry.id))
        if stored is None:
            return True
        if stored == entry.digest:
            return False
        if not replace:
            raise NetkvError(
                f"{read.where(entry)}: {kind} {entry.id} is in the store already and differs. "
                f"Nothing was imported; --replace takes that of the file."
            )
        if row is not None:
            _refuse(read, entry, row)
    return True


def _refuse(read: ArchiveFile, entry: Entry, row: RunRow) -> None:
    """Raises `NetkvError` for a run that must not be replaced (rule 3)."""
    if row.status == "running":
        why = "in progress; stop it first"
    elif row.pinned:
        why = "pinned; unpin it first"
    else:
        return
    raise NetkvError(
        f"{read.where(entry)}: Run {entry.id} of the store cannot be replaced: it is {why}."
    )


def _write_group(session: Session, read: ArchiveFile, group: Entry) -> None:
    rows = read.rows(group)
    values = next(rows).values
    row = session.get(GroupRow, group.id)
    if row is None:
        session.add(GroupRow(**values))
    else:
        for name, value in values.items():
            setattr(row, name, value)
        session.execute(delete(VerdictRow).where(VerdictRow.group_id == group.id))
    session.flush()
    for verdict in rows:
        session.add(VerdictRow(group_id=group.id, **verdict.values))
        session.flush()  # ids in this order


def _write_run(
    session: Session, read: ArchiveFile, group: Entry, run: Entry, *, replace: bool
) -> bool:
    """Stores a run; returns whether it has replaced one."""
    there = session.get(RunRow, run.id)
    if there is not None:
        if not replace:
            raise NetkvError(
                f"{read.where(run)}: Run {run.id} was added to the store meanwhile. "
                f"Import the file again: what was imported is skipped."
            )
        _refuse(read, run, there)
        session.delete(there)
        session.flush()
        if there.group_id != group.id:
            delete_if_empty(session, there.group_id)
    rows = read.rows(run)
    session.execute(insert(RunRow), [{"group_id": group.id, **next(rows).values}])
    for part, same in itertools.groupby(rows, key=lambda row: row.part):
        for batch in _batches({"run_id": run.id, **row.values} for row in same):
            session.execute(insert(ROWS[part]), batch)
    return there is not None


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while batch := list(itertools.islice(rows, _BATCH)):
        yield batch
