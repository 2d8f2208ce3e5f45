"""The dashboard in a real browser: starting and stopping runs, theme."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.api.serving import Served


def traces(page: Page, chart: str) -> list[dict[str, Any]]:
    """Name, number of points and last value of each trace of a chart."""
    found: list[dict[str, Any]] = page.evaluate(
        "id => (document.getElementById(id).data ?? [])"
        ".map(trace => ({name: trace.name, points: trace.y.length, last: trace.y.at(-1)}))",
        chart,
    )
    return found


def wait_for_traces(page: Page, chart: str, count: int) -> None:
    page.wait_for_function(
        "([id, count]) => document.getElementById(id)?.data?.length === count", arg=[chart, count]
    )


@pytest.mark.usefixtures("slow_runner")
def test_run_is_started_and_stopped_from_the_page(served: Served, page: Page) -> None:
    page.goto(served.url)
    expect(page.locator("#scenario")).to_have_value("quickstart")
    # Enough repeats that the run has not ended before the click on Stop on a busy machine.
    page.get_by_text("Options").click()
    page.locator("#repeat").fill("100")
    page.locator("#start").click()
    expect(page.locator("#activity")).to_contain_text("Running quickstart: nocache")
    page.wait_for_function(
        "() => (document.getElementById('throughput').data ?? [])[0]?.y.length > 5"
    )
    page.locator("#stop").click()
    expect(page.locator("#activity")).to_contain_text("Nothing is running.")
    expect(page.locator("#comparison")).to_contain_text("cancelled")
    expect(page.locator("#start")).to_be_enabled()


@pytest.mark.usefixtures("slow_runner")
def test_only_chosen_schemes_are_run(served: Served, page: Page) -> None:
    page.goto(served.url)
    page.get_by_label("nocache").uncheck()
    page.locator("#start").click()
    expect(page.locator("#activity")).to_contain_text("Running quickstart: netcache")
    expect(page.locator("#activity")).to_contain_text("Nothing is running.")
    expect(page.locator("#comparison tbody tr")).to_have_count(1)
    assert [head.scheme for head in served.store.heads()] == ["netcache"]


def test_error_of_a_wrong_option_is_shown_on_the_page(served: Served, page: Page) -> None:
    page.goto(served.url)
    page.get_by_text("Options").click()
    page.locator("#changes").fill("workload.zipff=1")
    page.locator("#start").click()
    expect(page.get_by_role("alert")).to_contain_text("zipff")
    expect(page.locator("#start")).to_be_enabled()


def test_theme_is_kept_over_a_reload(served: Served, page: Page) -> None:
    page.goto(served.url)
    page.locator("#theme").click()
    page.locator("#theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_estimated_time_of_a_scenario_is_shown(served: Served, page: Page) -> None:
    page.goto(served.url)
    expect(page.locator("#about")).to_contain_text(
        re.compile(r"2 runs, about 3\d s here \(estimated\)\.")
    )
    page.locator("#scenario").select_option("netcache-skew")
    expect(page.locator("#about")).to_contain_text(
        re.compile(r"8 runs, about .* here \(estimated\), 16 s of virtual time\.")
    )


def test_live_rack_is_run_from_the_page(served: Served, page: Page) -> None:
    page.goto(served.url)
    page.get_by_text("Options").click()
    page.locator("#changes").fill(
        "warmup=1\nduration=4\nlab.servers=4\nworkload.keys=2000\nlab.cache_entries=200\nexpect=[]"
    )
    page.locator("#start").click()
    page.wait_for_function(
        "() => (document.getElementById('throughput').data ?? [])[0]?.y.length >= 2"
    )
    expect(page.locator("#activity")).to_contain_text("Running quickstart")
    expect(page.locator("#comparison tbody tr")).to_have_count(2)
    expect(page.locator("#activity")).to_contain_text("Nothing is running.")
    wait_for_traces(page, "throughput", 2)
    netcache = next(head for head in served.store.heads() if head.scheme == "netcache")
    assert netcache.status == "done"
    assert netcache.acked_writes_lost == 0
    row = page.locator("#comparison tbody tr").nth(1)
    expect(row).to_contain_text(f"{netcache.throughput_ops:,.0f}")
    assert len(traces(page, "load")) == 2
