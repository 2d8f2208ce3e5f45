"""Interactive figures of a page show the same as the files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from netkv.report import layout
from netkv.report.figure import Axis, Figure
from netkv.report.interactive import page_layout, plotly, traces
from tests.report.test_drawing import ALL, LINES, OVER_TIME, SIDEWAYS, STACKED, over


def parts(figure: Figure) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    drawn = plotly(figure).to_plotly_json()
    return drawn["data"], drawn["layout"]


@pytest.mark.parametrize("figure", ALL, ids=lambda figure: figure.name)
def test_every_value_of_a_figure_is_on_the_page(figure: Figure) -> None:
    data, page = parts(figure)
    shown = [trace for trace in data if trace.get("hoverinfo") != "skip"]
    assert len(shown) == len(figure.series)
    for trace, series in zip(shown, figure.series, strict=True):
        assert list(trace["x" if figure.sideways else "y"]) == list(series.y)
        assert trace["name"] == series.name
        colour = trace["marker"]["color"]
        assert colour == series.style.colour
    axis = page["xaxis" if figure.sideways else "yaxis"]
    assert axis["title"]["text"] == figure.y.title
    assert page["title"]["text"] == figure.title
    assert page["showlegend"] == bool(figure.legend())


@pytest.mark.parametrize("figure", ALL, ids=lambda figure: figure.name)
def test_the_dashboard_draws_what_a_page_does(figure: Figure) -> None:
    """The package that pages are drawn with checks each property."""
    data, page = parts(figure)
    assert [{**trace} for trace in traces(figure)] == data
    known = {name: value for name, value in page_layout(figure).items() if value != []}
    assert known == {**page, "template": {}}


def test_limits_are_those_of_the_file() -> None:
    _, page = parts(LINES)
    assert tuple(page["yaxis"]["range"]) == layout.y_limits(LINES)
    _, page = parts(SIDEWAYS)
    low, high = layout.y_limits(SIDEWAYS)
    assert [10**end for end in page["xaxis"]["range"]] == pytest.approx([low, high])
    assert page["xaxis"]["ticktext"][0] == "100"


def test_events_and_intervals_are_on_the_page() -> None:
    data, page = parts(OVER_TIME)
    assert [note["text"] for note in page["annotations"]] == [
        "warm-up",
        "shift hot-in of 200 keys",
        "shift hot-out of 200 keys",
        "servers-127 down",
    ]
    assert len(page["shapes"]) == 4
    assert len([trace for trace in data if trace.get("fill") == "toself"]) == 4
    data, _ = parts(LINES)
    assert data[0]["error_y"]["array"] == [20, 50, 90]
    assert data[0]["customdata"][1] == "0.9: 1,000 ± 50"


def test_stacked_bars_have_the_base_of_the_figure() -> None:
    data, _ = parts(STACKED)
    servers, cache = data[1:]
    assert servers["marker"]["color"] == cache["marker"]["color"]
    assert servers["x"] == cache["x"]
    assert tuple(cache["base"]) == (1, 1, 1, 1)
    pattern = cache["marker"]["pattern"]
    assert pattern["shape"] == "/"
    assert pattern["bgcolor"] == cache["marker"]["color"], (
        "without it plotly draws only white lines"
    )


def test_text_of_a_user_is_escaped() -> None:
    data, page = parts(replace(LINES, title="<b>a</b>", x=Axis("<a href='x'>")))
    assert page["title"]["text"] == "&lt;b&gt;a&lt;/b&gt;"
    assert page["xaxis"]["title"]["text"] == "&lt;a href='x'&gt;"
    assert data


def test_ticks_of_a_sweep_are_those_of_the_file() -> None:
    figure = over(2, 4, 8, 16, 32)
    _, page = parts(figure)
    expected = layout.ticks(figure.x, layout.x_limits(figure))
    axis = page["xaxis"]
    assert list(zip(axis["tickvals"], axis["ticktext"], strict=True)) == expected
    assert axis["tickvals"] == [2, 4, 8, 16, 32]
