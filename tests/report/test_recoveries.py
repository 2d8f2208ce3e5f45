"""The durations of recoveries and their phases, on the terminal and in a page."""

from __future__ import annotations

from rich.table import Table

from netkv.report import plots, recoveries, tables
from netkv.report.page import render
from netkv.runs import Store, StoreSink
from netkv.runs.compare import compare
from netkv.scenarios.plot import Plot
from netkv.scenarios.results import RunEvent
from tests.report.terminal import text_of
from tests.runs.recorded_runs import record, record_no_recovery, record_recovery, recovery, start


def printed(table: Table | None) -> str:
    assert table is not None
    return text_of(table, width=120)


def stored(store: Store) -> None:
    with StoreSink(store) as sink:
        for repeat, collect in enumerate((1.0, 3.0)):
            run = start(f"r{repeat}", "netcache", repeat=repeat, seed=repeat)
            record_recovery(sink, run, collect=collect, restore=0.5)
        record(sink, start("other", "nocache"))


def test_rows_are_means_over_completed_recoveries(store: Store) -> None:
    stored(store)
    shown = printed(recoveries.overview(compare(store.records(["r0", "r1", "other"]))))
    head, _, line = shown.strip("\n ").splitlines()[:3]
    assert head.split() == ["scheme", "sweep", "point", "recovery", "collect", "restore"]
    assert line.split()[0] == "netcache"
    assert "2.50 s ± 12.71 s" in line
    assert "500.00 ms ± 0 µs" in line
    assert "nocache" not in shown
    assert recoveries.overview(compare(store.records(["other"]))) is None


def test_phases_of_a_run_have_bars_as_long_as_they_took(store: Store) -> None:
    stored(store)
    run = store.record("r0")
    (table,) = recoveries.details(run)
    shown = printed(table)
    assert "switch was recovered at 6.8 s" in shown
    lines = {line.split()[0]: line for line in shown.splitlines() if line.split()}
    assert lines["collect"].count("█") == 20
    assert lines["restore"].count("█") == 10
    assert lines["restore"].index("█") - lines["collect"].index("█") == 20
    assert "1.50 s" in lines["all"]
    assert "records 12" in shown
    details = printed(tables.run_details(run))
    assert "recovery       1.50 s" in details
    assert "0.00114 MiB/s" in details
    assert recoveries.details(store.record("other")) == []


def test_page_has_a_table_of_recoveries_if_there_were_any(store: Store) -> None:
    stored(store)
    page = render(store.records(["r0", "r1", "other"]))
    assert "<th>collect</th>" in page
    assert "2.50 s ± 12.71 s" in page
    assert "<th>collect</th>" not in render(store.records(["other"]))


CUT = "switch: begun at 5.5 s, interrupted at 8.0 s (controller killed), "


def test_unfinished_recovery_is_named_in_every_table(store: Store) -> None:
    with StoreSink(store) as sink:
        record_no_recovery(sink, start("r0", "netcache"))
    records = store.records(["r0"])
    assert "not recovered by the end" in printed(recoveries.overview(compare(records)))
    assert "not recovered by the end" in render(records)
    assert CUT + "not recovered by the end" in printed(tables.run_details(records[0])).replace(
        "\n", ""
    )
    figure = plots.draw(Plot(y="throughput_ops", x="time"), records)
    (band,) = [band for band in figure.bands if band.kind == "recovering"]
    assert (band.start, band.end) == (5.5, 20)


def test_interrupted_recovery_is_shown_beside_its_successor(store: Store) -> None:
    with StoreSink(store) as sink:
        again = RunEvent(time=9.0, kind="recovering", node="switch", text="recovery begins")
        record_no_recovery(sink, start("r0", "netcache"), again, recovery(9.5, collect=0.5))
    records = store.records(["r0"])
    shown = printed(recoveries.overview(compare(records)))
    assert "500.00 ms" in shown
    assert "1 interrupted, recovered by the next" in shown
    assert "not recovered" not in shown
    assert CUT + "recovered by the next" in printed(tables.run_details(records[0]))
