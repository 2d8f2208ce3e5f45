"""Options of stored runs: their values, and the order of runs by them.

Their parameters are JSON, whose values databases compare differently, so it is done here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Row

from netkv.errors import UsageError

MISSING = object()
"""The value of an option that a run does not have."""


def values(rows: Sequence[Row[Any]], path: str) -> list[Any]:
    """The option of each row, which has `params` and `parameters`.

    Raises `UsageError` if no run has it, and this netkv has no such option either.
    """
    found = [_value(row, path) for row in rows]
    nowhere = bool(rows) and all(each is MISSING for each in found)
    if nowhere and (text := problem(path)) is not None:
        raise UsageError(text)
    return found


def problem(path: str) -> str | None:
    """None if netkv has an option of this path, else a sentence."""
    from netkv.scenarios import option_paths

    return option_paths.check(option_paths.parse(path))


def order(rows: Sequence[Row[Any]], path: str, *, descending: bool) -> list[Row[Any]]:
    """The rows by the value of an option: truth values, numbers, texts, then lists and the like.
    Rows without a value are last, and equal ones stay in their order."""
    known, others = [], []
    for row, value in zip(rows, values(rows, path), strict=True):
        if value is MISSING or value is None:
            others.append(row)
        else:
            known.append((_key(value), row))
    known.sort(key=lambda pair: pair[0], reverse=descending)
    return [row for _, row in known] + others


def _value(row: Row[Any], path: str) -> Any:
    if path in row.params:
        return row.params[path]
    here: Any = row.parameters
    for name in path.split("."):
        if not isinstance(here, Mapping) or name not in here:
            return MISSING
        here = here[name]
    return here


def _key(value: Any) -> tuple[int, Any]:
    for rank, kind in enumerate((bool, int | float, str)):
        if isinstance(value, kind):
            return rank, value
    return 3, json.dumps(value)
