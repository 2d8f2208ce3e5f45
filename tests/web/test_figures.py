"""The view Figures, and exported pages, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from netkv.report.style import of_scheme
from tests.api.serving import Served
from tests.runs.recorded_runs import record_comparison, record_sweep
from tests.web.charts import FILL_OF_BARS, STROKE_OF_LINES, rgb, traces, wait_for_traces

PLOTS = [
    {"y": "throughput_ops", "x": "workload.zipf", "title": "Throughput over skew"},
    {"y": "served_by", "x": "workload.zipf", "title": "<i>Who served what</i>"},
    {"y": "cached", "x": "scheme", "relative_to": {"scheme": "farreach"}, "title": "Missing"},
]


def show(page: Page, served: Served, ids: list[str]) -> None:
    """Open the view with these runs."""
    page.goto(f"{served.url}/#/figures?{'&'.join(f'run={run}' for run in ids)}")


def test_sweep_shows_the_figures_of_its_scenario(served: Served, page: Page) -> None:
    ids = record_sweep(served.store, plots=PLOTS)
    show(page, served, ids)
    wait_for_traces(page, "plot-0", 2)
    assert [trace["name"] for trace in traces(page, "plot-0")] == ["NoCache", "NetCache"]
    assert [trace["points"] for trace in traces(page, "plot-0")] == [2, 2]
    assert len(traces(page, "plot-1")) == 3
    heads = page.locator("#plots h2")
    expect(heads).to_have_text(["Throughput over skew", "<i>Who served what</i>"])
    expect(page.locator("#notes")).to_contain_text("'Missing' cannot be drawn")
    assert page.locator("#plots i").count() == 0
    expect(page.locator("#plot-0 .main-svg").first).to_be_visible()
    show(page, served, ids[:3])
    page.wait_for_function("() => document.getElementById('plot-0')?.data?.[1].y.length === 1")


@pytest.mark.parametrize(
    ("text", "kind", "begin"),
    [
        ("SVG", "svg", b"<?xml"),
        ("PNG", "png", b"\x89PNG"),
        ("PDF", "pdf", b"%PDF-"),
        ("CSV", "csv", b"Zipf exponent,NoCache,NetCache"),
        ("LaTeX", "tex", b"% Throughput over skew."),
    ],
)
def test_figure_is_downloaded_as_a_file(
    served: Served, page: Page, text: str, kind: str, begin: bytes
) -> None:
    show(page, served, record_sweep(served.store, plots=PLOTS))
    link = page.get_by_role("link", name=f"Throughput over skew as {text}")
    with page.expect_download() as waited:
        link.click()
    assert waited.value.suggested_filename == f"throughput-over-skew.{kind}"
    assert Path(waited.value.path()).read_bytes().startswith(begin)


def test_numbers_of_a_figure_have_all_digits(served: Served, page: Page) -> None:
    ids = record_sweep(served.store, plots=PLOTS)
    show(page, served, ids)
    wait_for_traces(page, "plot-0", 2)
    card = page.locator("section", has=page.locator("#plot-0"))
    card.get_by_text("Numbers").click()
    expect(card.locator("tbody tr")).to_have_count(2)
    expect(card.locator("tbody tr").first).to_contain_text(
        str(served.store.head(ids[0]).throughput_ops)
    )


def test_runs_without_plots_have_the_usual_figures(served: Served, page: Page) -> None:
    show(page, served, record_comparison(served.store))
    expect(page.locator("#plots h2").first).to_have_text("Mean throughput")
    expect(page.locator("#plots")).to_contain_text("Hit ratio over time")


def test_without_runs_the_newest_groups_are_offered(served: Served, page: Page) -> None:
    record_sweep(served.store, plots=PLOTS)
    page.goto(f"{served.url}/#/figures")
    page.get_by_role("link", name="NetCache against NoCache").click()
    wait_for_traces(page, "plot-0", 2)


def test_figures_have_the_colours_of_the_theme(served: Served, page: Page) -> None:
    show(page, served, record_sweep(served.store, plots=PLOTS))
    wait_for_traces(page, "plot-0", 2)

    def grid() -> str:
        found: str = page.evaluate("document.getElementById('plot-0').layout.yaxis.gridcolor")
        return found

    page.locator("#theme").click()
    light = grid()
    page.locator("#theme").click()
    assert grid() != light


def test_parts_of_a_stacked_bar_have_the_schemes_colour(served: Served, page: Page) -> None:
    show(page, served, record_sweep(served.store, plots=PLOTS))
    wait_for_traces(page, "plot-1", 3)
    assert [trace["name"] for trace in traces(page, "plot-1")] == [
        "NoCache",
        "NetCache: servers",
        "NetCache: cache",
    ]
    expected = [rgb(of_scheme(name).colour) for name in ("nocache", "netcache", "netcache")]
    assert page.evaluate(FILL_OF_BARS, "plot-1") == expected
    assert page.evaluate(STROKE_OF_LINES, "plot-0") == expected[:2]


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


def test_exported_page_has_the_colours_of_the_dashboard(
    served: Served, page: Page, tmp_path: Path
) -> None:
    from netkv.report.page import render

    ids = record_sweep(served.store, plots=PLOTS)[::-1]
    file = tmp_path / "report.html"
    file.write_text(render(served.store.records(ids)), encoding="utf-8")
    page.set_content(file.read_text(encoding="utf-8"))
    figure = page.locator(".plotly-graph-div", has_text="Who served what")
    expect(figure.locator(".main-svg").first).to_be_visible()
    figure.evaluate("each => { each.id = 'stacked'; }")
    expected = [rgb(of_scheme(name).colour) for name in ("nocache", "netcache", "netcache")]
    assert page.evaluate(FILL_OF_BARS, "stacked") == expected
    expect(page.locator("p").first).to_contain_text("Ratios are to nocache, the first scheme")


def test_papers_points_are_beside_ours(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/#/figures")
    page.get_by_role("link", name="Throughput over skew, 128 servers").click()
    wait_for_traces(page, "plot-0", 2)
    assert [trace["name"] for trace in traces(page, "plot-0")] == ["netkv", "paper"]
    row = page.locator("#claims tbody tr").nth(1)
    expect(row).to_contain_text("3.60")
    page.reload()
    wait_for_traces(page, "plot-0", 2)
    # Its scenario is a click away, with the settings of the experiment.
    page.get_by_role("link", name="Run it with 5 seeds").click()
    expect(page.locator("#yaml")).to_have_value(re.compile(r"^repeat: 5$", re.MULTILINE))


def test_experiment_as_published_is_beside_the_seeds(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/#/figures")
    # The scoreboard has the papers, and a card of each paper its experiments.
    total = page.locator("#scoreboard tbody tr").filter(has_text="farreach")
    expect(total).to_contain_text(re.compile(r"\d+ of 1\d\d"))
    listed = page.get_by_role("row").filter(has_text="VI-B, Exp#1, figure 9")
    expect(listed).to_contain_text(re.compile(r"\d+ of 48\s*\d+ of 48\s*\d+ of 48"))
    listed.get_by_role("link").click()
    head = page.locator("#claims thead th")
    expect(head).to_have_text(
        [
            *("quantity", "at", "paper", "artefact", "netkv", "99% of seeds", "difference"),
            *("as published", "99% of seeds", "difference"),
        ]
    )
    expect(page.locator(".cause").first).to_contain_text("FarReach over NoCache: A cold read")
    wait_for_traces(page, "plot-0", 4)
    traced = [trace["name"] for trace in traces(page, "plot-0")]
    assert traced == ["netkv", "netkv, as published", "paper", "artefact"]
