"""The dashboard behind a token, and the page of the API, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from netkv.api import access, token
from netkv.runs import Store, StoreSink
from tests.api.serving import Served, serving
from tests.runs.recorded_runs import record, start
from tests.waiting import PATIENCE_S
from tests.web.live_runs import live_run


@pytest.fixture
def guarded(store: Store) -> Iterator[Served]:
    """A server that needs the token."""
    with serving(store, access.of("0.0.0.0")) as running:
        yield running


def test_dashboard_works_with_the_token_of_the_form(guarded: Served, page: Page) -> None:
    page.goto(guarded.url)
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button").click()
    expect(page.get_by_text("This is not the token.")).to_be_visible()
    page.get_by_label("Token").fill(token.read())
    page.get_by_role("button").click()
    expect(page.locator("#activity")).to_be_visible()
    assert page.url == f"{guarded.url}/"
    with live_run(guarded.store) as live:
        # The event stream has the cookie.
        expect(page.locator("#job")).to_contain_text("netcache")
        live.report(5)
    assert page.evaluate("document.cookie") == "", "scripts cannot read the token"


def test_log_out_forgets_the_token(guarded: Served, page: Page) -> None:
    page.goto(guarded.url)
    page.get_by_label("Token").fill(token.read())
    page.get_by_role("button").click()
    page.get_by_role("link", name="Runs", exact=True).click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    assert page.context.cookies() == []
    page.goto(f"{guarded.url}/#/runs")
    expect(page.get_by_label("Token")).to_be_visible()


def test_without_a_token_there_is_no_log_out(served: Served, page: Page) -> None:
    with page.expect_response("**/api/v1/health"):
        page.goto(served.url)
    expect(page.locator("#activity")).to_contain_text("Nothing is running.")
    expect(page.locator("#log-out")).to_be_hidden()


def test_figures_are_drawn_under_the_policy(served: Served, page: Page) -> None:
    with StoreSink(served.store) as sink:
        record(sink, start("r1", "netcache"))
    page.goto(f"{served.url}/#/compare?run=r1")
    page.wait_for_selector(".js-plotly-plot .main-svg")
    page.hover(".js-plotly-plot")
    sheets = page.evaluate(
        "[...document.styleSheets].filter(sheet => !sheet.href).map(s => s.cssRules.length)"
    )
    assert any(sheets), "plotly could fill its style sheet"


def test_api_is_described_without_a_network(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/docs")
    expect(page.get_by_role("heading", name="netkv", level=1)).to_be_visible()
    page.get_by_role("link", name="jobs", exact=True).click()
    operation = page.locator("#operations-jobs-list_jobs")
    operation.click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table")).to_contain_text(
        '"active"', timeout=1000 * PATIENCE_S
    )
    assert page.evaluate("document.querySelectorAll('script:not([src])').length") == 0
