"""Archives of runs: everything that a store has about groups, as JSON lines for another store.

An archive has these lines, each an object with one key:

1. `archive`: the version of the tables that it is made of.
2. For each group in the order of its start `group`, with what the store knows of it, then a
   `verdict` for each of its verdicts, then its runs.
3. For each run in the order of its start `run`, then its `sample`s and its `event`s in their order.
4. `end`: how many lines of each kind there are. An archive without it is not complete.

Values are those of the columns of the tables (docs/use/run-store-tables.md). Not in an archive is
what only one store needs: ids of samples, events and verdicts, and the signs of life of processes.
Both kinds of stores write the same archive, byte for byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal, TypeAlias, get_args

from sqlalchemy import Column, Select, Table, select
from sqlalchemy.orm import Session

from netkv.errors import NetkvError
from netkv.runs.schema import VERSION, EventRow, GroupRow, RunRow, SampleRow, VerdictRow
from netkv.runs.stored_values import to_json

Part: TypeAlias = Literal["group", "verdict", "run", "sample", "event"]
PARTS: tuple[Part, ...] = get_args(Part)
ROWS: Mapping[Part, Any] = {
    "group": GroupRow,
    "verdict": VerdictRow,
    "run": RunRow,
    "sample": SampleRow,
    "event": EventRow,
}
_LEFT_OUT: Mapping[Part, tuple[str, ...]] = {
    "group": ("last_change", "seen_at"),
    "verdict": ("id", "group_id"),
    "run": ("group_id",),
    "sample": ("id", "run_id"),
    "event": ("id", "run_id"),
}
_BATCH = 500
"""Rows that are read at once."""


def columns(part: Part) -> list[Column[Any]]:
    """The columns that an archive has of a part."""
    table: Table = ROWS[part].__table__
    return [column for column in table.columns if column.name not in _LEFT_OUT[part]]


def line(part: str, values: Any) -> str:
    """A line with its end."""
    return to_json({part: values}) + "\n"


def whole(session: Session, groups: Collection[str] | None) -> Iterator[str]:
    """The lines of groups, or of all groups (None). Raises `NetkvError` for a run in progress."""
    order = (GroupRow.created_at, GroupRow.id)
    ids = [
        group
        for group in session.scalars(select(GroupRow.id).order_by(*order))
        if groups is None or group in groups
    ]
    _refuse_running(session, set(ids))
    counts: Counter[str] = Counter(dict.fromkeys(PARTS, 0))
    yield line("archive", {"version": VERSION})
    for group in ids:
        for text in _of_group_with_runs(session, group):
            counts[text[2 : text.index('"', 2)]] += 1
            yield text
    yield line("end", counts)


def _refuse_running(session: Session, groups: set[str]) -> None:
    running = select(RunRow.id, RunRow.group_id).where(RunRow.status == "running")
    for run, group in session.execute(running.order_by(RunRow.started_at)):
        if group in groups:
            raise NetkvError(
                f"Run {run} of {group} is in progress, so its group is not complete. "
                f"Write the archive after its end."
            )


def _of_group_with_runs(session: Session, group: str) -> Iterator[str]:
    yield from of_group(session, group)
    order = (RunRow.started_at, RunRow.id)
    runs = select(RunRow.id).where(RunRow.group_id == group).order_by(*order)
    for run in session.scalars(runs).all():
        yield from of_run(session, run)


def of_group(session: Session, group: str) -> Iterator[str]:
    """The lines of a group without its runs; none if it is not in the store."""
    yield from _lines(session, "group", _rows("group").where(GroupRow.id == group))
    own = VerdictRow.group_id == group
    yield from _lines(session, "verdict", _rows("verdict").where(own).order_by(VerdictRow.id))


def of_run(session: Session, run: str) -> Iterator[str]:
    """The lines of a run; none if it is not in the store."""
    yield from _lines(session, "run", _rows("run").where(RunRow.id == run))
    own = SampleRow.run_id == run
    yield from _lines(session, "sample", _rows("sample").where(own).order_by(SampleRow.id))
    happened = EventRow.run_id == run
    yield from _lines(session, "event", _rows("event").where(happened).order_by(EventRow.id))


def _rows(part: Part) -> Select[Any]:
    return select(*columns(part)).execution_options(yield_per=_BATCH)


def _lines(session: Session, part: Part, query: Select[Any]) -> Iterator[str]:
    for row in session.execute(query):
        yield line(part, dict(row._mapping))
