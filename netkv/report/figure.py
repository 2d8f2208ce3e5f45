"""The data model of a figure, independent of its renderer.

`drawing` renders it as SVG and PNG files, `interactive` as plotly figures for pages and the
dashboard. It contains the whole content of a figure, so that files, pages and dashboard agree.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from netkv.report.style import FIRST, GREY, Style

Draw = Literal["lines", "steps", "intervals", "bars", "points"]
"""`steps`: a value holds up to the next place. `intervals`: it is about the interval from
its `Series.begins` to its place. `points` are single markers without a line: what others have
measured."""
_MAX_TICKS = 12
"""Values of a sweep, at most, that are the ticks of its axis."""


@dataclass(frozen=True)
class Axis:
    """An axis. Values are in `unit`; with `categories` they are positions 0, 1, ... of these."""

    label: str
    unit: str = ""
    log: bool = False
    share: bool = False
    """Values are shares, shown as percentages."""
    low: float | None = None
    high: float | None = None
    """Limits; None: the limits of the data."""
    ticks: tuple[float, ...] = ()
    """Positions of ticks; empty: the renderer chooses. Those without room have no label."""
    categories: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Label and unit, as shown beside the axis."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True)
class Series:
    """A series of points: one line, or the bars of one style."""

    name: str
    """Name in the legend; empty: it has no entry."""
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    """None: the value is unknown, and a line has a gap."""
    draw: Draw = "lines"
    style: Style = FIRST
    spread: tuple[float | None, ...] = ()
    """Half width of the 95% confidence interval of each point; empty: all are unknown."""
    base: tuple[float, ...] = ()
    """Lower ends of bars; empty: 0."""
    slot: int = 0
    """Index of its bars among the adjacent bars at a position."""
    part: int = 0
    """Index of the part of a stacked bar, from below: determines the pattern."""
    marked: bool = True
    """Whether each point of the line has a marker and an error bar. Otherwise the intervals are a
    band around the line."""
    labels: tuple[str, ...] = ()
    """Text at the ends of bars; empty: none."""
    begins: tuple[float, ...] = ()
    """Where the intervals of `intervals` begin."""

    def __post_init__(self) -> None:
        for column in (self.y, self.spread, self.base, self.labels, self.begins):
            if column and len(column) != len(self.x):
                raise ValueError(f"'{self.name}' has {len(self.x)} points and {len(column)} values")

    def corners(self) -> list[tuple[float, int]]:
        """The places of a line with the index of the value at each. A value of an interval is at
        both ends of it, so lines between corners are steps, with gaps where a value is unknown."""
        if self.draw != "intervals":
            return [(x, at) for at, x in enumerate(self.x)]
        return [
            corner
            for at, ends in enumerate(zip(self.begins, self.x, strict=True))
            for corner in ((ends[0], at), (ends[1], at))
        ]

    def top(self, at: int) -> float | None:
        """Upper end of the bar, or value of the point, at this index."""
        value = self.y[at]
        return None if value is None else value + (self.base[at] if self.base else 0.0)


@dataclass(frozen=True)
class Band:
    """A highlighted range of the x axis."""

    start: float
    end: float
    text: str
    kind: Literal["warmup", "down", "fault", "recovering"]


@dataclass(frozen=True)
class Mark:
    """An event at a position of the x axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Reference:
    """A dotted line at a value that was predicted or measured elsewhere."""

    value: float
    name: str
    """Name in the legend; empty: it has no entry."""
    colour: str = GREY
    """`#rrggbb`: the colour of its series, or grey."""


@dataclass(frozen=True)
class Figure:
    """A figure, as a renderer needs it."""

    name: str
    """Name of its file, without the suffix."""
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    bands: tuple[Band, ...] = ()
    marks: tuple[Mark, ...] = ()
    references: tuple[Reference, ...] = ()
    sideways: bool = False
    """Bars are horizontal: categories at the left, from the top down, values to the right."""
    note: str = ""
    """Small text below the title, about the machine of the measurement."""

    @property
    def slots(self) -> int:
        """Number of adjacent bars at a position."""
        return 1 + max((each.slot for each in self.series if each.draw == "bars"), default=0)

    @property
    def bar_width(self) -> float:
        """Width of a bar; the distance of two positions is 1."""
        return min(0.8 / self.slots, 0.6)

    def bar_at(self, series: Series, x: float) -> float:
        """The middle of a bar at a position."""
        return x + (series.slot - (self.slots - 1) / 2) * self.bar_width

    def legend(self) -> tuple[str, ...]:
        """Entries of the legend; empty for a single series without references."""
        series = [each.name for each in self.series if each.name]
        references = [each.name for each in self.references if each.name]
        return (*series, *references) if len(series) > 1 or references else ()


def plain(text: str, limit: int = 120) -> str:
    """Text on one line without control characters, cut at the limit."""
    clean = "".join(
        " " if character.isspace() else character
        for character in text
        if character.isspace() or unicodedata.category(character)[0] != "C"
    )
    clean = " ".join(clean.split())
    return clean if len(clean) <= limit else clean[: limit - 1].rstrip() + "…"


def number(value: float) -> str:
    """A value at a tick: `0.25`, `800`, `12k`, `1.5M`."""
    if 1000 <= abs(value) < 10_000 and value % 100:
        return f"{value:.0f}"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9999995:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


def percent(value: float) -> str:
    """A share at a tick: `62.5%`."""
    return f"{100 * value:.4g}%"


def run_ticks(values: Iterable[float], *, log: bool = False) -> tuple[float, ...]:
    """The values of a sweep as ticks, each once.

    Empty if there are fewer than 2 or more than 12, or for a logarithmic axis one that it cannot
    show: then the renderer chooses.
    """
    found = sorted(set(values))
    if not 2 <= len(found) <= _MAX_TICKS or (log and found[0] <= 0):
        return ()
    return tuple(found)


def spans_decades(values: Iterable[float | None], decades: float = 2.0) -> bool:
    """Whether values are all positive and span more than so many powers of ten."""
    known = [value for value in values if value is not None]
    return bool(known) and min(known) > 0 and math.log10(max(known) / min(known)) > decades
