"""The view Live: what runs, its progress and numbers, cancelling, and the loss of the server."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import APIResponse, Browser, Page, Route, expect

from netkv.events.event import TimelineEvent
from netkv.live.ports import free_ports
from netkv.runs import Store, StoreSink
from netkv.scenarios.changes import Changes
from netkv.scenarios.results import RunEvent
from tests.api.serving import Served
from tests.runs.recorded_runs import record, record_comparison, result, samples, start
from tests.waiting import PATIENCE_S
from tests.web.charts import COUNT, traces, wait_for_points, wait_for_traces
from tests.web.live_runs import live_run

ROOT = Path(__file__).parents[2]
COUNT_SAMPLES = """async () => {
    const stream = await import("/js/core/stream.js");
    window.samples = 0;
    stream.on("sample", () => { window.samples += 1; });
}"""
"""Counts the samples that the page gets through its stream."""
WATCH_ARRAYS = """() => {
    const { push } = Array.prototype;
    window.longest = 0;
    Array.prototype.push = function (...items) {
        window.longest = Math.max(window.longest, this.length);
        if (this.length > 100_000) throw new Error("This array does not end.");
        return push.apply(this, items);
    };
}"""


def points(page: Page, chart: str = "throughput") -> int:
    """Number of points of the first trace of a chart; 0 before it is drawn."""
    found: int = page.evaluate(
        f"id => ({COUNT})((document.getElementById(id)?.data ?? [])[0])", chart
    )
    return found


@pytest.mark.usefixtures("slow_runner")
def test_run_is_started_followed_and_cancelled_on_the_page(
    served: Served, page: Page, tmp_path: Path
) -> None:
    (tmp_path / "hold").write_text("12")
    page.goto(served.url)
    expect(page.locator("#begin")).to_contain_text("Nothing is running")
    page.get_by_role("button", name="Run quickstart").click()
    expect(page.locator("#job")).to_contain_text("running")
    wait_for_points(page, 5)
    expect(page.locator("#tile-throughput dd")).to_have_text(re.compile(r"^[0-9,]+$"))
    expect(page.locator("#activity")).to_contain_text("Running quickstart")
    page.locator("#cancel").click()
    expect(page.locator("#job .state")).to_have_text("cancelled")
    expect(page.locator("#activity")).to_have_text("Nothing is running.")
    expect(page.locator("#begin")).to_be_visible()
    assert served.store.heads()[0].status == "cancelled"


def test_live_samples_appear_without_a_reload(served: Served, page: Page) -> None:
    with live_run(served.store, reported=4) as live:
        page.goto(served.url)
        wait_for_points(page, 4)
        live.report()
        wait_for_points(page, len(live.feed))
        live.finish()
    expect(page.locator("#job .state")).to_have_text("done")
    assert points(page) == len(live.feed)


def test_samples_that_arrive_while_a_series_is_loaded_are_shown(served: Served, page: Page) -> None:
    held: list[tuple[Route, APIResponse]] = []
    page.route("**/series?*", lambda route: held.append((route, route.fetch())))
    with live_run(served.store, reported=4) as live:
        with page.expect_request("**/series?*"):
            page.goto(served.url)
        page.evaluate(COUNT_SAMPLES)
        page.evaluate(WATCH_ARRAYS)
        live.report(8)
        page.wait_for_function("() => window.samples === 4")
        for route, answer in held:
            route.fulfill(response=answer)
        wait_for_points(page, 8)
        live.report(9)
        wait_for_points(page, 9)
    assert points(page) == 9
    assert page.evaluate("longest") < 1000


def test_second_run_does_not_push_the_charts_away(served: Served, page: Page) -> None:
    first, second = start("one", "nocache"), start("two", "netcache")
    with StoreSink(served.store, group="gtwo") as sink:
        sink.begin(first)
        feed = list(samples(first))
        for sample in feed:
            sink.sample(first.id, sample)
        page.goto(served.url)
        wait_for_points(page, len(feed))
        before = page.locator("#throughput").bounding_box()
        sink.finish(result(first, feed[3:]))
        sink.begin(second)
        for sample in list(samples(second))[:6]:
            sink.sample(second.id, sample)
        expect(page.locator(".cell[aria-pressed='true']")).to_contain_text("netcache")
        page.wait_for_function(
            f"() => ({COUNT})(document.getElementById('throughput').data[0]) === 6"
        )
        after = page.locator("#throughput").bounding_box()
        assert before is not None
        assert after is not None
        assert abs(after["y"] - before["y"]) < 100
        page.get_by_role("button", name="nocache").click()
        wait_for_points(page, len(feed))
        assert page.evaluate("location.hash") == "#/live/gtwo?run=one"


def test_numbers_are_those_of_the_json_document(served: Served, page: Page) -> None:
    ids = record_comparison(served.store, "gnumbers")
    page.goto(f"{served.url}/#/live/gnumbers?run={ids[1]}")
    wait_for_points(page, 20)
    run = served.store.record(ids[1])
    shown = page.locator("#tile-throughput dd").inner_text()
    assert shown == f"{round(run.throughput_ops):,}"
    page.locator("#latency").scroll_into_view_if_needed()
    wait_for_points(page, 20, "latency")
    with page.expect_download() as download:
        page.get_by_role("button", name="Latency as CSV").click()
    lines = Path(download.value.path()).read_text().splitlines()
    stored = run.series["latency_p99_us"]
    column = lines[0].split(",").index("p99")
    shown_ms = [float(line.split(",")[column]) for line in lines[1:]]
    assert shown_ms == [each / 1000 for each in stored]


def test_deep_link_shows_the_same_run_after_a_reload(served: Served, page: Page) -> None:
    first, _ = record_comparison(served.store, "gdeep")
    page.goto(f"{served.url}/#/live/gdeep?run={first}")
    expect(page.locator(".cell[aria-pressed='true']")).to_contain_text("nocache")
    page.reload()
    expect(page.locator(".cell[aria-pressed='true']")).to_contain_text("nocache")
    wait_for_points(page, 20)


def test_what_an_older_netkv_did_not_count_is_no_zero(served: Served, page: Page) -> None:
    """Its intervals have no dropped frames, and no reads that caches answered."""
    _, old = record_comparison(served.store, "gold")
    page.goto(f"{served.url}/#/live/gold?run={old}")
    wait_for_traces(page, "throughput", 1)
    assert [trace["name"] for trace in traces(page, "throughput")] == ["all operations"]
    wait_for_traces(page, "counts", 3)
    assert [(trace["name"], trace["last"]) for trace in traces(page, "counts")] == [
        ("Lost operations", 0),
        ("Retries", 0),
        ("Dropped frames: not counted", None),
    ]
    quiet = start("quiet", "netcache")
    with StoreSink(served.store, group="gquiet") as sink:
        sink.begin(quiet)
        feed = [each.model_copy(update={"lost_ops": 0, "retries": 0}) for each in samples(quiet)]
        for sample in feed:
            sink.sample(quiet.id, sample)
        sink.finish(result(quiet, feed[3:]))
    page.goto(f"{served.url}/#/live/gquiet")
    page.locator("#counts").scroll_into_view_if_needed()
    expect(page.locator("#counts")).to_contain_text("None so far. Dropped frames: not counted")


def test_outage_is_shaded_and_named(served: Served, page: Page) -> None:
    _, second = record_comparison(served.store, "gfault")
    page.goto(f"{served.url}/#/live/gfault?run={second}")
    wait_for_points(page, 20)
    layout = page.evaluate("document.getElementById('throughput').layout")
    assert [(shape["x0"], shape["x1"]) for shape in layout["shapes"]] == [(-3, 0), (10, 12)]
    assert [each["text"] for each in layout["annotations"]] == ["servers-0 down"]
    expect(page.locator("#events")).to_contain_text("servers-0 was killed.")


def test_fault_of_a_scenario_is_shaded_until_it_is_healed(served: Served, page: Page) -> None:
    slow = {"node": "servers-1", "factor": 4}
    with StoreSink(served.store, group="gslow") as sink:
        run = start("slow", "netcache")
        record(sink, run)
        changes = Changes()
        for at, action in (
            (0, {"link": {"node": "client", "loss": 0.1}}),
            (1, {"link": {"node": "client"}}),
            (4, {"slow": slow}),
            (5, {"shift": {"kind": "hot-in"}}),
            (7, {"slow": {**slow, "factor": 1}}),
            (9, {"kill": "servers-0"}),
            (15, {"partition": "controller"}),
        ):
            done = changes.fields(TimelineEvent(at=at, **action).action, "scenario")
            sink.event(run.id, RunEvent(time=at, **done))
    page.goto(f"{served.url}/#/live/gslow?run=slow")
    wait_for_points(page, 20)
    layout = page.evaluate("document.getElementById('throughput').layout")
    shapes = [(shape["type"], shape["x0"], shape["x1"]) for shape in layout["shapes"]]
    bands = [(-3, 0), (0, 1), (4, 7), (10, 12), (15, 20)]
    assert shapes == [*(("rect", *band) for band in bands), ("line", 5, 5)]
    assert [each["text"] for each in layout["annotations"]] == [
        "link of client: loss 0.1",
        "slow servers-1: factor 4",
        "servers-0 down",
        "partition controller",
    ]


def test_unknown_job_is_a_sentence(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/#/live/gnothing")
    expect(page.get_by_role("alert")).to_contain_text("There is no job 'gnothing'.")


def test_two_pages_show_the_same(served: Served, page: Page, browser: Browser) -> None:
    other = browser.new_page()
    try:
        with live_run(served.store, reported=1) as live:
            for each in (page, other):
                each.goto(served.url)
                expect(each.locator("#job")).to_contain_text("running")
            live.report()
            for each in (page, other):
                wait_for_points(each, len(live.feed))
    finally:
        other.close()


SERVER = "import sys; from netkv.api import server; server.run(int(sys.argv[1]))"


@contextmanager
def serving(port: int) -> Iterator[subprocess.Popen[str]]:
    """A server in a process of its own that can be killed."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(port)], stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        try:
            assert process.stderr is not None
            process.stderr.readline()
            yield process
        finally:
            process.kill()


def test_page_continues_without_a_gap_after_the_server_is_killed(store: Store, page: Page) -> None:
    port = free_ports(1)[0]
    url = f"http://127.0.0.1:{port}"
    with live_run(store, "long", reported=5) as live:
        with serving(port) as server:
            page.goto(url)
            wait_for_points(page, 5)
            server.kill()
            server.wait()
            expect(page.locator("#activity")).to_contain_text("does not answer")
        live.report(15)
        with serving(port):
            wait_for_points(page, 15)
            live.report()
            wait_for_points(page, len(live.feed))
            times = page.evaluate("document.getElementById('throughput').data[0].x")
            # A step begins at the end of the interval before.
            assert times[1:] == [sample.time for sample in live.feed]
            answer = httpx.get(f"{url}/api/v1/runs/long/series", timeout=PATIENCE_S)
            assert answer.json()["columns"]["time"] == times[1:]


PLAN: list[dict[str, Any]] = [
    {"scheme": scheme, "params": {"workload.zipf": zipf}, "repeat": 0}
    for zipf in (0.9, 0.99)
    for scheme in ("nocache", "netcache")
]
"""Two schemes at two points of a sweep."""


def progress(fraction: float) -> dict[str, Any]:
    """What a run of `PLAN` reports when so much of its first cell is done."""
    first = {
        "index": 0,
        "scheme": "nocache",
        "phase": "measure",
        "fraction": fraction,
        "share": fraction,
        "left_seconds": 10.0,
        "recovering": [],
    }
    return {
        "done": 0,
        "total": len(PLAN),
        "fraction": fraction / len(PLAN),
        "left_seconds": 70.0,
        "phase": "measure",
        "runs": [first],
        "updated_at": 0.0,
    }


def test_progress_of_a_sweep_is_shown_for_each_run(served: Served, page: Page) -> None:
    """The plan and the progress are those that a run reports to the store."""
    run = start("cell", "nocache", params=PLAN[0]["params"])
    with StoreSink(served.store, group="gsweep") as sink:
        sink.plan(PLAN)
        sink.begin(run)
        sink.progress(progress(0.5))
        page.goto(served.url)
        expect(page.locator(".cell")).to_have_count(4)
        expect(page.locator("#cell-0")).to_contain_text("50%")
        expect(page.locator("#cell-3")).to_contain_text("waiting")
        expect(page.locator("#job .progress")).to_contain_text("12% · 1 min 10 s left")
        expect(page.locator("#activity")).to_contain_text("12%")


def test_workers_of_a_cluster_are_shown_and_stay_open(served: Served, page: Page) -> None:
    with live_run(served.store) as live:
        sink = live.sink
        document = progress(0.5)
        workers = [
            {"name": "alpha-1", "host": "192.0.2.1", "running": 2, "done": 1234, "refused": None},
            {"name": "beta-1", "host": "192.0.2.2", "running": 1, "done": 7, "refused": None},
            {
                "name": "old-1",
                "host": "192.0.2.3",
                "running": 0,
                "done": 0,
                "refused": "It is old.",
            },
        ]
        link = "http://192.0.2.1:8787/status"
        more = {"rate": 2.5, "failed": 1, "failures": ["nocache: It broke."], "link": link}
        sink.progress({**document, **more, "workers": workers})
        page.goto(f"{served.url}/#/live/glive")
        shown = page.locator("#workers")
        expect(shown.locator("summary")).to_have_text(
            "2 workers on 2 hosts · 2.50 runs per second · 1 failed"
        )
        shown.locator("summary").click()
        expect(shown).to_contain_text("alpha-1: 2 in progress, 1,234 done")
        expect(shown).to_contain_text("old-1 gets no runs. It is old.")
        expect(shown).to_contain_text("nocache: It broke.")
        expect(shown.get_by_role("link")).to_have_attribute("href", link)
        # An update leaves it open.
        workers[1]["done"] = 8
        sink.progress({**document, **more, "workers": workers})
        expect(shown).to_contain_text("beta-1: 1 in progress, 8 done")
        expect(shown.get_by_role("link")).to_be_visible()
        # One process needs no words.
        sink.progress({**document, "workers": workers[:1]})
        expect(shown).to_be_hidden()


def test_click_is_not_lost_when_the_page_is_updated_meanwhile(served: Served, page: Page) -> None:
    """A button that an update replaces between press and release gets no click."""
    first, second, third = (
        start(f"run{at}", cell["scheme"], params=cell["params"], started_at=1000.0 + at)
        for at, cell in enumerate(PLAN[:3])
    )
    page.route("**/jobs/gclick", answer_of_cancel)
    with StoreSink(served.store, group="gclick") as sink:
        sink.plan(PLAN)
        sink.begin(first)
        sink.begin(second)
        sink.progress(progress(0.5))
        page.goto(served.url)
        cell = page.locator("#cell-0")
        expect(cell).to_contain_text("50%")
        expect(cell).to_have_attribute("aria-pressed", "false")
        kept = ("#cancel", "#to-comparison", "#activity a", ".matrix", "#cell-0", "#cell-2")
        elements = [page.locator(each).element_handle() for each in kept]
        cell.hover()
        page.mouse.down()
        sink.progress(progress(0.75))
        expect(cell).to_contain_text("75%")
        page.mouse.up()
        expect(cell).to_have_attribute("aria-pressed", "true")
        page.locator("#cancel").hover()
        page.mouse.down()
        sink.begin(third)
        expect(page.locator("#cell-2")).to_have_class(re.compile("status-running"))
        with page.expect_request(lambda request: request.method == "DELETE"):
            page.mouse.up()
        assert all(each.evaluate("element => element.isConnected") for each in elements)


@pytest.mark.usefixtures("slow_runner")
def test_click_is_not_lost_when_the_scenarios_are_loaded_meanwhile(
    served: Served, page: Page, tmp_path: Path
) -> None:
    (tmp_path / "hold").touch()
    held: list[Route] = []
    page.route("**/scenarios", lambda route: held.append(route))
    with page.expect_request("**/scenarios"):
        page.goto(served.url)
    page.get_by_role("button", name="Run quickstart").hover()
    page.mouse.down()
    for route in held:
        route.continue_()
    expect(page.locator("#begin")).to_contain_text(re.compile(r"All \d+ scenarios"))
    page.mouse.up()
    expect(page.locator("#activity")).to_contain_text("Running quickstart")
    page.locator("#cancel").click()
    expect(page.locator("#job .state")).to_have_text("cancelled")


def answer_of_cancel(route: Route) -> None:
    """Answers a cancellation, which would interrupt the tests themselves: they report the runs."""
    if route.request.method == "DELETE":
        route.fulfill(json={})
    else:
        route.fallback()


def test_scenarios_that_cannot_be_loaded_are_a_sentence_until_they_can(
    served: Served, page: Page
) -> None:
    page.route("**/scenarios", lambda route: route.fulfill(status=500, json={"detail": "No disk."}))
    page.goto(served.url)
    expect(page.locator("main .problem")).to_contain_text("No disk.")
    expect(page.get_by_role("button", name="Run quickstart")).to_be_enabled()
    page.unroute("**/scenarios")
    with live_run(served.store, reported=6) as live:
        wait_for_points(page, 6)
        live.finish()
    expect(page.locator("#begin")).to_contain_text("scenarios")
    expect(page.locator("main .problem")).to_have_count(0)
