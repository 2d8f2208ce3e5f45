"""A figure as data, before it is drawn.

`drawing` makes SVG and PNG files of it, `interactive` plotly figures for pages and the dashboard.
Neither knows of runs or benchmarks, and the whole content of a figure is here, so that files, pages
and dashboard cannot disagree.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from netkv.report.style import FIRST, GREY, Style

Draw = Literal["lines", "steps", "bars"]


@dataclass(frozen=True)
class Axis:
    """One axis. Values are in `unit`; with `categories` they are positions 0, 1, ... of these."""

    label: str
    unit: str = ""
    log: bool = False
    share: bool = False
    """Values are shares, shown as percentages."""
    low: float | None = None
    high: float | None = None
    """Where it begins and ends; None: where the data does."""
    ticks: tuple[float, ...] = ()
    """Where it has ticks; empty: the renderer chooses."""
    categories: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Label and unit, as they stand beside the axis."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True)
class Series:
    """Points that belong together: one line, or the bars of one style."""

    name: str
    """In the legend; empty: it has no entry there."""
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    """None: nothing is known there, and a line has a gap."""
    draw: Draw = "lines"
    style: Style = FIRST
    spread: tuple[float | None, ...] = ()
    """Half width of the 95% confidence interval of each point; empty: none is known."""
    base: tuple[float, ...] = ()
    """Where bars begin; empty: at 0."""
    slot: int = 0
    """Which of the bars that stand side by side at a position it is."""
    part: int = 0
    """Of a stacked bar, counted from below: decides its pattern."""
    marked: bool = True
    """Each point of the line is a measurement of its own, with a mark and an error bar; otherwise
    there are many, and the interval is a band around the line."""
    labels: tuple[str, ...] = ()
    """Text at the ends of bars; empty: none."""

    def __post_init__(self) -> None:
        for column in (self.y, self.spread, self.base, self.labels):
            if column and len(column) != len(self.x):
                raise ValueError(f"'{self.name}' has {len(self.x)} points and {len(column)} values")

    def top(self, at: int) -> float | None:
        """Where the bar, or the point, at this index ends."""
        value = self.y[at]
        return None if value is None else value + (self.base[at] if self.base else 0.0)


@dataclass(frozen=True)
class Band:
    """A stretch of the x axis with something special about it."""

    start: float
    end: float
    text: str
    kind: Literal["warmup", "down", "recovering"]


@dataclass(frozen=True)
class Mark:
    """A moment at which something happened."""

    at: float
    text: str


@dataclass(frozen=True)
class Reference:
    """A dotted line at a value, for what was predicted or measured elsewhere."""

    value: float
    name: str
    """In the legend; empty: it has no entry there."""
    colour: str = GREY
    """As `#rrggbb`: that of the series that it belongs to, or grey."""


@dataclass(frozen=True)
class Figure:
    """Everything that a renderer needs."""

    name: str
    """Of its file, without an ending."""
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    bands: tuple[Band, ...] = ()
    marks: tuple[Mark, ...] = ()
    references: tuple[Reference, ...] = ()
    sideways: bool = False
    """Bars lie: categories stand at the left, from the top down, and values run to the right."""
    note: str = ""
    """Below the title, in small type: where it was measured."""

    @property
    def slots(self) -> int:
        """How many bars stand side by side at a position."""
        return 1 + max((each.slot for each in self.series if each.draw == "bars"), default=0)

    @property
    def bar_width(self) -> float:
        """Of each bar, where positions are 1 apart."""
        return min(0.8 / self.slots, 0.6)

    def bar_at(self, series: Series, x: float) -> float:
        """The middle of a bar at a position."""
        return x + (series.slot - (self.slots - 1) / 2) * self.bar_width

    def legend(self) -> tuple[str, ...]:
        """Its entries; none where there is only one."""
        series = [each.name for each in self.series if each.name]
        references = [each.name for each in self.references if each.name]
        return (*series, *references) if len(series) > 1 or references else ()


def plain(text: str, limit: int = 120) -> str:
    """Text on one line that every renderer can show: no control characters, cut at the limit."""
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


def log_ticks(values: Iterable[float]) -> tuple[float, ...]:
    """The values themselves as ticks of a logarithmic axis, as far as they do not collide.

    Empty where that leaves too little, or where there are so many that decades are clearer.
    """
    found = sorted({value for value in values if value > 0})
    if not 2 <= len(found) <= 12:
        return ()
    room = math.log(found[-1] / found[0]) / 9
    kept = [found[0]]
    for value in found[1:]:
        if math.log(value / kept[-1]) >= room:
            kept.append(value)
    return tuple(kept)


def spans_decades(values: Iterable[float | None], decades: float = 2.0) -> bool:
    """Whether values, all positive, are more than so many powers of ten apart."""
    known = [value for value in values if value is not None]
    return bool(known) and min(known) > 0 and math.log10(max(known) / min(known)) > decades
