"""The styles of series: colours, dashes, markers and patterns, for both renderers.

1. The position of a scheme in the registry determines its colour. It is the same in files, pages
   and the dashboard, and does not depend on other series.
2. Several series of one scheme are numbered. The first four have the scheme's colour and differ in
   dash, marker and pattern; also the first dash depends on the scheme. Every further four have
   another shade of the colour, so styles are unique.
3. The parts of a stacked bar have the colour of their series and differ in pattern.
4. Grey is for references, legends of parts, and runs of schemes that this version does not know.

Only `matplotlib_*` and `plotly_*` translate a style for the two renderers.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

from netkv import schemes

PALETTE = (
    "#0072b2",
    "#a88600",
    "#009e73",
    "#d90000",
    "#cc79a7",
    "#a870d9",
    "#f538fc",
    "#3f7700",
    "#a80eee",
    "#855b8c",
    "#fc5b54",
    "#d21caf",
    "#af4d54",
    "#0093fc",
)
"""Colours with a contrast of at least 3 (WCAG 2 for graphics) with white and with the cards of the
dark theme. Three are of Okabe and Ito; the others are as far from all as a search could find, for
full and all kinds of reduced colour vision. What contrast leaves is narrow, so dashes and patterns
help: neighbours in the registry, which are often compared, also differ in these."""
GREY = "#7f7f7f"
_WHITE = "#ffffff"
_GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of it modulo 1 never repeat, and consecutive ones are far apart."""
_MAX_SHADE = 0.7
"""Limit of the share of black or white in a shade."""
_DARKEST, _LIGHTEST = 0.077, 0.475
"""Limits of the luminance of a shade: a contrast of 2 with both backgrounds."""

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Dash:
    """A dash: lengths of strokes and gaps in line widths; empty for a solid line."""

    lengths: tuple[float, ...] = ()

    def plotly(self, width: float) -> str:
        """The dash for plotly and SVG, for a line of `width` pixels."""
        return ",".join(f"{length * width:g}px" for length in self.lengths) or "solid"

    @property
    def matplotlib(self) -> str | tuple[float, tuple[float, ...]]:
        """The dash for matplotlib."""
        return (0.0, self.lengths) if self.lengths else "-"


@dataclass(frozen=True)
class Marker:
    """The names of a marker in the renderers."""

    matplotlib: str
    plotly: str


@dataclass(frozen=True)
class Pattern:
    """The names of a pattern of white lines or dots on bars in the renderers."""

    matplotlib: str
    plotly: str


_DASHES = (Dash(), Dash((5, 2)), Dash((5, 1.5, 1, 1.5)), Dash((2, 1.2)))
_VARIANTS = len(_DASHES)
"""Number of series of a scheme with the same shade."""
DOTTED = Dash((1, 1.5))
"""Dash of references and events; no series has it."""
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
"""For each variant: patterns of the lower and the upper part of a stack."""

BANDS = {
    "warmup": (GREY, 0.14),
    "down": ("#d55e00", 0.16),
    "fault": ("#d55e00", 0.16),
    "recovering": ("#e69f00", 0.18),
}
"""Kind of a band → its colour and opacity."""


@dataclass(frozen=True)
class Style:
    """The style of a series."""

    colour: str
    """`#rrggbb`."""
    variant: int = 0
    """Index among series of the same colour: determines dash, pattern and, with `shape`, marker."""
    shape: int = 0
    """Index of the marker of the first variant."""

    @property
    def dash(self) -> Dash:
        """Dash of its line."""
        return _DASHES[self.variant]

    @property
    def marker(self) -> Marker:
        """Marker of its points."""
        return _MARKERS[(self.shape + self.variant) % len(_MARKERS)]

    def other(self) -> Style:
        """Another variant, for a second series about the same."""
        return replace(self, variant=(self.variant + 1) % _VARIANTS)

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
        """Arguments of a bar or a part of it. The colour of the edge is also that of the hatch."""
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
"""Style of a single series."""


def of_scheme(scheme: str, number: int = 0) -> Style:
    """The style of the `number`-th series (from 0) of a scheme, by its name."""
    order = [each.name for each in schemes.all_schemes()]
    if scheme not in order:
        return neutral(number)
    at = order.index(scheme)
    # If there are more schemes than colours, each round of the palette has other shades.
    rounds = math.ceil(len(order) / len(PALETTE))
    first = at // len(PALETTE)
    return _style(PALETTE[at % len(PALETTE)], at, number, first, rounds, turn=at)


def neutral(number: int = 0) -> Style:
    """The `number`-th grey style, for series without a known scheme."""
    return _style(GREY, 0, number)


def nth(number: int) -> Style:
    """The `number`-th style of series that are not schemes, such as executors."""
    return _style(PALETTE[number % len(PALETTE)], number, number // len(PALETTE))


def numbered(keys: Iterable[tuple[str, K]]) -> dict[tuple[str, K], Style]:
    """A style for each (scheme, other key), numbered in this order."""
    known = {each.name for each in schemes.all_schemes()}
    counts: dict[str, int] = {}
    found = {}
    for key in dict.fromkeys(keys):
        owner = key[0] if key[0] in known else ""
        number = counts[owner] = counts.get(owner, -1) + 1
        found[key] = of_scheme(owner, number)
    return found


def _style(
    base: str, shape: int, number: int, first: int = 0, step: int = 1, turn: int = 0
) -> Style:
    shade, variant = divmod(number, _VARIANTS)
    colour = _shade(base, first + step * shade)
    return Style(colour, (variant + turn) % _VARIANTS, shape % len(_MARKERS))


def _shade(colour: str, number: int) -> str:
    """The `number`-th shade of a colour: the colour itself, then alternately darker and lighter."""
    if number == 0:
        return colour
    part = (_GOLDEN * ((number + 1) // 2)) % 1.0
    towards = 0 if number % 2 else 255
    return _mixed(colour, towards, part * _widest(colour, towards))


def _mixed(colour: str, towards: int, share: float) -> str:
    """A colour with a share of black (0) or white (255)."""
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + share * (towards - part)):02x}" for part in parts)


@cache
def _widest(colour: str, towards: int) -> float:
    """The largest share of black or white with which a colour is visible on both backgrounds."""
    shares = (_MAX_SHADE * step / 100 for step in range(100, 0, -1))
    visible = (
        it for it in shares if _DARKEST <= luminance(_mixed(colour, towards, it)) <= _LIGHTEST
    )
    return next(visible, 0.0)


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb`, from 0 to 1 (WCAG 2)."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
