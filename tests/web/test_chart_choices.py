"""What a user has chosen in charts is in the address: parts of axes, and hidden lines."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from netkv.runs import StoreSink
from tests.api.serving import Served
from tests.runs.recorded_runs import record_comparison, samples, start
from tests.web.charts import HOLD_FRAMES, wait_for_points, wait_for_traces
from tests.web.live_runs import live_run

VISIBLE = """chart => Object.fromEntries((document.getElementById(chart)?.data ?? [])
    .map(trace => [trace.name, trace.visible !== "legendonly"]))"""
RANGE = "([chart, axis]) => document.getElementById(chart)?.layout?.[axis]?.range ?? []"
"""Nothing while plotly draws the chart."""


def parameter(page: Page, name: str) -> str:
    """A parameter of the address; empty if it has none."""
    return parse_qs(urlsplit(page.url).fragment.partition("?")[2]).get(name, [""])[0]


def click_legend(page: Page, chart: str, name: str) -> None:
    entry = page.locator(f"#{chart} .legend .traces").filter(has=page.get_by_text(name, exact=True))
    entry.locator(".legendtoggle").click()


def wait_for_visible(page: Page, chart: str, expected: dict[str, bool]) -> None:
    """Wait until a chart has these lines, shown or hidden."""
    page.locator(f"#{chart}").scroll_into_view_if_needed()
    page.wait_for_function(
        f"([chart, wanted]) => JSON.stringify(({VISIBLE})(chart)) === JSON.stringify(wanted)",
        arg=[chart, expected],
    )


def drag(page: Page, chart: str, begin: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag over a chart; a place is a share of its width and height."""
    page.locator(f"#{chart}").scroll_into_view_if_needed()
    area = page.locator(f"#{chart} .nsewdrag").bounding_box()
    assert area is not None
    places = [
        (area["x"] + x * area["width"], area["y"] + y * area["height"]) for x, y in (begin, end)
    ]
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(*places[1], steps=5)
    page.mouse.up()


def wait_for_range(page: Page, chart: str, axis: str, expected: list[float]) -> None:
    page.locator(f"#{chart}").scroll_into_view_if_needed()
    page.wait_for_function(
        f"([chart, axis, wanted]) => JSON.stringify(({RANGE})([chart, axis])) === "
        "JSON.stringify(wanted)",
        arg=[chart, axis, expected],
    )


def ends(page: Page, name: str, chart: str) -> list[float]:
    """The ends of an axis in the address."""
    found = re.fullmatch(f"{chart}:([^,;]+),([^,;]+)", parameter(page, name))
    assert found is not None, page.url
    return [float(end) for end in found.groups()]


def test_lines_hidden_through_the_legend_are_in_the_address(served: Served, page: Page) -> None:
    with live_run(served.store, reported=4) as live:
        page.goto(f"{served.url}/#/live/glive?run=live")
        wait_for_traces(page, "latency", 4)
        click_legend(page, "latency", "p95")
        expect(page).to_have_url(re.compile("hidden="))
        click_legend(page, "latency", "p99.9")
        two = {"p50": True, "p95": False, "p99": True, "p99.9": False}
        wait_for_visible(page, "latency", two)
        expect(page).to_have_url(re.compile("p99.9"))
        assert parameter(page, "hidden") == "latency:p95,p99.9"
        live.report(8)
        wait_for_points(page, 8, "latency")
        wait_for_visible(page, "latency", two)
        page.reload()
        wait_for_visible(page, "latency", two)
        live.report()
        wait_for_points(page, len(live.feed), "latency")
        wait_for_visible(page, "latency", two)
        click_legend(page, "latency", "p95")
        wait_for_visible(page, "latency", {**two, "p95": True})
        expect(page).not_to_have_url(re.compile("p95"))
        assert parameter(page, "hidden") == "latency:p99.9"
        click_legend(page, "latency", "p99.9")
        expect(page).not_to_have_url(re.compile("hidden="))


def test_vertical_zoom_is_in_the_address_until_another_run_is_chosen(
    served: Served, page: Page
) -> None:
    first, second = record_comparison(served.store, "gzoom")
    page.goto(f"{served.url}/#/live/gzoom?run={second}")
    wait_for_traces(page, "throughput", 1)
    drag(page, "throughput", (0.5, 0.2), (0.5, 0.6))
    expect(page).to_have_url(re.compile("height="))
    expect(page).not_to_have_url(re.compile("zoom="))
    low, high = chosen = ends(page, "height", "throughput")
    shown = page.evaluate(RANGE, ["throughput", "yaxis"])
    assert chosen == pytest.approx(shown, rel=1e-5)
    assert 0 < low < high
    page.reload()
    wait_for_range(page, "throughput", "yaxis", chosen)
    expect(page.get_by_role("button", name="Throughput: show everything again")).to_be_visible()
    page.locator(".cell").filter(has_text="nocache").click()
    expect(page).to_have_url(re.compile(f"run={first}"))
    expect(page).not_to_have_url(re.compile("height="))
    page.wait_for_function(f"() => ({RANGE})(['throughput', 'yaxis'])[0] === 0")
    expect(page.get_by_text("Reset zoom").locator("visible=true")).to_have_count(0)


def test_both_axes_of_a_chart_that_is_not_over_time_are_in_the_address(
    served: Served, page: Page
) -> None:
    ids = record_comparison(served.store)
    page.goto(f"{served.url}/#/compare?run={ids[0]}&run={ids[1]}")
    wait_for_traces(page, "ccdf", 2)
    drag(page, "ccdf", (0.3, 0.2), (0.7, 0.6))
    expect(page).to_have_url(re.compile("width=.*height="))
    across, along = ends(page, "width", "ccdf"), ends(page, "height", "ccdf")
    page.reload()
    wait_for_traces(page, "ccdf", 2)
    wait_for_range(page, "ccdf", "xaxis", across)
    wait_for_range(page, "ccdf", "yaxis", along)
    page.locator("#baseline").select_option(label="nocache")
    expect(page).to_have_url(re.compile("baseline=nocache"))
    assert (ends(page, "width", "ccdf"), ends(page, "height", "ccdf")) == (across, along)
    page.get_by_role("button", name="Latency: show everything again").click()
    expect(page).not_to_have_url(re.compile("width=|height="))


def test_hidden_runs_of_a_comparison_may_have_any_name(served: Served, page: Page) -> None:
    """Names in a legend have commas and other separators of the address."""
    ids = []
    with StoreSink(served.store) as sink:
        for value in (0.5, 0.9):
            params = {"workload.zipf": value, "lab.note": "a;b:c,d%"}
            run = start(f"zipf-{value}", "netcache", params=params)
            ids.append(run.id)
            sink.begin(run)
            for sample in samples(run):
                sink.sample(run.id, sample)
    page.goto(f"{served.url}/#/compare?run={ids[0]}&run={ids[1]}")
    wait_for_traces(page, "overlay", 2)
    first, second = page.evaluate(VISIBLE, "overlay")
    assert all(separator in first for separator in ",;:%")
    click_legend(page, "overlay", second)
    wait_for_visible(page, "overlay", {first: True, second: False})
    expect(page).to_have_url(re.compile("hidden="))
    link = page.url
    # Another address shows what it has, whatever was clicked before.
    page.goto(f"{served.url}/#/compare?run={ids[0]}&run={ids[1]}")
    wait_for_visible(page, "overlay", {first: True, second: True})
    page.goto(link)
    wait_for_visible(page, "overlay", {first: True, second: False})
    page.reload()
    wait_for_visible(page, "overlay", {first: True, second: False})


def test_address_shows_a_line_that_a_click_has_just_hidden(served: Served, page: Page) -> None:
    """plotly has hidden the line by itself. It must not keep this for the lines of the address."""
    ids = record_comparison(served.store)
    page.goto(f"{served.url}/#/compare?run={ids[0]}&run={ids[1]}")
    wait_for_traces(page, "overlay", 2)
    link = page.url
    both = page.evaluate(VISIBLE, "overlay")
    page.evaluate(HOLD_FRAMES)
    click_legend(page, "overlay", "netcache")
    expect(page).to_have_url(re.compile("hidden="))
    wait_for_visible(page, "overlay", {**both, "netcache": False})
    page.goto(link)
    page.wait_for_function(
        f"wanted => {{ nextFrame(); return JSON.stringify(({VISIBLE})('overlay')) === wanted; }}",
        arg=json.dumps(both, separators=(",", ":")),
        polling=100,
    )


def test_address_with_a_wrong_range_shows_everything(served: Served, page: Page) -> None:
    ids = record_comparison(served.store)
    wrong = "height=overlay:5,x;ccdf:9,1;hits:&width=ccdf&hidden=;:&zoom=1"
    page.goto(f"{served.url}/#/compare?run={ids[0]}&run={ids[1]}&{wrong}")
    wait_for_traces(page, "overlay", 2)
    wait_for_traces(page, "ccdf", 2)
    expect(page.get_by_text("Reset zoom").locator("visible=true")).to_have_count(0)
