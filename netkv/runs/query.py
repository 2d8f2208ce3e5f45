"""Queries of the run store: filters, a search in texts, the order, and pages.

The database applies the filters of plain columns and the order, also by figures, which are JSON.
Texts and options are compared here (`option_values`), because databases compare JSON values
differently; and metrics that are derived from figures are computed here.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_args

from sqlalchemy import ColumnElement, Row, Select, and_, case, func, null, select
from sqlalchemy.orm import Session

from netkv.errors import UsageError, suggest
from netkv.metrics import Metric
from netkv.metrics.sources import Derived
from netkv.runs import mapping, option_values
from netkv.runs.records import RunHead, StoredStatus
from netkv.runs.schema import COLUMNS, RunRow, SampleRow
from netkv.scenarios.results import Latency
from netkv.scenarios.values import of_run
from netkv.schemes import metric_table

STATUSES: tuple[str, ...] = get_args(StoredStatus)
MODES = ("live", "sim")
_COLUMNS = (
    "id",
    "group",
    "scenario",
    "title",
    "scheme",
    "repeat",
    "seed",
    "mode",
    "target",
    "status",
    "started_at",
    "finished_at",
    "duration",
    "warmup",
    "pinned",
)
"""Fields of `RunHead` for the order of runs, beside metrics."""
_MAX_ROWS = 2**62
_LATENCIES = {f"latency_{field}_us": field for field in Latency.model_fields}
_CONDITION = re.compile(r"([^\s<>=!]+)\s*(<=|>=|!=|=|<|>)\s*([^\s<>=!].*)", re.DOTALL)
_ORDERED: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Condition:
    """A condition on an option of runs, as `workload.zipf>=0.9`. Runs without it do not meet it."""

    path: str
    compare: str
    value: Any

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Raises `UsageError` for anything that is no condition."""
        found = _CONDITION.fullmatch(text.strip())
        if found is None:
            raise UsageError(
                f"'{text}' is not a condition on an option. "
                f"Conditions look like workload.zipf=0.99, lab.servers>=8 or workload.mix!=b."
            )
        condition = cls(found[1], found[2], _parsed(found[3]))
        if condition.compare in _ORDERED and not _is_number(condition.value):
            raise UsageError(
                f"'{text}' compares with '{found[3]}', which is not a number. "
                f"Texts can be compared with = and != only."
            )
        return condition

    def holds(self, own: Any) -> bool:
        """Whether a run with this value meets it."""
        if self.compare in _ORDERED:
            return _is_number(own) and _ORDERED[self.compare](own, self.value)
        return _equal(own, self.value) == (self.compare == "=")


class OrderError(UsageError):
    """Runs cannot be sorted by what was asked for."""


@dataclass(frozen=True)
class RunQuery:
    """Which runs, in which order. Empty filters are met by all runs; runs meet all filters.

    Raises `UsageError` for a value that cannot be right.
    """

    scenario: str | None = None
    scheme: Sequence[str] = ()
    """Any of these."""
    mode: str | None = None
    status: Sequence[str] = ()
    """Any of these."""
    group: str | None = None
    ids: Sequence[str] = ()
    """Any of these."""
    tags: Sequence[str] = ()
    """All of these."""
    pinned: bool | None = None
    search: str = ""
    """Words that the texts of a run contain: id, scenario, title, scheme, tags, note, and options
    of the sweep as `PATH=VALUE`. Upper and lower case are the same."""
    where: Sequence[str] = ()
    """Conditions on options (`Condition`)."""
    started_after: float | None = None
    """Seconds since the epoch; that moment included."""
    started_before: float | None = None
    sort: str = "started_at"
    """A field of `RunHead`, the name of a metric, or the path of an option as `workload.zipf`. Runs
    without a value are last, and equal ones are ordered by their start, newest first."""
    descending: bool = True
    offset: int = 0
    limit: int | None = None

    def __post_init__(self) -> None:
        for status in self.status:
            if status not in STATUSES:
                raise UsageError(
                    f"'{status}' is not a status of runs. "
                    f"{suggest(status, STATUSES, label='Statuses')}"
                )
        if self.mode is not None and self.mode not in MODES:
            raise UsageError(
                f"'{self.mode}' is not a mode. {suggest(self.mode, MODES, label='Modes')}"
            )
        if not self.sorts_by_option and self.sort not in sortable():
            near = get_close_matches(self.sort, sortable(), n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise OrderError(
                f"Runs cannot be sorted by '{self.sort}'.{hint} Possible are "
                f"{', '.join(_COLUMNS)}, the names of metrics, and paths of options such as "
                f"workload.zipf."
            )
        if self.offset < 0 or (self.limit is not None and self.limit < 0):
            raise UsageError("The number of runs to show or to skip cannot be negative.")
        self.conditions()

    @property
    def sorts_by_option(self) -> bool:
        """Whether the order is that of an option."""
        return self.sort not in sortable() and (
            "." in self.sort or option_values.problem(self.sort) is None
        )

    def conditions(self) -> list[Condition]:
        """The parsed conditions of `where`."""
        return [Condition.parse(text) for text in self.where]


@dataclass(frozen=True)
class Page:
    """Runs of a query, from `offset` on and at most `limit`."""

    runs: list[RunHead]
    total: int
    """Number of runs of the query, without `offset` and `limit`."""


def sortable() -> list[str]:
    """The fields and metrics that runs can be sorted by."""
    return [*_COLUMNS, *(metric.name for metric in metric_table.all_metrics())]


def statement(query: RunQuery) -> Select[Any]:
    """What the database does for a query: filters of plain columns, and the order."""
    return select(*mapping.HEAD).where(*_filters(query)).order_by(*_order(query))


def search(session: Session, query: RunQuery) -> Page:
    """The runs of a query."""
    found = statement(query)
    tests = [test for test in (_texts(query), _tags(query)) if test is not None]
    by_option = query.sorts_by_option
    derived = None if by_option else _derived(query.sort)
    conditions = query.conditions()
    if not tests and not conditions and derived is None and not by_option:
        count = select(func.count()).select_from(RunRow).where(*_filters(query))
        # Databases count with 64 bits.
        limit = None if query.limit is None else min(query.limit, _MAX_ROWS)
        found = found.limit(limit).offset(min(query.offset, _MAX_ROWS))
        total = session.scalar(count) or 0
        return Page([mapping.head(row) for row in session.execute(found)], total)
    if conditions or by_option:
        found = found.add_columns(RunRow.parameters)
    rows = _meeting(session.execute(found).all(), conditions)
    rows = [row for row in rows if all(test(row) for test in tests)]
    if by_option:
        rows = _by_option(rows, query)
    last = None if query.limit is None else query.offset + query.limit
    page = slice(query.offset, last)
    if derived is None:
        return Page([mapping.head(row) for row in rows[page]], len(rows))
    heads = _sorted([mapping.head(row) for row in rows], derived, descending=query.descending)
    return Page(heads[page], len(rows))


def _filters(query: RunQuery) -> Iterator[ColumnElement[bool]]:
    """The filters of plain columns."""
    if query.scenario is not None:
        yield RunRow.scenario == query.scenario
    if query.scheme:
        yield RunRow.scheme.in_(query.scheme)
    if query.mode is not None:
        yield RunRow.mode == query.mode
    if query.status:
        yield RunRow.status.in_(query.status)
    if query.group is not None:
        yield RunRow.group_id == query.group
    if query.ids:
        yield RunRow.id.in_(query.ids)
    if query.pinned is not None:
        yield RunRow.pinned.is_(query.pinned)
    if query.started_after is not None:
        yield RunRow.started_at >= query.started_after
    if query.started_before is not None:
        yield RunRow.started_at <= query.started_before


# The order


def _order(query: RunQuery) -> Iterator[Any]:
    newest = (RunRow.started_at.desc(), RunRow.id.desc())
    if query.sort == "started_at" and not query.descending:
        yield RunRow.started_at
        yield RunRow.id
        return
    by_database = not query.sorts_by_option and _derived(query.sort) is None
    if query.sort != "started_at" and by_database:
        value = _value(query.sort)
        # Databases differ in where they sort NULL.
        yield value.is_(None)
        yield value.desc() if query.descending else value
    yield from newest


def _value(name: str) -> ColumnElement[Any]:
    """A field or metric as an expression of the database."""
    if name in _COLUMNS:
        column: ColumnElement[Any] = getattr(RunRow, "group_id" if name == "group" else name)
        return column
    if name in _LATENCIES:
        return _number(RunRow.figures[("latency_us", _LATENCIES[name])])
    metric = metric_table.get(name)
    if not metric.of_runs:
        return _value(metric.whole) if metric.whole is not None else _at_the_end(name)
    value = _number(RunRow.figures[name])
    if metric.absent is None:
        return value
    # Lists show the absent value where an older netkv has stored none.
    ended = func.coalesce(value, float(metric.absent))
    return case((RunRow.status == "running", null()), else_=ended)


def _at_the_end(name: str) -> ColumnElement[Any]:
    """The value of a metric at the end of the measured part."""
    value = getattr(SampleRow, name) if name in COLUMNS else _number(SampleRow.metrics[name])
    return (
        select(value)
        .where(and_(SampleRow.run_id == RunRow.id, SampleRow.phase == "measure"))
        .order_by(SampleRow.id.desc())
        .limit(1)
        .scalar_subquery()
    )


def _number(element: Any) -> ColumnElement[Any]:
    """A JSON value as a number, also a truth value, which PostgreSQL does not cast to one."""
    text = element.as_string()
    return case((text == "true", 1.0), (text == "false", 0.0), else_=element.as_float())


def _derived(name: str) -> Metric | None:
    """The metric of this name, if its values are computed here."""
    if name in _COLUMNS or name in _LATENCIES:
        return None
    metric = metric_table.get(name)
    return metric if isinstance(metric.source, Derived) else None


def _sorted(heads: Sequence[RunHead], metric: Metric, *, descending: bool) -> list[RunHead]:
    values = [(None if h.status == "running" else of_run(metric, h), h) for h in heads]
    known = [(value, head) for value, head in values if value is not None]
    sign = -1 if descending else 1
    known.sort(key=lambda pair: sign * pair[0])
    return [head for _, head in known] + [head for value, head in values if value is None]


def _by_option(rows: Sequence[Row[Any]], query: RunQuery) -> Sequence[Row[Any]]:
    try:
        return option_values.order(rows, query.sort, descending=query.descending)
    except UsageError as error:
        raise OrderError(str(error)) from error


# Filters of texts and options


def _meeting(rows: Sequence[Row[Any]], conditions: Sequence[Condition]) -> Sequence[Row[Any]]:
    """The rows that meet conditions on options."""
    met = rows
    for condition in conditions:
        values = option_values.values(rows, condition.path)
        holding = {
            row.id
            for row, own in zip(rows, values, strict=True)
            if own is not option_values.MISSING and condition.holds(own)
        }
        met = [row for row in met if row.id in holding]
    return met


def _texts(query: RunQuery) -> Callable[[Row[Any]], bool] | None:
    words = query.search.casefold().split()
    if not words:
        return None

    def contains(row: Row[Any]) -> bool:
        text = "\n".join(_searched(row)).casefold()
        return all(word in text for word in words)

    return contains


def _searched(row: Row[Any]) -> Iterable[str]:
    swept = (f"{path}={_shown(value)}" for path, value in row.params.items())
    return (row.id, row.scenario, row.title, row.scheme, row.note, *row.tags, *swept)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _tags(query: RunQuery) -> Callable[[Row[Any]], bool] | None:
    wanted = set(query.tags)
    return (lambda row: wanted.issubset(row.tags)) if wanted else None


def _parsed(text: str) -> Any:
    """A value as in `--set`: a number, truth value or null, else a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _equal(own: Any, wanted: Any) -> bool:
    if isinstance(own, bool) or isinstance(wanted, bool):
        return own is wanted
    # A text may look like a number: `target=1`.
    return bool(own == wanted or (isinstance(own, str) and own == _shown(wanted)))
