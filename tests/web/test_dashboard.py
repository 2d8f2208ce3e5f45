"""The dashboard in a real browser: charts, tables, starting and stopping runs, export."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from netkv.metrics.common import MIB
from netkv.report.style import of_scheme
from netkv.runs import StoreSink
from tests.api.serving import Served
from tests.fpga.bench import CACHE
from tests.fpga.live_ends import Ends, running
from tests.runs.recorded_runs import (
    CONTROL,
    record,
    record_comparison,
    record_no_recovery,
    record_recovery,
    samples,
    start,
)


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


def test_newest_comparison_is_shown_with_all_charts(served: Served, page: Page) -> None:
    record_comparison(served.store)
    page.goto(served.url)
    wait_for_traces(page, "throughput", 2)
    assert [trace["name"] for trace in traces(page, "throughput")] == ["nocache", "netcache"]
    assert traces(page, "throughput")[0]["points"] == 23
    assert [trace["name"] for trace in traces(page, "hits")] == ["netcache"]
    assert traces(page, "load")[1]["points"] == 8
    assert len(traces(page, "latency")) == 2
    row = page.locator("#comparison tbody tr").nth(1)
    expect(row).to_contain_text("netcache")
    expect(row).to_contain_text("2.61")
    expect(row).to_contain_text("48.1%")
    expect(page.locator("#verdicts")).to_contain_text("met")
    expect(page.locator("#events")).to_contain_text("servers-0 was killed.")


def test_time_for_which_a_server_was_down_is_shaded(served: Served, page: Page) -> None:
    record_comparison(served.store)
    page.goto(served.url)
    wait_for_traces(page, "throughput", 2)
    shapes = page.evaluate("document.getElementById('throughput').layout.shapes")
    assert [(shape["x0"], shape["x1"]) for shape in shapes] == [(-3, 0), (10, 12)]


def test_recovery_is_shaded_and_its_phases_have_a_bar(served: Served, page: Page) -> None:
    with StoreSink(served.store) as sink:
        record_recovery(sink, start("r1", "netcache"), collect=0.5, restore=0.25)
    page.goto(served.url)
    wait_for_traces(page, "throughput", 1)
    shapes = page.evaluate("document.getElementById('throughput').layout.shapes")
    assert [(shape["x0"], shape["x1"]) for shape in shapes] == [(-3, 0), (4, 5), (5, 6)]
    row = page.locator("#recoveries tbody tr")
    expect(row).to_have_count(1)
    for text in ("netcache", "750.00 ms", "500.00 ms", "250.00 ms"):
        expect(row).to_contain_text(text)
    widths = row.locator(".phases span").evaluate_all("all => all.map(e => e.style.width)")
    assert [float(width.removesuffix("%")) for width in widths] == pytest.approx([66.7, 33.3], 0.01)
    expect(page.locator("#events")).to_contain_text("recovered in 0.75 s")


def test_unrecovered_switch_is_named_and_shaded_to_the_end(served: Served, page: Page) -> None:
    with StoreSink(served.store) as sink:
        record_no_recovery(sink, start("r1", "netcache"))
    page.goto(served.url)
    wait_for_traces(page, "throughput", 1)
    expect(page.locator("#recoveries tbody tr")).to_contain_text("not recovered by the end")
    shapes = page.evaluate("document.getElementById('throughput').layout.shapes")
    assert (5, 20) in [(shape["x0"], shape["x1"]) for shape in shapes]


def test_checked_runs_are_compared(served: Served, page: Page) -> None:
    record_comparison(served.store, "gold")
    with StoreSink(served.store, group="gnew") as sink:
        record(sink, start("newer", "netcache", started_at=1_795_000_000.0))
    page.goto(served.url)
    wait_for_traces(page, "throughput", 1)
    page.locator("#run-old-nocache-0").check()
    wait_for_traces(page, "throughput", 2)
    expect(page.locator("#comparison tbody tr")).to_have_count(2)
    page.locator("#run-newer").uncheck()
    wait_for_traces(page, "throughput", 1)
    page.locator("#group-gold").click()
    wait_for_traces(page, "throughput", 2)
    expect(page.locator("#run-old-netcache-0")).to_be_checked()
    expect(page.locator("#follow")).not_to_be_checked()


def test_live_samples_appear_without_a_reload(served: Served, page: Page) -> None:
    run = start("live", "netcache")
    feed = list(samples(run))
    with StoreSink(served.store) as sink:
        sink.begin(run)
        for sample in feed[:4]:
            sink.sample(run.id, sample)
        page.goto(served.url)
        wait_for_traces(page, "throughput", 1)
        expect(page.locator("#activity")).to_contain_text("Running quickstart: netcache")
        page.evaluate(HOLD_FRAMES)
        for sample in feed[4:10]:
            sink.sample(run.id, sample)
        page.wait_for_function(
            "() => { nextFrame();"
            " return document.getElementById('throughput').data[0].y.length === 10; }",
            polling=100,
        )
        assert traces(page, "throughput")[0]["last"] == feed[9].throughput_ops
        assert traces(page, "hits")[0]["points"] == 10
        # Each frame draws at most the five charts, however many samples have arrived.
        assert page.evaluate("mostDrawn") == 5
        assert traces(page, "control")[0]["points"] == 10
        assert traces(page, "control")[0]["last"] == pytest.approx(CONTROL / MIB)
    expect(page.locator("#activity")).to_contain_text("Nothing is running.")
    expect(page.locator("#runs")).to_contain_text("failed")


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


def test_text_of_a_run_never_becomes_markup(served: Served, page: Page) -> None:
    nasty = "<img src=x onerror=alert(1)>"
    with StoreSink(served.store) as sink:
        record(sink, start("nasty", title=nasty, params={nasty: nasty}))
    page.goto(served.url)
    wait_for_traces(page, "throughput", 1)
    expect(page.locator("#summary-title")).to_have_text(nasty)
    assert page.locator("main img").count() == 0


def test_page_works_by_keyboard_and_its_controls_have_labels(served: Served, page: Page) -> None:
    record_comparison(served.store)
    page.goto(served.url)
    wait_for_traces(page, "throughput", 2)
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, input, select, textarea')]"
        ".filter(e => !e.labels?.length && !e.textContent.trim() && !e.ariaLabel)"
        ".map(e => e.outerHTML)"
    )
    assert unnamed == []
    page.locator("#run-compared-nocache-0").focus()
    page.keyboard.press("Space")
    wait_for_traces(page, "throughput", 1)
    focused = page.evaluate("document.activeElement.id")
    assert focused == "run-compared-nocache-0", "the list is redrawn and keeps the focus"


def test_theme_is_kept_over_a_reload(served: Served, page: Page) -> None:
    page.goto(served.url)
    page.locator("#theme").click()
    page.locator("#theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_exported_page_draws_its_figures_without_a_network(
    served: Served, page: Page, tmp_path: Any
) -> None:
    from netkv.report.page import render

    ids = record_comparison(served.store, repeats=2)
    file = tmp_path / "report.html"
    file.write_text(render(served.store.records(ids)), encoding="utf-8")
    page.route("**/*", lambda route: route.abort())
    page.set_content(file.read_text(encoding="utf-8"))
    expect(page.locator(".main-svg").first).to_be_visible()
    assert page.locator(".plotly-graph-div").count() == 6
    expect(page.locator("table").first).to_contain_text("2.60x")


PLOTS = [
    {"y": "throughput_ops", "x": "workload.zipf", "title": "Throughput over skew"},
    {"y": "served_by", "x": "workload.zipf", "title": "<i>Who served what</i>"},
    {"y": "cached", "x": "scheme", "relative_to": {"scheme": "farreach"}, "title": "Missing"},
]


def record_sweep(served: Served, mode: str = "live") -> None:
    with StoreSink(served.store, group="gsweep") as sink:
        for at, zipf in enumerate((0.9, 0.99)):
            for later, scheme in enumerate(("nocache", "netcache")):
                run = start(
                    f"{scheme}-{zipf}",
                    scheme,
                    params={"workload.zipf": zipf},
                    parameters={"plots": PLOTS, "schemes": ["nocache", "netcache"]},
                    mode=mode,
                    started_at=1_790_000_000.0 + 20 * at + later,
                )
                record(sink, run)


def test_sweep_shows_the_figures_of_its_scenario(served: Served, page: Page) -> None:
    record_sweep(served)
    page.goto(served.url)
    wait_for_traces(page, "plot-0", 2)
    assert [trace["name"] for trace in traces(page, "plot-0")] == ["NoCache", "NetCache"]
    assert [trace["points"] for trace in traces(page, "plot-0")] == [2, 2]
    assert len(traces(page, "plot-1")) == 3
    heads = page.locator("#plots h2")
    expect(heads).to_have_text(["Throughput over skew", "<i>Who served what</i>"])
    expect(page.locator("#plots")).to_contain_text("'Missing' cannot be drawn")
    assert page.locator("#plots i").count() == 0
    expect(page.locator("#plot-0 .main-svg").first).to_be_visible()
    page.locator("[id='run-netcache-0.99']").uncheck()
    page.wait_for_function("() => document.getElementById('plot-0').data?.[1].y.length === 1")
    for run in ("nocache-0.9", "netcache-0.9", "nocache-0.99"):
        page.locator(f"[id='run-{run}']").uncheck()
    expect(page.locator("#plots")).to_be_hidden()


def test_figure_can_be_downloaded_as_svg_and_png(served: Served, page: Page) -> None:
    record_sweep(served)
    page.goto(served.url)
    for kind in ("SVG", "PNG"):
        link = page.get_by_role("link", name=f"Throughput over skew as {kind}")
        with page.expect_download() as waited:
            link.click()
        download = waited.value
        assert download.suggested_filename == f"throughput-over-skew.{kind.lower()}"
        content = download.path().read_bytes()
        assert content.startswith(b"<?xml" if kind == "SVG" else b"\x89PNG")


def test_figures_have_the_colours_of_the_theme(served: Served, page: Page) -> None:
    record_sweep(served)
    page.goto(served.url)
    wait_for_traces(page, "plot-0", 2)

    def grid() -> str:
        found: str = page.evaluate("document.getElementById('plot-0').layout.yaxis.gridcolor")
        return found

    page.locator("#theme").click()
    light = grid()
    page.locator("#theme").click()
    assert grid() != light


def test_exported_page_has_the_colours_of_the_dashboard(
    served: Served, page: Page, tmp_path: Path
) -> None:
    from netkv.report.page import render

    record_sweep(served)
    file = tmp_path / "report.html"
    ids = [head.id for head in served.store.heads()]
    file.write_text(render(served.store.records(ids)), encoding="utf-8")
    page.set_content(file.read_text(encoding="utf-8"))
    figure = page.locator(".plotly-graph-div", has_text="Who served what")
    expect(figure.locator(".main-svg").first).to_be_visible()
    figure.evaluate("each => { each.id = 'stacked'; }")
    expected = [rgb(of_scheme(name).colour) for name in ("nocache", "netcache", "netcache")]
    assert page.evaluate(FILL_OF_BARS, "stacked") == expected
    expect(page.locator("p").first).to_contain_text("Ratios are to nocache, the first scheme")


def test_estimated_time_of_a_scenario_is_shown(served: Served, page: Page) -> None:
    page.goto(served.url)
    expect(page.locator("#about")).to_contain_text(
        re.compile(r"2 runs, about 3\d s here \(estimated\)\.")
    )
    page.locator("#scenario").select_option("netcache-skew")
    expect(page.locator("#about")).to_contain_text(
        re.compile(r"8 runs, about .* here \(estimated\), 16 s of virtual time\.")
    )


def test_mode_is_shown_with_the_scheme(served: Served, page: Page) -> None:
    record_sweep(served, mode="sim")
    page.goto(served.url)
    expect(page.locator("#comparison tbody tr").first.locator("td").first).to_contain_text("sim")
    expect(page.locator("#runs .name").first).to_have_text("nocache (sim) · zipf 0.9")
    wait_for_traces(page, "throughput", 4)
    axis = page.evaluate("document.getElementById('throughput').layout.xaxis.title.text")
    assert axis == "virtual seconds"


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


def rgb(colour: str) -> str:
    """The colour in the notation of browsers."""
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


def test_parts_of_a_stacked_bar_have_the_schemes_colour(served: Served, page: Page) -> None:
    record_sweep(served)
    page.goto(served.url)
    wait_for_traces(page, "plot-1", 3)
    assert [trace["name"] for trace in traces(page, "plot-1")] == [
        "NoCache",
        "NetCache: servers",
        "NetCache: cache",
    ]
    expected = [rgb(of_scheme(name).colour) for name in ("nocache", "netcache", "netcache")]
    assert page.evaluate(FILL_OF_BARS, "plot-1") == expected


def test_scheme_has_the_same_colour_in_every_chart(served: Served, page: Page) -> None:
    record_sweep(served)
    page.goto(served.url)
    wait_for_traces(page, "plot-0", 2)
    wait_for_traces(page, "throughput", 4)
    wait_for_traces(page, "load", 4)
    nocache, netcache = (rgb(of_scheme(name).colour) for name in ("nocache", "netcache"))
    assert page.evaluate(STROKE_OF_LINES, "plot-0") == [nocache, netcache]
    for chart in ("throughput", "latency"):
        assert page.evaluate(STROKE_OF_LINES, chart) == 2 * [nocache, netcache]
    assert page.evaluate(STROKE_OF_LINES, "hits") == 2 * [netcache]
    assert page.evaluate(FILL_OF_BARS, "load") == 2 * [nocache, netcache]
    expect(page.locator("#comparison tbody tr")).to_have_count(4)
    for place in ("#runs", "#comparison"):
        assert page.evaluate(STROKE_OF_SWATCHES, place) == 2 * [nocache, netcache]
    assert len(set(page.evaluate(LOOK_OF_LINES, "throughput"))) == 4, "the runs are distinguishable"
    # The colours do not change when a run is removed.
    page.locator("[id='run-nocache-0.9']").uncheck()
    wait_for_traces(page, "throughput", 3)
    assert page.evaluate(STROKE_OF_LINES, "throughput") == [netcache, nocache, netcache]


def test_more_runs_than_colours_have_distinct_lines(served: Served, page: Page) -> None:
    with StoreSink(served.store, group="gmany") as sink:
        for repeat in range(6):
            for scheme in ("nocache", "netcache"):
                run = start(f"{scheme}-{repeat}", scheme, repeat=repeat, seed=repeat + 1)
                record(sink, run)
    page.goto(served.url)
    wait_for_traces(page, "throughput", 12)
    assert len(set(page.evaluate(LOOK_OF_LINES, "throughput"))) == 12


def test_ratios_do_not_depend_on_the_order_of_checked_runs(served: Served, page: Page) -> None:
    record_sweep(served)
    page.goto(served.url)
    wait_for_traces(page, "throughput", 4)
    for run in ("nocache-0.9", "nocache-0.99"):
        page.locator(f"[id='run-{run}']").uncheck()
        page.locator(f"[id='run-{run}']").check()
    wait_for_traces(page, "throughput", 4)
    expect(page.locator("#comparison th").nth(2)).to_have_text("ratio to nocache")
    expect(page.locator("#comparison p.hint")).to_contain_text(
        "Ratios are to nocache, the first scheme of 'quickstart', at the same sweep point."
    )
    rows = page.locator("#comparison tbody tr")
    expect(rows).to_have_count(4)
    found = {row.split()[0]: row for row in rows.all_inner_texts()}
    assert "1.00" in found["nocache"]
    assert "2.6" in found["netcache"]


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


def test_designs_and_counters_of_a_running_one_are_shown(
    served: Served, page: Page, tmp_path: Path
) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    (tmp_path / "cache").symlink_to(CACHE)
    page.goto(served.url)
    expect(page.locator("#designs-list")).to_be_hidden()
    page.locator("#designs summary").click()
    row = page.locator("#designs-list tbody tr", has_text="LaKe")
    expect(row).to_contain_text("200 MHz")
    expect(row).to_contain_text("nf0, nf1, nf2, nf3, host")
    shown = page.locator("#designs-running")
    expect(shown).to_contain_text("No design runs.")
    ends = Ends()
    port = f"--port=nf0=udp:{','.join(ends.plug(0))}"
    try:
        with running(tmp_path, tmp_path / "log", "wire", "--name=mine", "--write=mode=0", port):
            expect(shown).to_contain_text("mine wire, 200 MHz")
            for _ in range(3):
                ends.send(0, bytes(70))
            frames = shown.locator("dl div", has_text="frames.0").locator("dd")
            expect(frames).to_have_text("3")
        expect(shown).to_contain_text("No design runs.")
    finally:
        ends.close()
