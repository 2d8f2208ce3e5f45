"""The layout of a figure: limits of axes, rows of the legend, texts above events.

Lengths are inches, font sizes points. Widths of text are estimates from the number of characters;
they only determine line breaks and rows.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from netkv.report.figure import Axis, Figure, number, percent

WIDTH = 3.5
"""Width of a column of a paper."""
FONT = 7.0
STRIP_FONT = 6.0
STRIP_ROW = 0.1
"""Height of a row of texts above the events."""
MARGIN = 0.05
MIN_EXTENT = 0.3
"""Minimal width and height of the area of the data."""
SIDE_CHARACTERS = 34
"""Characters that fit on a line beside the value axis."""
MAX_CATEGORIES = 16
"""Limit of the labels of a category axis."""

_PLOT = 1.45
_BESIDE = 2.75
"""Approximate height and width of the area of the data."""
_LINE = 0.15
_TITLE_CHARACTERS = 52
_NOTE_CHARACTERS = 75
_SIDE_LABEL = 26
_TICK_GAP = 0.06
"""Space between two labels of ticks."""
_FEW_TICKS = 3
_MAX_TICKS = 8
_CHARACTER = 0.53 / 72
"""Width of a character at a font size of one point."""


@dataclass(frozen=True)
class Text:
    """A text above an event."""

    text: str
    x: float
    row: int
    """Row above the axes, from 0 upwards."""
    align: Literal["left", "center", "right"]


def title_lines(figure: Figure) -> list[str]:
    """The lines of the title."""
    return textwrap.wrap(figure.title, _TITLE_CHARACTERS)


def note_lines(figure: Figure) -> list[str]:
    """The lines of the note below the title."""
    return textwrap.wrap(figure.note, _NOTE_CHARACTERS)


def title_height(figure: Figure) -> float:
    """Height of title and note with their margins."""
    return 2 * MARGIN + _LINE * len(title_lines(figure)) + STRIP_ROW * len(note_lines(figure))


def side_label(text: str) -> str:
    """The label of a category of horizontal bars, with line breaks."""
    return "\n".join(textwrap.wrap(text, _SIDE_LABEL, break_on_hyphens=False))


def approximate_data_area(
    figure: Figure, place: tuple[float, ...]
) -> tuple[float, float, float, float]:
    """Approximate position of the area of the data: left, bottom, width and height."""
    left, bottom, width, _ = place
    beside = width - _BESIDE - 0.1
    return left + beside, bottom + 0.4, _BESIDE, height(figure) - 0.4 - _above(figure)


def x_limits(figure: Figure) -> tuple[float, float]:
    """Limits of the x axis."""
    if figure.x.categories:
        return -0.5 - 0.1, len(figure.x.categories) - 0.5 + 0.1
    found = [place for series in figure.series for place, _ in series.corners()]
    found += [edge for band in figure.bands for edge in (band.start, band.end)]
    low, high = min(found), max(found)
    low = low if figure.x.low is None else figure.x.low
    high = high if figure.x.high is None else figure.x.high
    marked = any(series.marked for series in figure.series)
    return _widened(low, high, 0.04 if marked else 0.0, figure.x.log)


def y_limits(figure: Figure) -> tuple[float, float]:
    """Limits of the value axis, with room for intervals and labels."""
    low, high = _extremes(figure)
    if figure.y.log:
        bars = any(series.draw == "bars" for series in figure.series)
        # A logarithmic axis has no 0 where bars could begin, so they begin at a power of ten.
        return (10 ** math.floor(math.log10(low) - 0.2) if bars else low / 1.3), high * 1.4
    if figure.y.low is not None:
        low = figure.y.low
    if figure.y.high is not None and high <= figure.y.high:
        return low, figure.y.high + 0.01 * (figure.y.high - low)
    labelled = any(series.labels for series in figure.series)
    room = (0.3 if figure.sideways else 0.1) if labelled else 0.06
    return (low, low + 1.0) if high <= low else (low, high + room * (high - low))


def _extremes(figure: Figure) -> tuple[float, float]:
    """The least and the greatest value that must be visible."""
    greatest = [reference.value for reference in figure.references]
    least = list(greatest)
    for series in figure.series:
        for at in range(len(series.x)):
            top = series.top(at)
            if top is None or (figure.y.log and top <= 0):
                continue
            half = (series.spread[at] if series.spread else None) or 0.0
            # The band of two or three repeats may be so wide that the line would be flat, and an
            # axis with an upper limit, such as that of shares, need not exceed it.
            if not series.marked or figure.y.high is not None:
                half = 0.0
            greatest.append(top + half)
            least.append(top - half if top > half or not figure.y.log else top)
    return min(least, default=1.0), max(greatest, default=1.0)


def height(figure: Figure) -> float:
    """Height of the whole figure."""
    above = _above(figure)
    below = 0.2 + (_LINE if (figure.y if figure.sideways else figure.x).title else 0.0)
    if figure.sideways:
        lines = max(side_label(name).count("\n") + 1 for name in figure.x.categories)
        return (
            above + below + max(0.11 * lines + 0.06, 0.13 * figure.slots) * len(figure.x.categories)
        )
    if has_rotated_labels(figure.x):
        longest = max(len(name) for name in figure.x.categories)
        below += 0.5 * longest * FONT * _CHARACTER
    return above + _PLOT + below


def has_rotated_labels(axis: Axis) -> bool:
    """Whether the labels of categories are rotated, because they are too long."""
    if not axis.categories:
        return False
    room = _BESIDE / min(len(axis.categories), MAX_CATEGORIES)
    return max(len(name) for name in axis.categories) * FONT * _CHARACTER > room


def legend_grid(figure: Figure) -> tuple[int, int]:
    """Columns and rows of the legend; rows 0 if there is none."""
    entries = figure.legend()
    if not entries:
        return 1, 0
    widest = max(len(entry) for entry in entries) * FONT * _CHARACTER + 0.42
    columns = max(1, min(len(entries), int((WIDTH - 0.3) / widest)))
    return columns, math.ceil(len(entries) / columns)


def event_texts(figure: Figure) -> list[Text]:
    """The texts of bands and marks, each in the first row where it fits."""
    low, high = x_limits(figure)
    wanted = sorted(
        [((band.start + band.end) / 2, band.text) for band in figure.bands]
        + [(mark.at, mark.text) for mark in figure.marks]
    )
    ends: list[float] = []
    """End of the last text in each row."""
    placed = []
    for x, text in wanted:
        width = len(text) * STRIP_FONT * _CHARACTER + 0.06
        middle = (x - low) / (high - low) * _BESIDE
        align: Literal["left", "center", "right"] = "center"
        left = middle - width / 2
        if left < 0:
            align, left = "left", middle
        elif middle + width / 2 > _BESIDE:
            align, left = "right", middle - width
        row = next((row for row, end in enumerate(ends) if end <= left), len(ends))
        if row == len(ends):
            ends.append(0.0)
        ends[row] = left + width
        placed.append(Text(text, x, row, align))
    return placed


def event_texts_height(figure: Figure) -> float:
    """Height of all rows of texts above the events."""
    rows = max((text.row + 1 for text in event_texts(figure)), default=0)
    return rows * STRIP_ROW + (0.04 if rows else 0.0)


def shown_categories(axis: Axis) -> Iterator[int]:
    """Indices of the categories that have a label."""
    step = math.ceil(len(axis.categories) / MAX_CATEGORIES)
    yield from range(0, len(axis.categories), step)


def _above(figure: Figure) -> float:
    _, rows = legend_grid(figure)
    return title_height(figure) + _LINE * rows + event_texts_height(figure)


def ticks(axis: Axis, limits: tuple[float, float]) -> list[tuple[float, str]]:
    """Ticks and their labels; empty: the renderer chooses.

    The ticks are those of the axis. A label that would overlap is left out: the first and the last
    tick have one, the others as far as there is room. A logarithmic axis without ticks has powers
    of ten, with multiples by 2 and 5 if there are few.
    """
    show = percent if axis.share else number
    if not axis.ticks:
        return [(tick, show(tick)) for tick in _decades(limits)] if axis.log else []
    scale = math.log if axis.log else float
    low, high = map(scale, limits)
    places = [(scale(tick) - low) / (high - low) * _BESIDE for tick in axis.ticks]
    labels = [show(tick) for tick in axis.ticks]
    halves = [(len(label) * FONT * _CHARACTER + _TICK_GAP) / 2 for label in labels]
    last = len(labels) - 1
    labelled = {0, last}
    end = places[0] + halves[0]
    for at in range(1, last):
        before, after = places[at] - halves[at], places[at] + halves[at]
        if before >= end and after <= places[last] - halves[last]:
            labelled.add(at)
            end = after
    return [(tick, labels[at] if at in labelled else "") for at, tick in enumerate(axis.ticks)]


def _decades(limits: tuple[float, float]) -> list[float]:
    low, high = limits
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 2, 5)):
        found = [step * 10.0**decade for decade in decades for step in steps]
        found = [tick for tick in found if low <= tick <= high]
        if len(found) >= _FEW_TICKS:
            every = math.ceil(len(found) / _MAX_TICKS)
            return found[::every]
    return found


def _widened(low: float, high: float, share: float, log: bool) -> tuple[float, float]:
    if log:
        factor = (high / low) ** share if high > low else 2.0
        return low / factor, high * factor
    room = (high - low) * share if high > low else 1.0
    return low - room, high + room
