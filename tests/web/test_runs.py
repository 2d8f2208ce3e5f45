"""The view Runs in a real browser: table, filters, selection, remarks, deletion."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from netkv.report.style import of_scheme
from netkv.runs import StoreSink
from tests.api.serving import Served
from tests.runs.recorded_runs import record, record_comparison, record_sweep, start
from tests.web.charts import STROKE_OF_SWATCHES, UNNAMED, rgb
from tests.web.live_runs import live_run, pressed_until_answer


def rows(page: Page) -> Locator:
    return page.locator("#runs tr[data-run]")


def record_many(served: Served, count: int) -> None:
    """Short runs, a group each; the newest has the highest number."""
    for at in range(count):
        with StoreSink(served.store, group=f"g{at}") as sink:
            scheme = ("nocache", "netcache")[at % 2]
            started = 1_790_000_000.0 + 100 * at
            record(sink, start(f"run-{at}", scheme, duration=1.0, started_at=started))


def test_empty_store_says_how_to_make_a_run(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/#/runs")
    expect(page.locator("#list")).to_contain_text("No run is stored yet")
    expect(page.locator("#list")).to_contain_text("netkv scenario run quickstart")


def test_runs_are_listed_with_the_figures_of_their_documents(served: Served, page: Page) -> None:
    ids = record_comparison(served.store)
    page.goto(f"{served.url}/#/runs")
    expect(rows(page)).to_have_count(2)
    expect(page.locator("#total")).to_have_text("2 runs")
    head = served.store.head(ids[1])
    cell = page.locator(f"tr[data-run={ids[1]}] [data-column=throughput_ops]")
    expect(cell).to_have_text(f"{head.throughput_ops:,.0f}")
    expect(cell).to_have_attribute("title", json.dumps(head.throughput_ops))


def test_search_and_filters_are_in_the_address(served: Served, page: Page) -> None:
    record_sweep(served.store)
    record_comparison(served.store)
    page.goto(f"{served.url}/#/runs")
    expect(rows(page)).to_have_count(6)
    page.get_by_label("Scheme").select_option("netcache")
    expect(rows(page)).to_have_count(3)
    page.get_by_label("Options").fill("workload.zipf>=0.95")
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(2)
    page.get_by_label("Search").fill("zipf=0.99")
    expect(rows(page)).to_have_count(1)
    page.reload()
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_label("Search")).to_have_value("zipf=0.99")
    expect(page.get_by_label("Scheme")).to_have_value("netcache")
    page.get_by_label("Options").fill("workload.zipff=1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("zipf")
    page.get_by_role("button", name="Clear filters").click()
    expect(rows(page)).to_have_count(6)


def test_heading_sorts_on_the_server_and_pages_follow(served: Served, page: Page) -> None:
    record_many(served, 103)
    page.goto(f"{served.url}/#/runs")
    expect(rows(page)).to_have_count(100)
    page.locator("#next").click()
    expect(rows(page)).to_have_count(3)
    expect(page.locator("#pages")).to_contain_text("101 to 103 of 103")
    page.locator("#sort-throughput_ops").click()
    expect(rows(page)).to_have_count(100)
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("ops/s")
    expect(rows(page).first.locator(".name")).to_contain_text("netcache")
    page.locator("#sort-throughput_ops").click()
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("ops/s")
    expect(rows(page).first.locator(".name")).to_contain_text("nocache")
    page.reload()
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("ops/s")


def test_chosen_columns_are_kept(served: Served, page: Page) -> None:
    record_sweep(served.store)
    page.goto(f"{served.url}/#/runs")
    page.locator("#columns summary").click()
    page.get_by_role("checkbox", name="workload.zipf").check()
    cell = page.locator(
        "[id='runs'] tr[data-run='netcache-0.99'] [data-column='param:workload.zipf']"
    )
    expect(cell).to_have_text("0.99")
    page.get_by_role("checkbox", name="status").uncheck()
    expect(page.locator("#runs [data-column=status]")).to_have_count(0)
    page.goto(f"{served.url}/#/live")
    expect(page.locator("#begin")).to_be_visible()
    page.goto(f"{served.url}/#/runs")
    expect(cell).to_have_text("0.99")
    expect(page.locator("#runs [data-column=status]")).to_have_count(0)


def test_groups_fold_into_one_row(served: Served, page: Page) -> None:
    record_comparison(served.store)
    record_sweep(served.store)
    page.goto(f"{served.url}/#/runs")
    expect(rows(page)).to_have_count(6)
    page.get_by_label("Fold groups").check()
    expect(rows(page)).to_have_count(0)
    expect(page.locator("tr.group")).to_have_count(2)
    expect(page.locator("tr.group").first).to_contain_text("runs")
    page.locator("#fold-gsweep").click()
    expect(rows(page)).to_have_count(4)
    page.reload()
    expect(rows(page)).to_have_count(4)
    page.locator("#select-gcompared").check()
    expect(page.locator("#selected")).to_have_text("2 selected")


def test_range_of_runs_is_selected_with_shift_and_compared(served: Served, page: Page) -> None:
    record_many(served, 5)
    page.goto(f"{served.url}/#/runs")
    page.locator("#run-run-3").check()
    page.locator("#run-run-1").click(modifiers=["Shift"])
    expect(page.locator("#selected")).to_have_text("3 selected")
    page.locator("#compare").click()
    expect(page.locator(".chip")).to_have_count(3)
    assert "run=run-1" in page.url


def test_selected_runs_are_exported(served: Served, page: Page) -> None:
    ids = record_comparison(served.store)
    page.goto(f"{served.url}/#/runs")
    page.locator("#select-page").check()
    for kind, begin in (("csv", b"run,group"), ("json", b"{"), ("parquet", b"PAR1")):
        with page.expect_download() as waited:
            page.locator(f"#export-{kind}").click()
        assert waited.value.suggested_filename == f"runs.{kind}"
        content = Path(waited.value.path()).read_bytes()
        assert content.startswith(begin)
        assert ids[0].encode() in content


def test_tags_and_notes_are_edited_in_place(served: Served, page: Page) -> None:
    run, _ = record_comparison(served.store)
    page.goto(f"{served.url}/#/runs")
    page.locator(f"#tags-{run}").click()
    page.keyboard.type("paper fig:10")
    page.keyboard.press("Enter")
    expect(page.locator(f"#tags-{run} .tag")).to_have_text(["paper", "fig:10"])
    expect(page.locator(f"#tags-{run}")).to_be_focused()
    assert served.store.head(run).tags == ["paper", "fig:10"]
    expect(page.get_by_label("Tag", exact=True)).to_contain_text("paper (1)")
    page.locator(f"#note-{run}").click()
    page.keyboard.type("<b>see</b>")
    page.keyboard.press("Enter")
    expect(page.locator(f"#note-{run}")).to_contain_text("<b>see</b>")
    page.locator(f"#note-{run}").click()
    page.keyboard.type("not kept")
    page.keyboard.press("Escape")
    expect(page.locator(f"#note-{run}")).to_contain_text("<b>see</b>")
    page.locator(f"#tags-{run}").click()
    page.keyboard.type("!")
    page.keyboard.press("Enter")
    expect(page.locator("#runs").get_by_role("alert")).to_contain_text("cannot be a tag")


def test_several_runs_are_tagged_at_once(served: Served, page: Page) -> None:
    ids = record_comparison(served.store)
    page.goto(f"{served.url}/#/runs")
    page.locator("#select-page").check()
    page.locator("#tag").click()
    page.get_by_label("Add tags").fill("paper")
    page.get_by_role("button", name="Change tags").click()
    expect(page.locator(".tag")).to_have_text(["paper", "paper"])
    assert [served.store.head(run).tags for run in ids] == [["paper"], ["paper"]]


def test_pinned_run_is_the_baseline_and_is_not_deleted(served: Served, page: Page) -> None:
    _, other = record_comparison(served.store)
    page.goto(f"{served.url}/#/runs")
    page.locator(f"#pin-{other}").click()
    expect(page.locator(f"#pin-{other}")).to_have_attribute("aria-pressed", "true")
    page.locator("#select-page").check()
    page.locator("#delete").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Delete").click()
    expect(dialog.get_by_role("alert")).to_contain_text("is pinned; unpin it")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(rows(page)).to_have_count(2)
    page.locator("#compare").click()
    expect(page.locator("#baseline")).to_have_value(other)
    row = page.locator("#comparison tbody tr", has_text="nocache")
    expect(row).to_contain_text(re.compile(r"0\.3\d"))


def test_deletion_is_confirmed(served: Served, page: Page) -> None:
    run, other = record_comparison(served.store)
    page.goto(f"{served.url}/#/runs")
    page.locator(f"#run-{run}").check()
    page.locator("#delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(run)
    dialog.get_by_role("button", name="Cancel").click()
    expect(rows(page)).to_have_count(2)
    page.locator("#delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(rows(page)).to_have_count(1)
    assert [head.id for head in served.store.heads()] == [other]


def test_running_row_follows_the_stream(served: Served, page: Page) -> None:
    with live_run(served.store) as live:
        page.goto(f"{served.url}/#/runs")
        cell = page.locator("tr[data-run=live] [data-column=throughput_ops]")
        expect(page.locator("tr[data-run=live]")).to_contain_text("running")
        page.evaluate("window.row = document.querySelector('tr[data-run=live]')")
        live.report(6)
        expect(cell).to_have_text(f"{live.feed[5].throughput_ops:,.0f}")
        assert page.evaluate("row.isConnected"), "the table is not drawn again for a sample"
    expect(page.locator("tr[data-run=live]")).to_contain_text("failed")


def test_click_is_not_lost_when_a_run_ends_meanwhile(served: Served, page: Page) -> None:
    run, _ = record_comparison(served.store)
    with live_run(served.store, reported=6) as live:
        page.goto(f"{served.url}/#/runs")
        expect(page.locator("tr[data-run=live]")).to_contain_text("running")
        with pressed_until_answer(page, f"#run-{run}", "**/runs?*"):
            live.finish()
        expect(page.locator("#selected")).to_have_text("1 selected")
        expect(page.locator(f"#run-{run}")).to_be_checked()
        expect(page.locator("tr[data-run=live]")).to_contain_text("done")


def test_text_of_a_run_never_becomes_markup(served: Served, page: Page) -> None:
    nasty = "<img src=x onerror=alert(1)>"
    with StoreSink(served.store) as sink:
        record(sink, start("nasty", title=nasty, scenario=nasty, params={nasty: nasty}))
    page.goto(f"{served.url}/#/runs")
    expect(page.locator("tr.group")).to_contain_text(nasty)
    assert page.locator("main img").count() == 0


def test_table_works_by_keyboard_and_keeps_the_focus(served: Served, page: Page) -> None:
    run, _ = record_comparison(served.store)
    page.goto(f"{served.url}/#/runs")
    expect(rows(page)).to_have_count(2)
    assert page.evaluate(UNNAMED) == []
    page.locator(f"#run-{run}").focus()
    page.keyboard.press("Space")
    expect(page.locator("#selected")).to_have_text("1 selected")
    expect(page.locator(f"#run-{run}")).to_be_focused()
    page.locator("#sort-scheme").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#sort-scheme")).to_be_focused()


def test_scheme_and_mode_of_a_run_are_shown(served: Served, page: Page) -> None:
    record_sweep(served.store, mode="sim")
    page.goto(f"{served.url}/#/runs")
    expect(rows(page)).to_have_count(4)
    expect(page.locator("#runs .name a").first).to_have_text("netcache (sim) · zipf 0.99")
    nocache, netcache = (rgb(of_scheme(name).colour) for name in ("nocache", "netcache"))
    assert page.evaluate(STROKE_OF_SWATCHES, "#runs") == 2 * [netcache, nocache]


def test_runs_are_cards_on_a_phone(served: Served, page: Page) -> None:
    record_comparison(served.store)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{served.url}/#/runs")
    expect(rows(page)).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
