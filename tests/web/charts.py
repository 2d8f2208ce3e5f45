"""What charts of the dashboard show, for its tests."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

FILL_OF_BARS = """id => [...document.querySelectorAll(`#${id} .barlayer .trace`)].map(trace => {
    const fill = getComputedStyle(trace.querySelector(".point path")).fill;
    const pattern = fill.match(/url\\("?#([^")]+)/);
    const ground = pattern && document.getElementById(pattern[1]).querySelector("rect");
    return ground ? getComputedStyle(ground).fill : fill;
})"""
"""For each trace of bars: the colour of its first bar, or the background of its pattern."""
STROKE_OF_LINES = """id => [...document.querySelectorAll(`#${id} .scatterlayer .trace .js-line`)]
    .map(line => getComputedStyle(line).stroke)"""
LOOK_OF_LINES = """id => [...document.querySelectorAll(`#${id} .scatterlayer .trace .js-line`)]
    .map(line => getComputedStyle(line))
    .map(style => `${style.stroke} ${style.strokeDasharray}`)"""
STROKE_OF_SWATCHES = """place => [...document.querySelectorAll(`${place} .swatch line`)]
    .map(line => getComputedStyle(line).stroke)"""
HOLD_FRAMES = """() => {
    let waiting = [], drawn = 0;
    window.mostDrawn = 0;
    window.requestAnimationFrame = callback => waiting.push(callback);
    const react = Plotly.react;
    Plotly.react = (...all) => { drawn += 1; return react(...all); };
    window.nextFrame = () => {
        const due = waiting;
        waiting = [];
        drawn = 0;
        due.forEach(callback => callback());
        window.mostDrawn = Math.max(window.mostDrawn, drawn);
    };
}"""
"""Draws a frame only when the test calls `nextFrame`. `mostDrawn`: most charts in a frame."""
COUNT = "trace => !trace ? 0 : trace.x.length - (trace.line?.shape === 'vh')"
"""Number of values of a trace. A line of steps without a gap also has a point at its beginning."""
UNNAMED = """() => [...document.querySelectorAll("button, input, select, textarea")]
    .filter(each => !each.labels?.length && !each.textContent.trim() && !each.ariaLabel)
    .map(each => each.outerHTML)"""
"""Controls that a screen reader cannot name."""


def traces(page: Page, chart: str) -> list[dict[str, Any]]:
    """Name, number of points and last value of each trace of a chart."""
    found: list[dict[str, Any]] = page.evaluate(
        "id => (document.getElementById(id).data ?? [])"
        f".map(trace => ({{name: trace.name, points: ({COUNT})(trace), last: trace.y.at(-1)}}))",
        chart,
    )
    return found


def wait_for_traces(page: Page, chart: str, count: int) -> None:
    """Wait until a chart has so many traces."""
    page.locator(f"#{chart}").scroll_into_view_if_needed()
    page.wait_for_function(
        "([id, count]) => document.getElementById(id)?.data?.length === count", arg=[chart, count]
    )


def wait_for_points(page: Page, count: int, chart: str = "throughput") -> None:
    """Wait until the first trace of a chart has so many points, or more."""
    page.wait_for_function(
        f"([id, count]) => ({COUNT})((document.getElementById(id)?.data ?? [])[0]) >= count",
        arg=[chart, count],
    )


def rgb(colour: str) -> str:
    """The colour in the notation of browsers."""
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"
