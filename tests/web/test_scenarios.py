"""The view Scenarios: list, form and text in step, plan, run, and the matrix of a sweep."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from netkv.runs import StoreSink
from tests.api.serving import Served
from tests.runs.recorded_runs import record, start

OWN = """\
# Mine.
name: mine
title: Of my own
schemes: [nocache]
workload: {zipf: 0.5}
"""


def ready(page: Page) -> None:
    """Waits until the scenario is checked and its plan is shown."""
    expect(page.locator("#plan table")).to_be_visible()


def opened(served: Served, page: Page, address: str) -> None:
    page.goto(f"{served.url}/#/scenarios/{address}")
    ready(page)


@pytest.mark.usefixtures("slow_runner")
def test_newcomer_starts_and_cancels_quickstart_from_the_list(
    served: Served, page: Page, tmp_path: Path
) -> None:
    (tmp_path / "hold").touch()
    page.goto(served.url)
    page.get_by_role("link", name="Scenarios").first.click()
    first = page.locator(".scenario").first
    expect(first).to_contain_text("NoCache against NetCache")
    expect(first).to_contain_text(re.compile(r"2 runs · about 3\d s here \(estimated\)"))
    first.get_by_role("button", name="Run quickstart").click()
    page.wait_for_url("**/#/live/*")
    expect(page.locator("#activity")).to_contain_text("Running quickstart")
    expect(page.locator("#cell-0")).to_have_class(re.compile("status-running"))
    page.locator("#cancel").click()
    expect(page.locator("#activity")).to_contain_text("Nothing is running.")
    expect(page.locator("#job")).to_contain_text("cancelled")


def test_list_is_searched_and_the_search_is_in_the_address(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/#/scenarios?q=skew&mode=sim")
    cards = page.locator(".scenario")
    expect(page.locator("#scenario-netcache-skew")).to_be_visible()
    expect(page.locator("#scenario-quickstart")).to_have_count(0)
    before = cards.count()
    page.locator("#of-scheme").select_option("farreach")
    expect(page.locator("#scenario-netcache-skew")).to_have_count(0)
    assert cards.count() < before
    assert "scheme=farreach" in page.url
    page.locator("#find").fill("no such thing")
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("#scenario-quickstart")).to_be_visible()


def test_form_changes_the_text_and_keeps_its_comments(served: Served, page: Page) -> None:
    opened(served, page, "quickstart")
    text = page.locator("#yaml")
    page.get_by_label("Duration s", exact=True).fill("5")
    expect(text).to_have_value(re.compile(r"\nduration: 5\n"))
    expect(text).to_have_value(re.compile(r"# A write makes its key invalid in the switch"))
    expect(page.locator(".behind .changed")).to_have_count(1)
    page.locator("#option-mode").select_option(label="sim")
    expect(text).to_have_value(re.compile(r"schemes: \[nocache, netcache\]\nmode: sim\n"))
    expect(page.locator("#facts")).to_contain_text("simulated")
    page.locator("[id='option-workload.arrivals']").select_option(label="poisson")
    page.locator("[id='option-workload.arrivals.rate']").fill("700")
    expect(text).to_have_value(re.compile(r"  arrivals: \{rate: 700\}\n"))
    assert set(re.findall(r"set=([^&]+)", page.url)) == {
        "duration%3D5",
        "mode%3Dsim",
        "workload.arrivals%3D%7Brate%3A+700%7D",
    }
    page.locator("#undo").click()
    expect(page.locator("#option-duration")).to_have_value("12")
    assert page.url.endswith("#/scenarios/quickstart")


def test_text_changes_the_form(served: Served, page: Page) -> None:
    opened(served, page, "quickstart")
    text = page.locator("#yaml")
    text.fill(text.input_value().replace("servers: 8", "servers: 4"))
    expect(page.locator("[id='option-lab.servers']")).to_have_value("4")
    assert "set=lab.servers%3D4" in page.url
    text.fill(text.input_value().replace("{outstanding: 8}", "{rate: 100}") + "# done\n")
    expect(page.locator("[id='option-workload.arrivals.rate']")).to_have_value("100")
    expect(text).to_have_value(re.compile("# done\n$"))


def test_error_stands_at_the_field_and_at_the_line(served: Served, page: Page) -> None:
    opened(served, page, "quickstart")
    page.locator("[id='option-workload.zipf']").fill("3")
    sentence = "less than or equal to 1.2"
    error = page.locator("[id='option-workload.zipf-error']")
    expect(error).to_contain_text(sentence)
    expect(page.locator("[id='option-workload.zipf']")).to_have_attribute("aria-invalid", "true")
    wrong = page.locator(".behind .wrong")
    expect(wrong).to_contain_text("zipf: 3")
    expect(wrong).to_contain_text(sentence)
    expect(page.locator("#run")).to_be_disabled()
    page.locator("#errors").get_by_role("button", name="workload.zipf").click()
    expect(page.locator("[id='option-workload.zipf']")).to_be_focused()
    page.keyboard.type("0.9")
    page.locator("[id='option-workload.zipf']").fill("0.9")
    ready(page)
    expect(error).to_be_hidden()


def test_misspelt_option_and_wrong_yaml_are_marked_at_the_line(served: Served, page: Page) -> None:
    opened(served, page, "quickstart")
    text = page.locator("#yaml")
    right = text.input_value()
    text.fill(right.replace("zipf:", "zipff:"))
    expect(page.locator("#errors")).to_contain_text("Did you mean 'zipf'?")
    expect(page.locator(".behind .wrong")).to_contain_text("zipff: 0.99")
    text.fill(right.replace("[nocache, netcache]", "[nocache, netcache"))
    expect(page.locator("#errors")).to_contain_text("is not YAML")
    expect(page.locator(".behind .wrong")).to_have_count(1)
    text.fill(right)
    ready(page)


@pytest.mark.usefixtures("slow_runner")
def test_only_chosen_schemes_are_run(served: Served, page: Page) -> None:
    opened(served, page, "quickstart")
    page.locator("#scheme-nocache").uncheck()
    text = page.locator("#yaml")
    expect(text).to_have_value(re.compile(r"schemes: \[netcache\]"))
    expect(text).not_to_have_value(re.compile(r"nocache\.stale_reads"))
    expect(page.locator("#facts")).to_contain_text("1 run ")
    page.locator("#run").click()
    page.wait_for_url("**/#/live/*")
    expect(page.locator("#job")).to_contain_text("1 run")


def test_options_of_schemes_that_are_not_chosen_are_hidden(served: Served, page: Page) -> None:
    opened(served, page, "quickstart")
    entries = page.locator("[id='option-lab.cache_entries']")
    expect(entries).to_be_visible()
    page.locator("#scheme-netcache").uncheck()
    expect(entries).to_be_hidden()
    expect(page.locator("#yaml")).not_to_have_value(re.compile("cache_entries"))


def test_link_restores_changes_and_command_line_has_them(served: Served, page: Page) -> None:
    opened(served, page, "quickstart?set=duration%3D5&set=lab.servers%3D4")
    expect(page.locator("#option-duration")).to_have_value("5")
    expect(page.locator("#yaml")).to_have_value(re.compile("  servers: 4\n"))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#copy-command").click()
    expect(page.locator("#note")).to_contain_text("copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "netkv scenario run quickstart --set lab.servers=4 --set duration=5"


def test_link_restores_an_own_text(served: Served, page: Page) -> None:
    opened(served, page, "new")
    page.locator("#yaml").fill(OWN)
    expect(page.locator("h1")).to_have_text("Of my own")
    page.wait_for_function("() => location.hash.includes('yaml=')")
    ready(page)
    page.reload()
    expect(page.locator("#yaml")).to_have_value(OWN)
    damaged = page.url[:-12]
    page.goto("about:blank")
    page.goto(damaged)
    expect(page.locator("#errors")).to_contain_text("The scenario in this address is damaged")


@pytest.mark.usefixtures("nothing_is_built")
def test_time_of_a_build_is_named_before_the_run(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/#/scenarios/lake-clock")
    expect(page.locator("#facts")).to_contain_text("with 50 s to build FPGA designs)")


def test_plan_and_warnings_are_shown_before_the_run(served: Served, page: Page) -> None:
    opened(served, page, "netcache-skew")
    rows = page.locator("#plan tbody tr")
    expect(rows).to_have_count(5)
    expect(rows.first).to_contain_text("zipf 0")
    expect(page.locator("#facts")).to_contain_text(re.compile(r"8 runs · about .* \(estimated\)"))
    expect(page.locator("#facts")).to_contain_text("16 s of virtual time")
    page.goto(f"{served.url}/#/scenarios/quickstart?set=workload.arrivals.rate%3D90000")
    expect(page.locator("#warnings")).to_contain_text("90,000")


def test_option_is_swept_from_the_form(served: Served, page: Page) -> None:
    opened(served, page, "quickstart")
    page.locator("#sweep-path").fill("workload.zipf")
    page.keyboard.press("Enter")
    values = page.locator("[id='option-sweep.workload.zipf']")
    expect(values).to_have_value("0.99")
    expect(values).to_be_focused()
    values.fill("0.5, 0.9, 0.99")
    expect(page.locator("#plan tbody tr")).to_have_count(4)
    expect(page.locator("#yaml")).to_have_value(re.compile(r"zipf: \[0.5, 0.9, 0.99\]"))
    page.locator("#option-repeat").fill("900")
    expect(page.locator("#errors")).to_contain_text("has 5,400 runs; at most 2,000 are possible")


def test_events_are_changed_and_drawn(served: Served, page: Page) -> None:
    opened(served, page, "switch-crash")
    picture = page.locator(".timeline svg")
    expect(picture).to_have_attribute("aria-label", re.compile("kill switch at 4 s"))
    expect(picture.locator(".outage")).to_have_count(2)
    page.locator("[id='option-events.1.at']").fill("7")
    expect(page.locator("#yaml")).to_have_value(re.compile(r"\{at: 7, start: switch\}"))
    expect(picture).to_have_attribute("aria-label", re.compile("start switch at 7 s"))
    page.get_by_role("button", name="Remove event 4").click()
    page.get_by_role("button", name="Remove event 3").click()
    expect(picture.locator(".outage")).to_have_count(1)
    page.locator("#add-events").click()
    page.locator("#event-2-action").select_option("rate")
    page.locator("[id='option-events.2.rate']").fill("100")
    expect(page.locator("#yaml")).to_have_value(re.compile(r"- \{at: 8, rate: 100\}"))
    page.locator("[id='option-events.2.at']").fill("9")
    expect(page.locator("#yaml")).to_have_value(re.compile(r"- \{at: 9, rate: 100\}"))
    page.locator("#event-2-action").select_option("stop")
    expect(page.locator("#yaml")).to_have_value(re.compile(r"- \{at: 9, stop: switch\}"))


def test_form_works_with_the_keyboard_alone(served: Served, page: Page) -> None:
    opened(served, page, "quickstart")
    unnamed = page.evaluate(
        "[...document.querySelectorAll('main button, main input, main select, main textarea')]"
        ".filter(e => !e.labels?.length && !e.textContent.trim() && !e.ariaLabel)"
        ".map(e => e.outerHTML)"
    )
    assert unnamed == []
    page.locator("#option-duration").focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("7")
    page.keyboard.press("Tab")
    expect(page.locator("#yaml")).to_have_value(re.compile(r"\nduration: 7\n"))
    page.keyboard.press("Tab")
    page.locator("#scheme-farreach").focus()
    page.keyboard.press("Space")
    expect(page.locator("#yaml")).to_have_value(re.compile("netcache, farreach"))
    expect(page.locator("#scheme-farreach")).to_be_focused()


@pytest.mark.usefixtures("slow_runner")
def test_own_file_is_opened_and_run(served: Served, page: Page, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(OWN, encoding="utf-8")
    page.goto(f"{served.url}/#/scenarios")
    page.locator("#file").set_input_files(file)
    expect(page.locator("#yaml")).to_have_value(OWN)
    ready(page)
    page.locator("#run").click()
    page.wait_for_url("**/#/live/*")
    job = page.url.rsplit("/", 1)[1]
    found = json.loads(page.request.get(f"{served.url}/api/v1/jobs/{job}").text())
    assert found["request"] == {"yaml": OWN}
    assert found["title"] == "mine"


def test_live_rack_is_run_from_the_page(served: Served, page: Page) -> None:
    changes = ("warmup=1", "duration=4", "lab.servers=4", "workload.keys=2000")
    query = "&".join(f"set={change}" for change in (*changes, "lab.cache_entries=200", "expect=[]"))
    opened(served, page, f"quickstart?{query}")
    page.locator("#run").click()
    page.wait_for_url("**/#/live/*")
    expect(page.locator("#cell-1")).to_have_class(re.compile("status-done"))
    expect(page.locator("#activity")).to_contain_text("Nothing is running.")
    heads = {head.scheme: head for head in served.store.heads()}
    assert heads["netcache"].status == "done"
    assert heads["netcache"].acked_writes_lost == 0
    shown = page.locator("#cell-1 .result")
    expect(shown).to_have_text(f"{heads['netcache'].throughput_ops:,.0f} ops/s")


def test_sweep_of_two_options_is_a_grid_with_results_so_far(served: Served, page: Page) -> None:
    points = [
        {"workload.zipf": zipf, "lab.servers": servers}
        for zipf in (0.9, 0.99)
        for servers in (2, 8)
    ]
    plan: list[dict[str, Any]] = [
        {"scheme": scheme, "params": point, "repeat": 0}
        for point in points
        for scheme in ("nocache", "netcache")
    ]
    with StoreSink(served.store, group="gsweep") as sink:
        sink.plan(plan)
        for index, cell in enumerate(plan[:4]):
            record(sink, start(f"run-{index}", cell["scheme"], params=cell["params"]))
        sink.begin(start("run-4", plan[4]["scheme"], params=plan[4]["params"]))
        run = {"index": 4, "scheme": "nocache", "phase": "measure", "fraction": 0.1, "share": 0.3}
        sink.progress(
            {
                "done": 4,
                "total": 8,
                "fraction": 0.5,
                "left_seconds": 60.0,
                "phase": "measure",
                "runs": [run],
                "updated_at": time.time(),
            }
        )
        page.goto(f"{served.url}/#/live/gsweep")
        grids = page.locator(".grid-of-runs")
        expect(grids).to_have_count(2)
        expect(grids.first.locator("caption")).to_contain_text("nocache")
        expect(grids.first.locator("thead th")).to_have_text([re.compile("zipf"), "2", "8"])
        expect(page.locator("#cell-0 .result")).to_contain_text("ops/s")
        expect(page.locator("#cell-4 .result")).to_have_text("30%")
        expect(page.locator("#cell-7")).to_be_disabled()
        page.wait_for_function("() => document.getElementById('sweep').data?.length === 4")
        ticks = page.evaluate("document.getElementById('sweep').layout.xaxis.tickvals")
        assert ticks == [0.9, 0.99]
        lines = page.evaluate(
            "document.getElementById('sweep').data.map(each => [each.name, ...each.y])"
        )
        figures = {head.id: head.throughput_ops for head in served.store.heads()}
        assert lines == [
            ["nocache · servers 2", figures["run-0"]],
            ["netcache · servers 2", figures["run-1"]],
            ["nocache · servers 8", figures["run-2"]],
            ["netcache · servers 8", figures["run-3"]],
        ], "to the digit"
        page.locator("#sweep-metric").select_option("latency_p99_us")
        assert "metric=latency_p99_us" in page.url
        page.reload()
        expect(page.locator("#sweep-metric")).to_have_value("latency_p99_us")
