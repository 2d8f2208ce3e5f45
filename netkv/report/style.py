"""The style of series: the one definition of colours, dashes, markers and patterns.

1. The colour belongs to the scheme: it follows from the scheme's place in the registry and is the
   same in files, pages and the dashboard, whatever else is shown.
2. Several series of one scheme are numbered. The first four have the scheme's colour and differ in
   dash, marker and pattern. Every further four have another shade of it, so no style comes twice.
3. The parts of a stacked bar have the colour of their series and differ in pattern.
4. Grey belongs to no scheme: references, legends of parts, and runs of schemes that this version
   does not know.

`matplotlib_*` and `plotly_*` translate a style for the two renderers. Nothing else does.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from netkv import schemes

PALETTE = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#cc79a7",
    "#56b4e9",
    "#794006",
    "#195966",
    "#af25f4",
    "#9bc587",
)
"""Six of Okabe and Ito's colours, and four more that are as far from these and from each other as
these six are, for full and for all kinds of reduced colour vision. All show on white and on dark
ground."""
GREY = "#7f7f7f"
_WHITE = "#ffffff"
_GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of it, modulo 1, never repeat and are far from their predecessors."""
_MAX_SHADE = 0.7
"""Share of black or white in a shade, at most."""

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Dash:
    """A dash: lengths of strokes and gaps in widths of the line; none for a solid line."""

    lengths: tuple[float, ...] = ()

    def plotly(self, width: float) -> str:
        """For plotly and for SVG, of a line `width` pixels wide."""
        return ",".join(f"{length * width:g}px" for length in self.lengths) or "solid"

    @property
    def matplotlib(self) -> str | tuple[float, tuple[float, ...]]:
        """For matplotlib."""
        return (0.0, self.lengths) if self.lengths else "-"


@dataclass(frozen=True)
class Marker:
    """A marker, as the renderers name it."""

    matplotlib: str
    plotly: str


@dataclass(frozen=True)
class Pattern:
    """White lines or dots on a bar, as the renderers name them."""

    matplotlib: str
    plotly: str


_DASHES = (Dash(), Dash((5, 2)), Dash((5, 1.5, 1, 1.5)), Dash((2, 1.2)))
_VARIANTS = len(_DASHES)
"""Series of a scheme that share a shade."""
DOTTED = Dash((1, 1.5))
"""For references and events: no series is dotted."""
_MARKERS = (
    Marker("o", "circle"),
    Marker("s", "square"),
    Marker("^", "triangle-up"),
    Marker("D", "diamond"),
    Marker("v", "triangle-down"),
    Marker("P", "cross"),
    Marker("X", "x"),
    Marker("*", "star"),
)
_PATTERNS = (
    (Pattern("", ""), Pattern("//////", "/")),
    (Pattern("\\\\\\\\\\\\", "\\"), Pattern("xxxx", "x")),
    (Pattern("....", "."), Pattern("++++", "+")),
    (Pattern("-----", "-"), Pattern("|||||", "|")),
)
"""Of each of the series that share a shade: the lower and the upper part of a stack."""

BANDS = {"warmup": (GREY, 0.14), "down": ("#d55e00", 0.16), "recovering": ("#e69f00", 0.18)}
"""Colour and opacity of stretches of time."""


@dataclass(frozen=True)
class Style:
    """The look of a series."""

    colour: str
    """As `#rrggbb`."""
    variant: int = 0
    """Among series of the same colour: decides dash, pattern and, with `shape`, the marker."""
    shape: int = 0
    """Of the marker of the first variant."""

    @property
    def dash(self) -> Dash:
        """Of its line."""
        return _DASHES[self.variant]

    @property
    def marker(self) -> Marker:
        """Of its points."""
        return _MARKERS[(self.shape + self.variant) % len(_MARKERS)]

    def fill(self, part: int = 0) -> str:
        """Colour of a part of a stacked bar, counted from below; `#rrggbb`."""
        return _shade(self.colour, 2 * (part // 2))

    def pattern(self, part: int = 0) -> Pattern:
        """Pattern of a part of a stacked bar, counted from below."""
        return _PATTERNS[self.variant][part % 2]

    def matplotlib_line(self, *, marked: bool) -> dict[str, Any]:
        """Arguments of a line, with markers at its points if `marked`."""
        marker = {"marker": self.marker.matplotlib} if marked else {}
        return {"color": self.colour, "linestyle": self.dash.matplotlib, **marker}

    def matplotlib_bar(self, part: int = 0) -> dict[str, Any]:
        """Arguments of a bar or a part of it: matplotlib hatches in the colour of the edge."""
        hatch = self.pattern(part).matplotlib or None
        return {"color": self.fill(part), "edgecolor": _WHITE, "hatch": hatch}

    def plotly_line(self, width: float = 2) -> dict[str, Any]:
        """`line` of a trace, `width` in pixels."""
        return {"color": self.colour, "width": width, "dash": self.dash.plotly(width)}

    def plotly_marker(self) -> dict[str, Any]:
        """`marker` of a trace of points."""
        return {"color": self.colour, "symbol": self.marker.plotly}

    def plotly_bar(self, part: int = 0) -> dict[str, Any]:
        """`marker` of a trace of bars or parts of them.

        A pattern without a `bgcolor` leaves everything between its lines transparent.
        """
        fill = self.fill(part)
        shape = self.pattern(part).plotly
        return {
            "color": fill,
            "pattern": {"shape": shape, "fillmode": "replace", "fgcolor": _WHITE, "bgcolor": fill},
        }


FIRST = Style(PALETTE[0])
"""For a figure with a single series."""


def of_scheme(scheme: str, number: int = 0) -> Style:
    """The style of the `number`-th series (from 0) of a scheme, by its name."""
    order = [each.name for each in schemes.all_schemes()]
    if scheme not in order:
        return neutral(number)
    at = order.index(scheme)
    # More schemes than colours: each round of the palette has shades of its own.
    rounds = math.ceil(len(order) / len(PALETTE))
    return _style(PALETTE[at % len(PALETTE)], at, number, at // len(PALETTE), rounds)


def neutral(number: int = 0) -> Style:
    """The `number`-th style of what belongs to no scheme that is known."""
    return _style(GREY, 0, number)


def nth(number: int) -> Style:
    """The `number`-th style where the series are no schemes, such as executors."""
    return _style(PALETTE[number % len(PALETTE)], number, number // len(PALETTE))


def numbered(keys: Iterable[tuple[str, K]]) -> dict[tuple[str, K], Style]:
    """A style for each (scheme, what else distinguishes it), numbered in this order."""
    known = {each.name for each in schemes.all_schemes()}
    counts: dict[str, int] = {}
    found = {}
    for key in dict.fromkeys(keys):
        owner = key[0] if key[0] in known else ""
        number = counts[owner] = counts.get(owner, -1) + 1
        found[key] = of_scheme(owner, number)
    return found


def _style(base: str, shape: int, number: int, first: int = 0, step: int = 1) -> Style:
    shade, variant = divmod(number, _VARIANTS)
    return Style(_shade(base, first + step * shade), variant, shape % len(_MARKERS))


def _shade(colour: str, number: int) -> str:
    """The `number`-th shade of a colour: itself, then darker and lighter ones in turns."""
    if number == 0:
        return colour
    share = _MAX_SHADE * ((_GOLDEN * ((number + 1) // 2)) % 1.0)
    towards = 0 if number % 2 else 255
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + share * (towards - part)):02x}" for part in parts)
