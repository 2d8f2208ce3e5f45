"""Takes a picture of each view of the dashboard into docs/screenshots: `make screenshots`.

A server of its own, with a store of its own, has recorded runs, a run in progress and a lab. Each
view is taken on a laptop with both themes, and on a phone.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from netkv.api.app import create_app
from netkv.api.jobs import requests
from netkv.api.models.jobs import ScenarioRequest
from netkv.api.server import bound
from netkv.runs import Store
from tests.runs.recorded_runs import record_comparison
from tests.waiting import until
from tests.web.conftest import FLAGS

TO = Path(__file__).parents[2] / "docs" / "screenshots"
LAB = "demo"
COLOURS = 256
"""Of a stored picture: half of the size, and no difference that one sees."""

LATE = {"packet": ".outcome"}
"""What a view shows only after the server has worked for it."""


@dataclass(frozen=True)
class Screen:
    """A size of the browser, and a theme."""

    suffix: str
    width: int
    height: int
    theme: str


SCREENS = (
    Screen("", 1280, 800, "light"),
    Screen("-dark", 1280, 800, "dark"),
    Screen("-narrow", 390, 844, "light"),
)


@contextmanager
def served(store: Store) -> Iterator[str]:
    """The server in a thread; its address."""
    with bound(0) as listener:
        config = uvicorn.Config(create_app(store), log_level="warning", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        until(lambda: server.started, "the server listens")
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def slow_run(request: ScenarioRequest, group: str, directory: Path) -> list[str]:  # noqa: ARG001  # as the function that it replaces
    """A run that reports recorded samples, so that pictures do not depend on the machine."""
    name = request.scenario or "quickstart"
    return [sys.executable, "-m", "tests.api.slow_runner", group, name, "60"]


def views(run_ids: list[str]) -> dict[str, str]:
    """Name of a picture → address of the view."""
    runs = "&".join(f"run={each}" for each in run_ids)
    return {
        "live": "#/live",
        "scenarios": "#/scenarios",
        "scenario": "#/scenarios/switch-crash",
        "runs": "#/runs",
        "compare": f"#/compare?{runs}",
        "figures": f"#/figures?{runs}",
        "labs": "#/labs",
        "lab": f"#/labs/{LAB}",
        "packet": "#/packet?program=netcache&example=read-of-cached-key",
    }


def take(browser: Browser, url: str, name: str, address: str, screen: Screen) -> None:
    """One picture of a whole page."""
    context = browser.new_context(
        viewport={"width": screen.width, "height": screen.height},
        color_scheme="dark" if screen.theme == "dark" else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.on("pageerror", lambda error: print(f"{name}: {error}", file=sys.stderr))
    page.goto(f"{url}/{address}")
    if name in LATE:
        page.wait_for_selector(LATE[name], timeout=120_000)
    settle(page)
    file = TO / f"{name}{screen.suffix}.png"
    page.screenshot(path=file, full_page=True, timeout=120_000)
    Image.open(file).convert("RGB").quantize(COLOURS).save(file, optimize=True)
    print(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file, flush=True)
    context.close()


def settle(page: Page) -> None:
    """Waits until the page has drawn what it shows; charts are drawn when they come into view."""
    top = 0
    while top < page.evaluate("document.documentElement.scrollHeight"):
        page.evaluate("top => window.scrollTo(0, top)", top)
        page.wait_for_timeout(600)
        top += 500
    page.evaluate("window.scrollTo(0, 0)")
    page.wait_for_timeout(1000)


@contextmanager
def lab(url: str) -> Iterator[None]:
    """A lab with load, for as long as pictures are taken."""
    body = {"name": LAB, "scheme": "netcache", "set": ["lab.servers=4"]}
    address = f"{url}/api/v1/labs"
    httpx.post(f"{address}?wait=60", json=body, timeout=90).raise_for_status()
    try:
        load = {"running": True, "outstanding": 4}
        httpx.post(f"{address}/{LAB}/load", json=load, timeout=60).raise_for_status()
        yield
    finally:
        json = {"content-type": "application/json"}
        httpx.request("DELETE", f"{address}/{LAB}", headers=json, timeout=60)


def main() -> None:
    wanted = sys.argv[1:]
    executable = shutil.which("chromium")
    if executable is None:
        sys.exit("The pictures need Chromium: apt install chromium.")
    TO.mkdir(parents=True, exist_ok=True)
    requests.scenario_command = slow_run
    with tempfile.TemporaryDirectory() as home:
        os.environ["NETKV_HOME"] = home
        with Store() as store, served(store) as url, lab(url), sync_playwright() as playwright:
            ids = record_comparison(store)
            job = {"scenario": "quickstart"}
            httpx.post(f"{url}/api/v1/jobs", json=job, timeout=60).raise_for_status()
            browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
            for name, address in views(ids).items():
                for screen in SCREENS if not wanted or name in wanted else ():
                    take(browser, url, name, address, screen)
            browser.close()


if __name__ == "__main__":
    main()
