"""Styles of series: each scheme has one colour, and no two series look the same."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

from netkv import schemes
from netkv.report import style
from netkv.report.style import Style

# Linear RGB for colour blindness (Machado, Oliveira and Fernandes, 2009).
SIGHT = {
    "full": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
PAPER, DARK = "#ffffff", "#191f29"
"""Backgrounds of figures: paper and light pages, the dark theme."""


def linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def seen(colour: str, sight: str) -> tuple[float, ...]:
    """The colour in OKLab, where distances correspond to perceived differences."""
    whole = linear(colour)
    r, g, b = (
        min(max(sum(w * p for w, p in zip(row, whole, strict=True)), 0.0), 1.0)
        for row in SIGHT[sight]
    )
    long = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    middle = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    short = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG."""
    light = [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (linear(one), linear(other))]
    return (max(light) + 0.05) / (min(light) + 0.05)


def looks(found: Style) -> Iterator[tuple[object, ...]]:
    """The features that distinguish a style: as a line, and as both parts of a bar."""
    yield found.colour, found.dash
    for part in (0, 1):
        yield found.fill(part), found.pattern(part)


@pytest.mark.parametrize("sight", SIGHT)
def test_colours_differ_also_for_colour_blind_readers(sight: str) -> None:
    for one, other in itertools.combinations(style.PALETTE, 2):
        least = 0.1 if sight == "full" else 0.06
        assert math.dist(seen(one, sight), seen(other, sight)) > least, f"{one} and {other}"


@pytest.mark.parametrize("background", [PAPER, DARK])
def test_every_scheme_has_the_contrast_of_graphics(background: str) -> None:
    """WCAG 2.1, 1.4.11: at least 3."""
    own = {scheme.name: style.of_scheme(scheme.name).colour for scheme in schemes.all_schemes()}
    for name, colour in {**own, "reference": style.GREY}.items():
        assert contrast(colour, background) >= 3, name


@pytest.mark.parametrize("background", [PAPER, DARK])
def test_shades_for_many_runs_stay_visible(background: str) -> None:
    for scheme in schemes.all_schemes():
        for number in range(100):
            found = style.of_scheme(scheme.name, number)
            assert contrast(found.colour, background) >= 1.95, f"{scheme.name} {number}"


def test_neighbouring_schemes_differ_also_in_dash_and_pattern() -> None:
    found = [style.of_scheme(scheme.name) for scheme in schemes.all_schemes()]
    for one, other in itertools.pairwise(found):
        assert one.dash != other.dash
        assert one.pattern() != other.pattern()
        assert one.marker != other.marker


def test_no_two_schemes_have_the_same_colour() -> None:
    names = [scheme.name for scheme in schemes.all_schemes()]
    assert len({style.of_scheme(name).colour for name in names}) == len(names)
    assert style.GREY not in {style.of_scheme(name).colour for name in names}
    assert style.of_scheme("from-a-newer-netkv").colour == style.GREY


def test_registered_schemes_get_distinct_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be more schemes than colours."""
    known = schemes.all_schemes()
    before = {each.name: style.of_scheme(each.name) for each in known}
    more = (*known, *(replace(known[0], name=f"new-{at}") for at in range(20)))
    monkeypatch.setattr(schemes, "all_schemes", lambda: more)
    assert {name: style.of_scheme(name) for name in before} == before
    found = [style.of_scheme(each.name, number) for each in more for number in range(12)]
    assert len({look for each in found for look in looks(each)}) == 3 * len(found)


def test_several_runs_of_a_scheme_share_its_colour_and_differ() -> None:
    found = [style.of_scheme("netcache", number) for number in range(4)]
    assert len({each.colour for each in found}) == 1
    assert len({each.dash for each in found}) == 4
    assert len({each.marker for each in found}) == 4


@pytest.mark.parametrize("of", [style.nth, style.neutral, lambda n: style.of_scheme("nocache", n)])
def test_a_hundred_series_have_distinct_styles(of: object) -> None:
    assert callable(of)
    found = [of(number) for number in range(100)]
    assert len({look for each in found for look in looks(each)}) == 300


def test_parts_of_a_stack_share_a_colour_and_differ() -> None:
    bar = style.of_scheme("netcache")
    assert bar.fill(0) == bar.fill(1) == bar.colour
    assert len({(bar.fill(part), bar.pattern(part)) for part in range(6)}) == 6


def test_series_are_numbered_by_scheme() -> None:
    keys = [("netcache", "a"), ("nocache", "a"), ("netcache", "b"), ("x", "a"), ("y", "a")]
    found = style.numbered([*keys, keys[0]])
    assert list(found) == keys
    assert found["netcache", "b"] == style.of_scheme("netcache", 1)
    assert found["nocache", "a"] == style.of_scheme("nocache")
    assert [found[name, "a"] for name in ("x", "y")] == [style.neutral(0), style.neutral(1)]


def test_both_renderers_get_the_same_style() -> None:
    for number in range(8):
        found = style.of_scheme("farreach", number)
        assert found.plotly_line()["color"] == found.matplotlib_line(marked=True)["color"]
        solid = found.dash.plotly(2) == "solid"
        assert solid == (found.matplotlib_line(marked=False)["linestyle"] == "-")
        for part in (0, 1):
            page, file = found.plotly_bar(part), found.matplotlib_bar(part)
            assert page["color"] == page["pattern"]["bgcolor"] == file["color"]
            assert bool(page["pattern"]["shape"]) == bool(file["hatch"])
