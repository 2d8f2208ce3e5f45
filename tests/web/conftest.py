"""A browser and a page for a dashboard with a run store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests import programs
from tests.api.serving import served, slow_runner, store
from tests.waiting import PATIENCE_S

__all__ = ["browser", "page", "served", "slow_runner", "store"]

PATIENCE_MS = 1000 * PATIENCE_S
"""Limit for a state of a page; generous, for busy machines."""
expect.set_options(timeout=PATIENCE_MS)

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium for the tests of one file.

    Playwright keeps an event loop running in its thread until it is stopped. Asynchronous tests in
    the same process fail meanwhile, so it must not live until the end of the session.
    """
    executable = programs.find("chromium-headless-shell")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page. The test fails if the page has an error or requests anything from other hosts."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE_MS)
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on(
        "console",
        lambda message: (
            errors.append(f"console: {message.text}")
            # The browser reports each answer with an error status, those that a test wants, too.
            if message.type == "error" and "Failed to load resource" not in message.text
            else None
        ),
    )
    opened.on(
        "request",
        lambda request: (
            errors.append(f"requested {request.url}")
            if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:"))
            else None
        ),
    )
    yield opened
    context.close()
    assert not errors
