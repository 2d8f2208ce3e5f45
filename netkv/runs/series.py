"""Runs over time, as columns of equal length: one entry per interval.

The columns are `time`, `phase`, `interval`, each sampled metric, `latency_mean_us` and so on,
`server_load` and `control_plane_mib_per_s_by_switch`. They are made of the rows without a model for
each interval, because a page reads many long runs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

from sqlalchemy import Select, Text, cast, select
from sqlalchemy.orm import Session

from netkv.runs.schema import COLUMNS, SampleRow
from netkv.scenarios.results import Latency
from netkv.schemes import metric_table

Columns: TypeAlias = dict[str, list[Any]]

_LISTS = ("server_load", "control_plane_mib_per_s_by_switch")
"""Columns with a list or an object for each interval: most of a series."""
_JSON = ("metrics", "latency_us")
_LATENCIES = tuple(Latency.model_fields)
_Query = Select[Any]


def read(
    session: Session,
    run_id: str,
    since: float | None = None,
    until: float | None = None,
    *,
    scalars: bool = False,
) -> tuple[Columns, int]:
    """The intervals of a run that end from `since` to `until`, and the id of the last one.

    The id is 0 if there are none. `scalars`: only columns with a single value for each interval.
    """
    plain = ("id", "time", "phase", "interval", *COLUMNS)
    encoded = _JSON if scalars else (*_JSON, *_LISTS)
    query = select(
        *(getattr(SampleRow, name) for name in plain),
        *(cast(getattr(SampleRow, name), Text) for name in encoded),
    )
    rows = session.execute(within(query, run_id, since, until)).all()
    found: Columns = {name: [row[at] for row in rows] for at, name in enumerate((*plain, *encoded))}
    for name in encoded:
        # One document for all rows is parsed in half the time of one for each.
        found[name] = json.loads(f"[{','.join(found[name])}]")
    return _columns(found), found["id"][-1] if rows else 0


def names() -> list[str]:
    """The columns of a series, with those of every scheme that is installed."""
    latencies = [f"latency_{field}_us" for field in _LATENCIES]
    return [*dict.fromkeys([*metric_table.sampled(), *COLUMNS]), *latencies, *_LISTS]


def within(query: _Query, run_id: str, since: float | None, until: float | None) -> _Query:
    """A query of samples for a run and a window of time, in order."""
    query = query.where(SampleRow.run_id == run_id).order_by(SampleRow.id)
    if since is not None:
        query = query.where(SampleRow.time >= since)
    if until is not None:
        query = query.where(SampleRow.time <= until)
    return query


def _columns(rows: Columns) -> Columns:
    """The public columns from those of the table."""
    others: Sequence[dict[str, Any]] = rows["metrics"]
    latencies: Sequence[dict[str, Any]] = rows["latency_us"]
    absent = metric_table.sampled()
    # Names that this version does not know may be metrics of a scheme that was uninstalled.
    names = [*absent, *COLUMNS, *(others[0] if others else ())]
    return {
        **{name: rows[name] for name in ("time", "phase", "interval")},
        **{
            name: rows[name]
            if name in COLUMNS
            else [each.get(name, absent.get(name)) for each in others]
            for name in names
        },
        **{f"latency_{field}_us": [each.get(field) for each in latencies] for field in _LATENCIES},
        **{name: rows[name] for name in _LISTS if name in rows},
    }
