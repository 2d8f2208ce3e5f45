"""Rows of figures: runs grouped by settings, and their baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from netkv import schemes
from netkv.report import text
from netkv.report.figure import plain
from netkv.runs.compare import differing, ratio, repeats, settings
from netkv.runs.records import RunRecord
from netkv.scenarios.plot import Baseline
from netkv.scenarios.results import Interval
from netkv.scenarios.statistics import interval

Value = Callable[[RunRecord], float | None]
Key = tuple[str, str]
"""Scheme, and other settings that distinguish rows, as text."""


@dataclass(frozen=True)
class Row:
    """Runs with the same settings."""

    scheme: str
    point: dict[str, Any]
    """Path → value of the swept options and of other settings in which the rows differ."""
    runs: tuple[RunRecord, ...]

    def at(self, path: str) -> Any:
        """The value of an option, swept or not; None if these runs do not have it."""
        return self.point[path] if path in self.point else settings(self.runs[0]).get(path)

    def mean(self, value: Value) -> Interval | None:
        """Mean over the repeats with its 95% confidence interval; None if no run has the value."""
        found = [value(run) for run in self.runs]
        return interval([each for each in found if each is not None])

    def key(self, path: str = "") -> Key:
        """The key of the series of this row in a sweep over `path`."""
        return self.scheme, text.params({p: v for p, v in self.point.items() if p != path})

    def label(self, path: str = "") -> str:
        """Scheme and point, without the option on the axis."""
        return label(self.key(path))


def label(key: Key) -> str:
    """A key as text of the legend: `SCHEME, zipf 0.9`."""
    return plain(", ".join(part for part in (title(key[0]), key[1]) if part), 48)


def title(scheme: str) -> str:
    """The name of a scheme in figures."""
    known = {each.name: each.about.title for each in schemes.all_schemes()}
    return known.get(scheme, scheme)


def rows(records: Iterable[RunRecord], *, unfinished: bool = False) -> list[Row]:
    """Rows of successful runs with the same settings; schemes in the order of the registry.

    With `unfinished`, other runs are used for rows in which no repeat succeeded.
    """
    groups = []
    for group in repeats(list(records)):
        done = [run for run in group if run.status == "done"]
        if done or unfinished:
            groups.append(done or group)
    different = differing([group[0] for group in groups])
    hashes: dict[str, set[str]] = {}
    for group in groups:
        hashes.setdefault(group[0].scheme, set()).add(group[0].provenance.program_hash)
    found = []
    for group in groups:
        first = group[0]
        own = settings(first)
        point = {**first.params, **{path: own[path] for path in different if path in own}}
        if len(hashes[first.scheme]) > 1:
            point["program"] = first.provenance.program_hash[:7]
        found.append(Row(first.scheme, point, tuple(group)))
    points = list(dict.fromkeys(row.key()[1] for row in found))
    order = _order()
    return sorted(
        found,
        key=lambda row: (points.index(row.key()[1]), order.get(row.scheme, len(order)), row.scheme),
    )


def _order() -> dict[str, int]:
    """Order of schemes in figures."""
    return {each.name: at for at, each in enumerate(schemes.all_schemes())}


class Relation:
    """The relation of values to a baseline; without one, values are unchanged."""

    def __init__(self, baseline: Baseline | None, among: Sequence[Row]) -> None:
        self.baseline = baseline
        self._among = among

    def __bool__(self) -> bool:
        return self.baseline is not None

    def of(self, row: Row, value: Value, by: Value | None = None) -> Interval | None:
        """Mean of a value, or its ratio to the mean of `by` (default: `value`) of the baseline."""
        if self.baseline is None:
            return row.mean(value)
        base = self.base(row)
        if base is None:
            return None
        if base is row and by is None:
            mean = row.mean(value)
            return Interval(mean=1.0, ci95=None, n=mean.n) if mean and mean.mean else None
        return ratio(row.mean(value), base.mean(by or value))

    def base(self, row: Row) -> Row | None:
        """The baseline of a row; None if it is not among the rows."""
        if self.baseline is None:
            return None
        scheme = self.baseline.scheme or row.scheme
        point = {**row.point, **self.baseline.point}
        point.pop("program", None)
        for other in self._among:
            if other.scheme == scheme and all(other.at(p) == v for p, v in point.items()):
                return other
        return None

    def words(self) -> str:
        """The baseline as text: `SCHEME at zipf 0`."""
        if self.baseline is None:
            return ""
        point = text.params(self.baseline.point)
        scheme = title(self.baseline.scheme) if self.baseline.scheme else "itself"
        return f"{scheme} at {point}" if point else scheme
