"""Takes a picture of each view of the dashboard into docs/screenshots: `make screenshots`.

A server of its own runs scenarios for them, which takes some minutes, and has a lab. What one sees
is what netkv did on this machine. Each view is taken on a laptop with both themes, and on a phone.
"""

from __future__ import annotations

import os
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
from netkv.api.server import bound
from netkv.api_client import Client
from netkv.runs import Store
from tests import programs
from tests.waiting import until
from tests.web.conftest import FLAGS

TO = Path(__file__).parents[2] / "docs" / "screenshots"
LAB = "demo"
SCENARIOS = ("netcache-skew", "switch-crash")
LIVE_SINCE_S = 20
"""The last event of the second one is at 15 s."""
LIVE_S = 150
LAB_SAMPLES = 30
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


def run(url: str, *names: str) -> list[str]:
    """Runs scenarios; the ids of the runs of the last one."""
    ids: list[str] = []
    for name in names:
        print(f"running {name}", flush=True)
        ids = [each.id for each in Client(url).run(name).runs]
    return ids


@contextmanager
def live_run(url: str) -> Iterator[None]:
    """A run in progress, in which a switch has failed and recovered."""
    client = Client(url)
    options = [f"duration={LIVE_S}"]
    job = client.submit("switch-crash", schemes=["farreach"], set=options)
    try:
        until(lambda: newest(client, job.id) >= LIVE_SINCE_S, "the switch has recovered", 0.5)
        yield
    finally:
        client.cancel(job.id, wait=60)


def newest(client: Client, job: str) -> float:
    """The time of the newest sample of a job, in seconds of the measured part."""
    runs = client.job(job).runs
    times = client.series(runs[0].id).columns["time"] if runs else []
    return times[-1] if times else -1.0


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
    settle(page, screen.width)
    file = TO / f"{name}{screen.suffix}.png"
    page.screenshot(path=file, full_page=True, timeout=120_000)
    Image.open(file).convert("RGB").quantize(COLOURS).save(file, optimize=True)
    print(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file, flush=True)
    context.close()


def settle(page: Page, width: int) -> None:
    """Waits until the page has drawn what it shows.

    Charts are drawn only in view, so the window gets the size of the page: then they all show the
    same moment.
    """
    for _ in range(3):
        page.wait_for_timeout(1500)
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": width, "height": height})
    page.wait_for_timeout(1500)


@contextmanager
def lab(url: str) -> Iterator[None]:
    """A lab with load, for as long as pictures are taken."""
    body = {"name": LAB, "scheme": "netcache", "set": ["lab.servers=4"]}
    address = f"{url}/api/v1/labs"
    httpx.post(f"{address}?wait=60", json=body, timeout=90).raise_for_status()
    try:
        load = {"running": True, "outstanding": 4}
        httpx.post(f"{address}/{LAB}/load", json=load, timeout=60).raise_for_status()
        until(lambda: samples(f"{address}/{LAB}") >= LAB_SAMPLES, "the lab has a past", 0.5)
        yield
    finally:
        json = {"content-type": "application/json"}
        httpx.request("DELETE", f"{address}/{LAB}", headers=json, timeout=60)


def samples(lab: str) -> int:
    """How many samples a lab has."""
    answer = httpx.get(f"{lab}/samples", timeout=60).raise_for_status()
    return len(answer.json()["samples"])


@contextmanager
def nothing(url: str) -> Iterator[None]:  # noqa: ARG001  # as the others
    """For views that show what is stored."""
    yield


AROUND = {"live": live_run, "labs": lab, "lab": lab}
"""What must go on while pictures of a view are taken."""


def main() -> None:
    wanted = sys.argv[1:]
    if (absent := programs.missing("chromium-headless-shell")) is not None:
        sys.exit(absent)
    TO.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        os.environ["NETKV_HOME"] = home
        with Store() as store, served(store) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=programs.find("chromium-headless-shell"), args=FLAGS
            )
            ids = run(url, *SCENARIOS)
            for name, address in views(ids).items():
                if not wanted or name in wanted:
                    with AROUND.get(name, nothing)(url):
                        for screen in SCREENS:
                            take(browser, url, name, address, screen)
            browser.close()


if __name__ == "__main__":
    main()
