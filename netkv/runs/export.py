"""Export of runs: one JSON document, or CSV or Parquet with a line per run and interval."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from netkv.errors import NetkvError
from netkv.runs.records import RunRecord
from netkv.schemes import metric_table

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

_ABOUT = {
    "run": "id",
    "group": "group",
    "scenario": "scenario",
    "scheme": "scheme",
    "repeat": "repeat",
    "seed": "seed",
    "status": "status",
}
"""Columns about the run of a line, and the fields of its record."""
_LOAD = "server_load"
_BY_SWITCH = "control_plane_mib_per_s_by_switch"
_PARTS = ("server_load_", "control_plane_mib_per_s:")
"""Beginnings of the columns of single servers and switches."""
_MAX_INT64 = 2**63


def to_json(records: Sequence[RunRecord]) -> str:
    """`{"runs": [...]}`: the complete records of the runs."""
    return json.dumps({"runs": [record.model_dump(mode="json") for record in records]}, indent=2)


def to_csv(records: Sequence[RunRecord]) -> str:
    """The series in long form: a line per run and interval, a column per server and switch.

    Each sweep parameter is a column `param:PATH`. Unknown values are empty.
    """
    columns = dict(_long_form(records))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()


def to_parquet(records: Sequence[RunRecord]) -> bytes:
    """The table of `to_csv` with a type for each column; unknown values are null.

    The schema's metadata has the key `netkv`: `{"runs": [...]}`, the records without their series.
    Raises `NetkvError` if the package pyarrow is missing.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        raise NetkvError(
            "Parquet needs the Python package pyarrow. "
            "Install it with: pip install 'netkv[parquet]'"
        ) from error
    arrays = {name: _array(name, values) for name, values in _long_form(records)}
    runs = [record.model_dump(mode="json", exclude={"series"}) for record in records]
    table = pa.table(arrays).replace_schema_metadata({"netkv": json.dumps({"runs": runs})})
    # Not into a Python file: Arrow's threads may use such a file while Python ends, and abort it.
    out = pa.BufferOutputStream()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue().to_pybytes()  # type: ignore[no-any-return]  # pyarrow has no types


def _long_form(records: Sequence[RunRecord]) -> Iterator[tuple[str, list[Any]]]:
    """The columns of the table: name, and a value for each run and interval."""
    lengths = [len(record.series.get("time", ())) for record in records]
    sized = list(zip(records, lengths, strict=True))
    for name, field in _ABOUT.items():
        yield name, [getattr(record, field) for record, length in sized for _ in range(length)]
    for path in dict.fromkeys(path for record in records for path in record.params):
        values = [record.params.get(path) for record, length in sized for _ in range(length)]
        yield f"param:{path}", values
    for name in dict.fromkeys(name for record in records for name in record.series):
        if name not in (_LOAD, _BY_SWITCH):
            missing = ((record.series.get(name) or [None] * length) for record, length in sized)
            yield name, [value for column in missing for value in column]
    loads = [load for record in records for load in record.series.get(_LOAD, ())]
    for at in range(max(map(len, loads), default=0)):
        yield f"{_PARTS[0]}{at}", [load[at] if at < len(load) else None for load in loads]
    rates = [rate for record in records for rate in record.series.get(_BY_SWITCH, ())]
    for switch in sorted({switch for rate in rates for switch in rate}):
        yield f"{_PARTS[1]}{switch}", [rate.get(switch) for rate in rates]


def _array(name: str, values: Sequence[Any]) -> pa.Array:
    """A column of Parquet."""
    import pyarrow as pa

    kind = _kind(name, [value for value in values if value is not None])
    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    converted = (None if value is None else _converted(value, kind) for value in values)
    return pa.array(list(converted), types[kind])


def _kind(name: str, known: Sequence[Any]) -> type:
    """The type of a column. The values matter for swept options and unknown metrics only, and
    where a count is not whole."""
    if name in _ABOUT or name == "phase":
        return int if name in ("repeat", "seed") else str
    if name in ("time", "interval") or name.startswith(_PARTS):
        return float
    metric = metric_table.find(name)
    if metric is not None:
        return int if metric.is_count and all(isinstance(value, int) for value in known) else float
    if known and all(isinstance(value, bool) for value in known):
        return bool
    numbers = [value for value in known if isinstance(value, int | float)]
    if not known or len(numbers) < len(known):
        return str
    whole = all(isinstance(value, int) and abs(value) < _MAX_INT64 for value in known)
    return int if whole else float


def _converted(value: Any, kind: type) -> Any:
    if kind is str and not isinstance(value, str):
        return json.dumps(value)
    return kind(value)
