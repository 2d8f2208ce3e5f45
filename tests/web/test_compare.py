"""The view Compare in a real browser: tables, ratios, charts, recoveries, what differs."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from netkv.metrics.common import MIB
from netkv.report.style import of_scheme
from netkv.runs import StoreSink
from netkv.runs.compare import compare
from netkv.scenarios.results import Violation
from tests.api.serving import Served
from tests.runs.recorded_runs import (
    CONTROL,
    record,
    record_comparison,
    record_no_recovery,
    record_recovery,
    record_sweep,
    result,
    samples,
    start,
)
from tests.web.charts import (
    COUNT,
    FILL_OF_BARS,
    HOLD_FRAMES,
    LOOK_OF_LINES,
    STROKE_OF_LINES,
    STROKE_OF_SWATCHES,
    UNNAMED,
    rgb,
    traces,
    wait_for_traces,
)
from tests.web.live_runs import live_run, pressed_until_answer

RANGE = "id => document.getElementById(id).layout?.xaxis.range ?? []"
"""Nothing while plotly draws the chart."""


def show(page: Page, served: Served, ids: list[str], **query: str) -> None:
    """Open the view with these runs."""
    parameters = [*(("run", run) for run in ids), *query.items()]
    page.goto(f"{served.url}/#/compare?{'&'.join(f'{name}={value}' for name, value in parameters)}")


def shapes(page: Page) -> list[tuple[float, float]]:
    """The shaded ranges of the chart over time."""
    wait = "document.getElementById('overlay').layout.shapes.map(each => [each.x0, each.x1])"
    return [(first, last) for first, last in page.evaluate(wait)]


def test_comparison_is_shown_with_all_charts(served: Served, page: Page) -> None:
    ids = record_comparison(served.store)
    show(page, served, ids)
    wait_for_traces(page, "overlay", 2)
    assert [trace["name"] for trace in traces(page, "overlay")] == ["nocache", "netcache"]
    assert traces(page, "overlay")[0]["points"] == 23
    row = page.locator("#comparison tbody tr").nth(1)
    expect(row).to_contain_text("netcache")
    expect(row).to_contain_text("2.61")
    expect(row).to_contain_text("48.1%")
    expect(page.locator("#verdicts")).to_contain_text("met")
    expect(page.locator("#events")).to_contain_text("servers-0 was killed.")
    wait_for_traces(page, "hits", 1)
    assert [trace["name"] for trace in traces(page, "hits")] == ["netcache"]
    wait_for_traces(page, "load", 2)
    assert traces(page, "load")[1]["points"] == 8
    wait_for_traces(page, "ccdf", 2)
    axes = page.evaluate(
        "['xaxis', 'yaxis'].map(axis => document.getElementById('ccdf').layout[axis].type)"
    )
    assert axes == ["log", "log"]


def test_numbers_are_those_of_the_document(served: Served, page: Page) -> None:
    ids = record_comparison(served.store, repeats=3)
    show(page, served, ids)
    expected = compare(served.store.comparable(ids)).rows[1]
    row = page.locator("#comparison tbody tr").nth(1)
    for value in (expected.throughput_ops, expected.ratio):
        assert value is not None
        cell = row.locator(f"td[title='{value.mean} ± {value.ci95}']")
        expect(cell).to_have_count(1)
    expect(row).to_contain_text(f"{expected.throughput_ops.mean:,.0f}")
    expect(row).to_contain_text(f"± {expected.throughput_ops.ci95:,.0f}")


def test_time_for_which_a_server_was_down_is_shaded(served: Served, page: Page) -> None:
    show(page, served, record_comparison(served.store))
    wait_for_traces(page, "overlay", 2)
    assert shapes(page) == [(-3, 0), (10, 12)]


def test_recovery_is_shaded_and_its_phases_have_a_bar(served: Served, page: Page) -> None:
    with StoreSink(served.store) as sink:
        record_recovery(sink, start("r1", "netcache"), collect=0.5, restore=0.25)
    show(page, served, ["r1"])
    wait_for_traces(page, "overlay", 1)
    assert shapes(page) == [(-3, 0), (4, 5), (5, 6)]
    row = page.locator("#recoveries tbody tr")
    expect(row).to_have_count(1)
    for text in ("netcache", "750.00 ms", "500.00 ms", "250.00 ms"):
        expect(row).to_contain_text(text)
    widths = row.locator(".phases span").evaluate_all("all => all.map(e => e.style.width)")
    assert [float(width.removesuffix("%")) for width in widths] == pytest.approx([66.7, 33.3], 0.01)
    samples_of = (
        "all => all.map(each => [each.className.split(' ')[1], each.parentElement.innerText])"
    )
    headings = page.locator("#recoveries th .phase-sample").evaluate_all(samples_of)
    assert headings == [["phase-0", "collect"], ["phase-1", "restore"]]
    expect(page.locator("#events")).to_contain_text("recovered in 0.75 s")


def test_unrecovered_switch_is_named_and_shaded_to_the_end(served: Served, page: Page) -> None:
    with StoreSink(served.store) as sink:
        record_no_recovery(sink, start("r1", "netcache"))
    show(page, served, ["r1"])
    wait_for_traces(page, "overlay", 1)
    expect(page.locator("#recoveries tbody tr")).to_contain_text("not recovered by the end")
    assert (5, 20) in shapes(page)


def test_run_is_left_out_by_its_chip(served: Served, page: Page) -> None:
    ids = record_comparison(served.store)
    show(page, served, ids)
    wait_for_traces(page, "overlay", 2)
    page.locator(f"#without-{ids[0]}").click()
    wait_for_traces(page, "overlay", 1)
    expect(page.locator("#comparison tbody tr")).to_have_count(1)
    assert ids[0] not in page.url


def test_reload_shows_the_same_comparison(served: Served, page: Page) -> None:
    ids = record_comparison(served.store)
    show(page, served, ids)
    page.locator("#baseline").select_option(label="netcache")
    row = page.locator("#comparison tbody tr").first
    expect(row).to_contain_text(re.compile(r"0\.38"))
    page.locator("#metric").select_option(label="Control plane (MiB/s)")
    page.wait_for_function("() => document.getElementById('overlay').data?.[1]?.y.at(-1) < 1")
    page.reload()
    expect(row).to_contain_text(re.compile(r"0\.38"))
    expect(page.locator("#baseline")).to_have_value("netcache")
    expect(page.locator("#metric")).to_have_value("control_plane_mib_per_s")
    wait_for_traces(page, "overlay", 2)
    assert traces(page, "overlay")[1]["last"] == pytest.approx(CONTROL / MIB)


def test_pinned_run_can_be_the_baseline(served: Served, page: Page) -> None:
    old, _ = record_comparison(served.store, "gold")
    served.store.pin([old], pinned=True)
    with StoreSink(served.store, group="gnew") as sink:
        record(sink, start("newer", "netcache", started_at=1_795_000_000.0))
    show(page, served, ["newer"])
    expect(page.locator("#comparison tbody tr")).to_have_count(1)
    page.locator("#baseline").select_option(old)
    expect(page.locator("#comparison tbody tr")).to_have_count(2)
    expect(page.locator("#comparison tbody tr").first).to_contain_text("2.61")


def test_wrong_baseline_or_run_is_explained(served: Served, page: Page) -> None:
    ids = record_comparison(served.store)
    show(page, served, [*ids, "nope"], baseline="netcash")
    expect(page.locator("#notes")).to_contain_text("There is no run 'nope'")
    expect(page.locator("#notes")).to_contain_text("neither a scheme nor a run")
    wait_for_traces(page, "overlay", 2)


def test_only_settings_that_differ_are_listed(served: Served, page: Page) -> None:
    show(page, served, record_sweep(served.store))
    table = page.locator("#differences tbody tr")
    expect(table).to_have_count(1)
    expect(table).to_contain_text("workload.zipf")
    expect(table.locator("td")).to_have_text(["0.9", "0.9", "0.99", "0.99"])


def test_live_samples_appear_without_a_reload(served: Served, page: Page) -> None:
    with live_run(served.store, reported=4) as live:
        show(page, served, ["live"])
        wait_for_traces(page, "overlay", 1)
        page.evaluate(HOLD_FRAMES)
        live.report(10)
        page.wait_for_function(
            "() => { nextFrame();"
            f" return ({COUNT})(document.getElementById('overlay').data[0]) === 10; }}",
            polling=100,
        )
        assert traces(page, "overlay")[0]["last"] == live.feed[9].throughput_ops
        # Each frame draws a chart at most once, however many samples have arrived.
        assert 1 <= page.evaluate("mostDrawn") <= 4
    expect(page.locator("#comparison")).to_contain_text("live")
    expect(page.locator("#comparison")).to_contain_text("failed")


def test_click_is_not_lost_when_a_run_ends_meanwhile(served: Served, page: Page) -> None:
    others = record_comparison(served.store)
    with live_run(served.store, reported=6) as live:
        show(page, served, ["live", *others])
        wait_for_traces(page, "overlay", 3)
        with pressed_until_answer(page, f"#without-{others[0]}", "**/compare?*"):
            live.finish()
        expect(page.locator(".chip")).to_have_count(2)
        expect(page.locator("#comparison")).to_contain_text("live")


def test_long_name_of_a_metric_is_not_wider_than_a_phone(served: Served, page: Page) -> None:
    run = start("long", "farreach")
    with StoreSink(served.store) as sink:
        sink.begin(run)
        for sample in samples(run):
            sink.sample(run.id, sample.model_copy(update={"preserved": 7}))
    page.set_viewport_size({"width": 390, "height": 844})
    show(page, served, ["long"], metric="preserved")
    wait_for_traces(page, "overlay", 1)
    expect(page.locator("#metric")).to_have_value("preserved")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_zoom_of_one_chart_is_that_of_all_until_it_is_reset(served: Served, page: Page) -> None:
    show(page, served, record_comparison(served.store))
    wait_for_traces(page, "overlay", 2)
    area = page.locator("#overlay .nsewdrag").bounding_box()
    assert area is not None
    left, right, middle = (area["x"] + area["width"] * part for part in (0.3, 0.6, 0.5))
    height = area["y"] + area["height"] / 2
    page.mouse.move(left, height)
    page.mouse.down()
    page.mouse.move(middle, height, steps=5)
    page.mouse.move(right, height, steps=5)
    page.mouse.up()
    page.wait_for_function(f"() => ({RANGE})('overlay')[0] > 0")
    chosen = page.evaluate(RANGE, "overlay")
    wait_for_traces(page, "hits", 1)
    page.wait_for_function(f"from => ({RANGE})('hits')[0] === from", arg=chosen[0])
    assert page.evaluate(RANGE, "hits") == chosen
    # A link shows the same part, to milliseconds.
    query = parse_qs(urlsplit(page.url).fragment.partition("?")[2])
    begin, end = (float(part) for part in query["zoom"][0].split(","))
    assert (begin, end) == pytest.approx(tuple(chosen), abs=0.0005)
    page.reload()
    wait_for_traces(page, "overlay", 2)
    assert page.evaluate(RANGE, "overlay") == [begin, end]
    page.get_by_role("button", name="Over time: show everything again").wait_for()
    page.get_by_role("button", name="Hit ratio: show everything again").click()
    page.wait_for_function(f"() => ({RANGE})('overlay')[0] < 0")
    page.wait_for_function(f"() => ({RANGE})('hits')[0] < 0")
    expect(page.get_by_text("Reset zoom").locator("visible=true")).to_have_count(0)
    assert "zoom" not in page.url


def test_failed_and_cancelled_runs_are_named(served: Served, page: Page) -> None:
    with StoreSink(served.store) as sink:
        for name, status in (("bad", "failed"), ("stopped", "cancelled")):
            run = start(name, "netcache", started_at=1_790_000_000.0)
            sink.begin(run)
            for sample in list(samples(run))[:9]:
                sink.sample(run.id, sample)
            ended = result(run, list(samples(run))[3:9])
            sink.finish(ended.model_copy(update={"status": status, "reason": "It broke."}))
    show(page, served, ["bad", "stopped"])
    expect(page.locator("#comparison .problem")).to_have_text("netcache failed: It broke.")
    expect(page.locator("#comparison")).to_contain_text("netcache was cancelled")


def test_violations_are_shown_with_how_to_replay(served: Served, page: Page) -> None:
    violation = Violation.model_validate(
        {
            "key": "0" * 32,
            "kind": "stale-read",
            "text": "Client 2 read the initial value.",
            "operations": [
                {
                    "client": 2,
                    "request": 7,
                    "what": "get",
                    "result": "initial value",
                    "start_ns": 5_000,
                    "end_ns": 9_000,
                }
            ],
        }
    )
    with StoreSink(served.store) as sink:
        run = start("wrong", "netcache", mode="sim", seed=5)
        sink.begin(run)
        found = list(samples(run))
        for sample in found:
            sink.sample(run.id, sample)
        changes: dict[str, Any] = {"linearizable": False, "violation_count": 1}
        ended = result(run, found[3:]).model_dump()
        sink.finish(
            type(result(run, found[3:])).model_validate(
                {**ended, **changes, "violations": [violation]}
            )
        )
    show(page, served, ["wrong"])
    shown = page.locator("#violations")
    expect(shown).to_contain_text("stale-read on key 00000000")
    expect(shown).to_contain_text("0.0 to 4.0")
    expect(shown).to_contain_text(
        "Seed 5 replays it exactly: "
        "netkv scenario run quickstart --scheme netcache --mode sim --seed 5"
    )


def test_text_of_a_run_never_becomes_markup(served: Served, page: Page) -> None:
    nasty = "<img src=x onerror=alert(1)>"
    with StoreSink(served.store) as sink:
        record(sink, start("nasty", title=nasty, params={nasty: nasty}))
    show(page, served, ["nasty"])
    wait_for_traces(page, "overlay", 1)
    expect(page.locator("#title")).to_have_text(nasty)
    expect(page.locator("#comparison tbody tr")).to_contain_text(nasty)
    assert page.locator("main img").count() == 0


def test_controls_have_labels_and_charts_have_tables(served: Served, page: Page) -> None:
    ids = record_comparison(served.store)
    show(page, served, ids)
    wait_for_traces(page, "overlay", 2)
    assert page.evaluate(UNNAMED) == []
    card = page.locator("section", has=page.locator("#overlay"))
    card.get_by_text("Numbers").click()
    columns, _ = served.store.series(ids[0])
    first = card.locator("tbody tr").first
    expect(first).to_contain_text(str(columns["throughput_ops"][0]))


def test_mode_is_shown_with_the_scheme(served: Served, page: Page) -> None:
    show(page, served, record_sweep(served.store, mode="sim"))
    expect(page.locator("#comparison tbody tr").first.locator("td").first).to_contain_text("sim")
    expect(page.locator(".chip").first).to_contain_text("nocache (sim) · zipf 0.9")
    wait_for_traces(page, "overlay", 4)
    axis = page.evaluate("document.getElementById('overlay').layout.xaxis.title.text")
    assert axis == "virtual seconds"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_scheme_has_the_same_colour_in_every_chart(served: Served, page: Page, theme: str) -> None:
    page.add_init_script(f"localStorage.setItem('theme', '{theme}')")
    show(page, served, record_sweep(served.store))
    wait_for_traces(page, "overlay", 4)
    nocache, netcache = (rgb(of_scheme(name).colour) for name in ("nocache", "netcache"))
    assert page.evaluate(STROKE_OF_LINES, "overlay") == 2 * [nocache, netcache]
    wait_for_traces(page, "hits", 2)
    assert page.evaluate(STROKE_OF_LINES, "hits") == 2 * [netcache]
    wait_for_traces(page, "load", 4)
    assert page.evaluate(FILL_OF_BARS, "load") == 2 * [nocache, netcache]
    wait_for_traces(page, "ccdf", 4)
    assert page.evaluate(STROKE_OF_LINES, "ccdf") == 2 * [nocache, netcache]
    expect(page.locator("#comparison tbody tr")).to_have_count(4)
    for place in ("#compared", "#comparison"):
        assert page.evaluate(STROKE_OF_SWATCHES, place) == 2 * [nocache, netcache]
    assert len(set(page.evaluate(LOOK_OF_LINES, "overlay"))) == 4, "the runs are distinguishable"
    # The colours do not change when a run is removed.
    page.locator("[id='without-nocache-0.9']").click()
    wait_for_traces(page, "overlay", 3)
    assert page.evaluate(STROKE_OF_LINES, "overlay") == [netcache, nocache, netcache]


def test_more_runs_than_colours_have_distinct_lines(served: Served, page: Page) -> None:
    ids = []
    with StoreSink(served.store, group="gmany") as sink:
        for repeat in range(6):
            for scheme in ("nocache", "netcache"):
                run = start(f"{scheme}-{repeat}", scheme, repeat=repeat, seed=repeat + 1)
                record(sink, run)
                ids.append(run.id)
    show(page, served, ids)
    wait_for_traces(page, "overlay", 12)
    assert len(set(page.evaluate(LOOK_OF_LINES, "overlay"))) == 12


def test_ratios_do_not_depend_on_the_order_of_runs(served: Served, page: Page) -> None:
    show(page, served, record_sweep(served.store)[::-1])
    expect(page.locator("#comparison th").nth(2)).to_have_text("ratio to nocache")
    expect(page.locator("#comparison p.hint")).to_contain_text(
        "Ratios are to nocache, the first scheme of 'quickstart', at the same sweep point."
    )
    rows = page.locator("#comparison tbody tr")
    expect(rows).to_have_count(4)
    found = {row.split()[0]: row for row in rows.all_inner_texts()}
    assert "1.00" in found["nocache"]
    assert "2.6" in found["netcache"]


def test_without_runs_the_newest_groups_are_offered(served: Served, page: Page) -> None:
    record_comparison(served.store)
    page.goto(f"{served.url}/#/compare")
    page.get_by_role("link", name="NetCache against NoCache").click()
    wait_for_traces(page, "overlay", 2)


def test_line_is_a_step_over_each_interval_with_gaps(served: Served, page: Page) -> None:
    """A value is about the time before it; where there is no sample, there is no line."""
    page.goto(served.url)
    found = page.evaluate(
        """async () => {
            const { stepped } = await import("/js/parts/steps.js");
            const over = { x: [1, 2.01, 5, 6, 7], lengths: [1, 1, 1, 1, 1] };
            const five = { y: [9, 8, 7, null, 6], text: ["a", "b", "c", "", "e"] };
            const line = stepped({ ...over, ...five });
            const area = stepped({ ...over, y: [1, 1, 1, null, 1], below: [2, 2, 2, null, 2] });
            const map = stepped({ ...over, y: [0], z: [[5, 4, 3, 2, 1]] });
            const { x, y, text } = line;
            return { x, y, text, shape: line.line.shape, area: area.y, edges: map.x, z: map.z[0] };
        }"""
    )
    assert list(zip(found["x"], found["y"], strict=True)) == [
        (0, 9), (1, 9), (2.01, 8), (4, None), (4, 7), (5, 7), (6, None), (6, 6), (7, 6),
    ]  # fmt: skip
    assert found["shape"] == "vh"
    assert found["text"][-1] == found["text"][-2] == "e"
    assert found["area"] == [3, 3, 3, None, 3, 3, None, 3, 3]
    assert found["edges"] == [0, 1, 2.01, 4, 5, 6, 7]
    assert found["z"] == [5, 4, None, 3, 2, 1]
