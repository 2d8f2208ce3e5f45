"""What all views of the dashboard share: theme, accessibility, visible lines, unknown addresses."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from netkv.api.jobs.commands import Command
from netkv.api_client import Client
from netkv.report.style import of_scheme
from netkv.runs.query import RunQuery
from netkv.schemes import all_schemes
from tests.api.serving import Served
from tests.runs.recorded_runs import record_comparison
from tests.waiting import PATIENCE_S
from tests.web import accessible

VIEWS = {
    "live": "#/live/gshown",
    "scenarios": "#/scenarios",
    "scenario": "#/scenarios/quickstart",
    "runs": "#/runs",
    "compare": "#/compare?run=shown-nocache-0&run=shown-netcache-0",
    "figures": "#/figures?run=shown-nocache-0&run=shown-netcache-0",
    "labs": "#/labs",
    "packet": "#/packet",
}
COMPLETE = {
    "live": "#job",
    "compare": ".js-plotly-plot .main-svg",
    "figures": ".js-plotly-plot .main-svg",
    "packet": "#state-after",
}
"""What a view has at last."""
CONTRAST = 3
"""Of a line or bar and its background, at least; text has 4.5, which axe-core checks."""


def test_theme_is_kept_over_a_reload(served: Served, page: Page) -> None:
    page.goto(served.url)
    page.locator("#theme").click()
    page.locator("#theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.parametrize(
    ("view", "shown"), [("compare", "#comparison tbody tr"), ("figures", ".figure .main-svg")]
)
def test_nothing_is_requested_twice(served: Served, page: Page, view: str, shown: str) -> None:
    """preload.js requests what the view will: in other words, it would be a second request."""
    record_comparison(served.store, "gshown")
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto(f"{served.url}/{VIEWS[view]}")
    page.locator(shown).first.wait_for()
    page.locator(".main-svg").first.wait_for()
    parts = [urlsplit(url) for url in requested]
    # By path: the same data in other words is a second request as well. Lists of runs are several.
    paths = [each.path for each in parts if each.path.startswith(("/api/", "/vendor/"))]
    assert {path for path, count in Counter(paths).items() if count > 1} <= {"/api/v1/runs"}
    assert len([each for each in parts if "id=" in each.query]) == 1


def test_library_that_failed_to_load_is_requested_again(served: Served, page: Page) -> None:
    """The first request fails before the modules have arrived, so nobody waits for it yet."""
    record_comparison(served.store, "gshown")
    requests: list[str] = []

    def fail_once(route: Route) -> None:
        requests.append(route.request.url)
        if len(requests) == 1:
            route.abort()
        else:
            route.continue_()

    page.route("**/plotly-cartesian.min.js", fail_once)
    page.goto(f"{served.url}/{VIEWS['compare']}")
    page.locator(".main-svg").first.wait_for()
    assert len(requests) == 2


def test_benchmark_is_a_job_without_runs(served: Served, page: Page) -> None:
    client = Client(served.url, timeout=PATIENCE_S)
    job = client.submit_benchmark("startup", rounds=100)
    page.goto(f"{served.url}/#/live/{job.id}")
    expect(page.locator("#main")).to_contain_text("round ")
    expect(page.locator("#activity")).to_contain_text("bench startup")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#job .state-cancelled")).to_be_visible()
    page.goto(f"{served.url}/#/live")
    page.get_by_role("link", name="bench startup").click()
    expect(page.locator("#job .state-cancelled")).to_be_visible()


def test_result_of_a_tool_is_downloaded(
    served: Served, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = 'import json; print(json.dumps({"ok": False, "violations": [{}]}))'
    monkeypatch.setattr(Command, "line", lambda *_: [sys.executable, "-c", printed])
    client = Client(served.url, timeout=PATIENCE_S)
    job = client.follow(client.submit_tool("soak").id)
    page.goto(f"{served.url}/#/live/{job.id}")
    expect(page.locator("#job")).to_contain_text("it found something wrong")
    with page.expect_download() as download:
        page.get_by_role("link", name="Result as JSON").click()
    assert json.loads(download.value.path().read_text()) == client.document(job)


def opened(served: Served, page: Page, view: str) -> None:
    """Opens a view, and waits until it is complete."""
    page.goto("about:blank")  # otherwise it is a change of the hash, which loads nothing
    page.goto(f"{served.url}/{VIEWS[view]}")
    name = VIEWS[view].removeprefix("#/").partition("/")[0].partition("?")[0]
    expect(page.locator(f"main[data-view='{name}']")).to_be_visible()
    expect(page.get_by_text("Loading …")).to_have_count(0)
    if view in COMPLETE:
        page.locator(COMPLETE[view]).first.wait_for()


@pytest.mark.parametrize("view", VIEWS)
def test_view_is_accessible(served: Served, page: Page, view: str) -> None:
    """By the rules of axe-core up to level AA and its best practices, on a desk and a phone, in
    both themes. The page is loaded again for each of them."""
    record_comparison(served.store, "gshown")
    for run in served.store.search(RunQuery()).runs:
        served.store.tag([run.id], add=["paper", "fig9"])
        served.store.note(run.id, "Compare with the other machine.")
    found: dict[str, list[dict[str, Any]]] = {}
    for theme, width in accessible.SCREENS:
        accessible.show(page, theme, width)
        opened(served, page, view)
        found[f"{theme}, {width}"] = accessible.violations(page)
    assert not any(found.values()), json.dumps(found, indent=1)


@pytest.mark.parametrize("view", VIEWS)
def test_view_is_not_wider_than_its_window(served: Served, page: Page, view: str) -> None:
    record_comparison(served.store, "gshown")
    for width in (390, 768):
        page.set_viewport_size({"width": width, "height": 844})
        opened(served, page, view)
        assert accessible.width(page) <= width


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb` (WCAG 2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast of two colours, from 1 to 21 (WCAG 2)."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_line_and_bar_of_each_scheme_are_visible(served: Served, page: Page, theme: str) -> None:
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.goto(served.url)
    expect(page.locator("html")).to_have_attribute("data-theme", theme)
    card = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--card')")
    for scheme in all_schemes():
        style = of_scheme(scheme.name, 0)
        for colour in (style.plotly_line()["color"], style.plotly_bar()["color"]):
            assert contrast(colour, card.strip()) >= CONTRAST, f"{scheme.name} in {theme}"


def test_unknown_view_shows_the_first_one(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/#/nothing/at/all?x=1")
    expect(page.locator("main")).to_have_attribute("data-view", "live")


def test_views_are_reached_by_keyboard(served: Served, page: Page) -> None:
    page.goto(served.url)
    expect(page.locator("#to-runs")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.locator("#to-runs").focus()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_have_attribute("data-view", "runs")
    expect(page.locator("#to-runs")).to_have_attribute("aria-current", "page")
