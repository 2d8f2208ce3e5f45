"""Measures the dashboard: the processor time of a page that follows runs, and first sights.

python -m tests.web.cost live [--seconds 30] [--profile]
python -m tests.web.cost sight [--store FILE] [--turns 3]

`live`: runs with 600 s of history receive samples, which a page gets through the event stream. The
time is processor time from /proc, so other work on the machine changes it little. Without a GPU,
Chromium paints in software: in further threads of the renderer and in its process "GPU". The goal
is for the sum.

`sight`: with 1,000 runs of 600 s in the store, each view is opened with an empty cache. The time is
wall time from the request of the page until the view shows its content.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, ViewportSize, sync_playwright

from netkv.runs import Store, StoreSink
from netkv.scenarios.results import RunSample, RunStart
from netkv.schemes import all_schemes
from tests import programs
from tests.api.serving import serving
from tests.runs.many_runs import fill, samples, store_ended
from tests.runs.recorded_runs import start
from tests.web.conftest import FLAGS

SIZE: ViewportSize = {"width": 1280, "height": 800}
HISTORY_S = 600
SERIES = 16
GOAL_PERCENT = 20
GOAL_S = 1.0
SETTLE_MS = 5000
"""After the first sight; until then, the page loads."""
RUNS = 1000

STREAM_ONLY = """() => {
    const source = new EventSource("/api/v1/stream");
    for (const kind of ["jobs", "sample", "event", "dropped"])
        source.addEventListener(kind, message => JSON.parse(message.data));
}"""
DRAWN = """() => [...document.querySelectorAll(".chart")].filter(chart => {
    const box = chart.getBoundingClientRect();
    return box.bottom > 0 && box.top < innerHeight && chart.data;
}).map(chart => chart.data.length).reduce((sum, count) => sum + count, 0)"""


@dataclass(frozen=True)
class Case:
    """A page that follows runs."""

    name: str
    address: str
    runs: int
    per_s: float
    """Samples of each run in a second; a rack gives one."""


CASES = (
    Case("stream only, 1 run", "", 1, 10),
    Case("Live, 1 sample/s", "#/live", 1, 1),
    Case("Live, 10 samples/s", "#/live", 1, 10),
    Case("stream only, 16 runs", "", SERIES, 1),
    Case("Compare, 16 runs in progress", "#/compare", SERIES, 1),
)


class Load:
    """Runs in progress, which a thread extends."""

    def __init__(self, store: Store, case: Case) -> None:
        names = [scheme.name for scheme in all_schemes()]
        self.runs = [
            start(
                f"live-{time.time_ns()}-{number}",
                names[(number + 1) % len(names)],
                started_at=time.time() - HISTORY_S,
                duration=2.0 * HISTORY_S,
            )
            for number in range(case.runs)
        ]
        self._store = store
        self._pause = 1 / case.per_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> Load:
        self._sink = StoreSink(self._store)
        self._rest: list[tuple[RunStart, Iterator[RunSample]]] = []
        for run in self.runs:
            self._sink.begin(run)
            every = samples(run, 2 * HISTORY_S, self._pause if self._pause < 1 else 1.0)
            fill(self._store, run, [next(every) for _ in range(HISTORY_S)])
            self._rest.append((run, every))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._store.end({run.id for run in self.runs}, "cancelled", "The measurement is over.")

    def _write(self) -> None:
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            due += self._pause
            for run, every in self._rest:
                self._sink.sample(run.id, next(every))


@dataclass(frozen=True)
class Cost:
    """Processor time in percent of one core."""

    main: float
    """The main thread of the page: scripts, layout, drawing lists."""
    script: float
    """Scripts, as Chromium counts them; a part of the main thread."""
    others: float
    """Other threads of the renderer: compositor, painting, memory."""
    gpu: float
    """The process "GPU"."""
    series: int
    """Traces in the charts that are in sight."""

    @property
    def total(self) -> float:
        return self.main + self.others + self.gpu


def live(seconds: float, profile: bool, wanted: str) -> None:
    """Prints the processor time of pages that follow runs."""
    print(f"Percent of one core over {seconds:.0f} s; goal: below {GOAL_PERCENT}%")
    print(f"{'':34} total   main (script)   others    GPU   series   x stream only")
    with _server() as (store, url), _chromium() as browser:
        base: Cost | None = None
        for case in CASES:
            if wanted not in case.name and case.address:
                continue
            with Load(store, case) as load:
                runs = "&".join(f"run={run.id}" for run in load.runs)
                address = f"{case.address}?{runs}" if case.address == "#/compare" else case.address
                cost = _measure(browser, f"{url}/{address}", bool(case.address), seconds, profile)
            if not case.address:
                base = cost
            ratio = f"{cost.total / base.total:8.1f}" if base and case.address else ""
            print(
                f"{case.name:34} {cost.total:4.1f}%  {cost.main:4.1f}% ({cost.script:4.1f}%)"
                f"    {cost.others:5.1f}%  {cost.gpu:4.1f}%   {cost.series or '':6}   {ratio}",
                flush=True,
            )


def _measure(browser: Browser, url: str, view: bool, seconds: float, profile: bool) -> Cost:
    processes = browser.new_browser_cdp_session()
    page = browser.new_page(viewport=SIZE)
    client = page.context.new_cdp_session(page)
    if view:
        page.goto(url)
        page.wait_for_selector(".chart .main-svg")
        # More of it is in sight than at the beginning of the page.
        page.locator(".charts").evaluate("place => place.scrollIntoView()")
    else:
        page.goto(f"{url}icon.svg")
        page.evaluate(STREAM_ONLY)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.wait_for_timeout(SETTLE_MS)
    if profile:
        client.send("Profiler.enable")
        client.send("Profiler.start")
    scripts, spent, begun = _scripts(client), _processes(processes), time.monotonic()
    page.wait_for_timeout(1000 * seconds)
    scripts, ended = _scripts(client) - scripts, time.monotonic()
    spent_after = _processes(processes)
    if profile:
        _print_profile(client)
    series = page.evaluate(DRAWN) if view else 0
    page.close()
    part = 100 / (ended - begun)
    return Cost(
        main=part * (spent_after["main"] - spent["main"]),
        script=part * scripts,
        others=part * (spent_after["others"] - spent["others"]),
        gpu=part * (spent_after["GPU"] - spent["GPU"]),
        series=series,
    )


def _scripts(client: CDPSession) -> float:
    """Seconds that the scripts of a page have taken."""
    found = client.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in found if each["name"] == "ScriptDuration"))


def _processes(session: CDPSession) -> dict[str, float]:
    """Processor seconds so far: of renderers (`main` thread and `others`), of the process `GPU`."""
    spent = {"main": 0.0, "others": 0.0, "GPU": 0.0}
    for process in session.send("SystemInfo.getProcessInfo")["processInfo"]:
        for task in Path(f"/proc/{process['id']}/task").iterdir():
            fields = (task / "stat").read_text().rpartition(")")[2].split()
            # utime and stime: fields 14 and 15 of proc(5).
            taken = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            if process["type"] == "renderer":
                spent["main" if task.name == str(process["id"]) else "others"] += taken
            elif process["type"] == "GPU":
                spent["GPU"] += taken
    return spent


def _print_profile(client: CDPSession) -> None:
    """The functions in which the page spends most time."""
    profile = client.send("Profiler.stop")["profile"]
    names = {}
    for node in profile["nodes"]:
        frame = node["callFrame"]
        file, line, column = (
            frame["url"].rpartition("/")[2],
            frame["lineNumber"],
            frame["columnNumber"],
        )
        names[node["id"]] = f"{frame['functionName'] or '-'} {file}:{line + 1}:{column}"
    spent: Counter[str] = Counter()
    for node, micros in zip(profile["samples"], profile["timeDeltas"], strict=True):
        spent[names[node]] += micros
    for name, micros in spent.most_common(25):
        print(f"  {micros / 1000:9.1f} ms  {name}")


# First sight


def sight(file: str, turns: int, wanted: str) -> None:
    """Prints when each view shows its content."""
    with tempfile.TemporaryDirectory() as directory:
        url = f"sqlite:///{file or Path(directory) / 'many.db'}"
        with Store(url) as store:
            if not store.counts():
                print(f"Storing {RUNS} runs of {HISTORY_S} s ...", flush=True)
                store_ended(store, RUNS, HISTORY_S)
        with _server(url) as (store, address), _chromium() as browser:
            found: dict[str, list[float]] = {}
            for _ in range(turns):
                for name, (route, content) in _views(store).items():
                    if wanted in name:
                        taken = _first_sight(browser, f"{address}/{route}", content)
                        found.setdefault(name, []).append(taken)
    print(f"Of {turns} turns with an empty cache; goal: below {GOAL_S:.0f} s on a quiet machine")
    print(f"{'':20} first    median   shortest")
    for name, times in found.items():
        middle = statistics.median(times)
        print(f"{name:20} {times[0]:5.2f} s  {middle:5.2f} s  {min(times):5.2f} s")


def _views(store: Store) -> dict[str, tuple[str, str]]:
    """Name → its address, and what it shows when it has its content."""
    heads = store.heads(limit=SERIES)
    runs = "&".join(f"run={head.id}" for head in heads)
    return {
        "live": ("#/live", "#begin"),
        "scenarios": ("#/scenarios", "main .card"),
        "scenario": ("#/scenarios/quickstart", "#yaml"),
        "runs": ("#/runs", "main table tbody tr"),
        "compare 16 runs": (f"#/compare?{runs}", ".chart .main-svg"),
        "figures": (f"#/figures?run={heads[0].id}&run={heads[1].id}", ".figure .main-svg"),
        "labs": ("#/labs", "main .card"),
        "packet": ("#/packet", "main .card"),
    }


def _first_sight(browser: Browser, url: str, content: str) -> float:
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    begun = time.monotonic()
    page.goto(url, wait_until="commit")
    page.wait_for_selector(content)
    taken = time.monotonic() - begun
    context.close()
    return taken


@contextmanager
def _server(url: str | None = None) -> Iterator[tuple[Store, str]]:
    with tempfile.TemporaryDirectory() as home:
        os.environ["NETKV_HOME"] = home
        with Store(url) as store, serving(store) as served:
            yield store, served.url


@contextmanager
def _chromium() -> Iterator[Browser]:
    if (absent := programs.missing("chromium-headless-shell")) is not None:
        raise SystemExit(absent)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=programs.find("chromium-headless-shell"), args=FLAGS
        )
        yield browser
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.web.cost", description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True)
    each = kinds.add_parser("live")
    each.add_argument("--seconds", type=float, default=30)
    each.add_argument("--profile", action="store_true", help="print where the time is spent")
    each.add_argument("--case", default="", help="only cases with this text in their name")
    each = kinds.add_parser("sight")
    each.add_argument("--store", default="", help="file of the store; filled if it is not there")
    each.add_argument("--turns", type=int, default=3)
    each.add_argument("--view", default="", help="only views with this text in their name")
    options = parser.parse_args()
    if options.kind == "live":
        live(options.seconds, options.profile, options.case)
    else:
        sight(options.store, options.turns, options.view)


if __name__ == "__main__":
    main()
