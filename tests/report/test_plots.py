"""Figures of stored runs: their series, styles, events, and reasons of figures left out."""

from __future__ import annotations

from typing import Any

import pytest

from netkv.events.event import TimelineEvent
from netkv.metrics.common import MIB
from netkv.report import plots, style
from netkv.report.figure import Figure, Series
from netkv.runs import RunRecord, Store, StoreSink
from netkv.scenarios.changes import Changes
from netkv.scenarios.plot import Plot
from netkv.scenarios.results import Recovery, RunEvent
from tests.report.sweeps import sweep
from tests.runs.recorded_runs import (
    CONTROL,
    record,
    record_comparison,
    record_recovery,
    recovery,
    start,
)


def plot(**options: Any) -> Plot:
    return Plot.model_validate(options)


def named(figure: Figure, name: str) -> Series:
    return next(series for series in figure.series if series.name == name)


def with_plots(records: list[RunRecord], *asked: dict[str, Any]) -> list[RunRecord]:
    """The runs with these plots in their scenario."""
    return [
        run.model_copy(update={"parameters": {**run.parameters, "plots": list(asked)}})
        for run in records
    ]


def changed(records: list[RunRecord], **changes: Any) -> list[RunRecord]:
    return [run.model_copy(update=changes) for run in records]


def test_repeats_are_one_point_with_their_interval(store: Store) -> None:
    figure = plots.draw(plot(x="workload.zipf"), sweep(store))
    assert [series.name for series in figure.series] == ["NoCache", "NetCache"]
    nocache = named(figure, "NoCache")
    assert nocache.x == (0, 0.9, 0.99)
    assert nocache.y == pytest.approx((2000, 1000, 667), rel=0.05)
    assert all(half is not None and 0 < half < 200 for half in nocache.spread)
    assert (figure.x.title, figure.y.title) == ("Zipf exponent", "Throughput (operations/s)")
    alone = plots.draw(plot(x="workload.zipf"), sweep(store, repeats=1, prefix="alone"))
    assert named(alone, "NoCache").spread == (None, None, None), "one run has no interval"


def test_failed_repeat_is_not_part_of_a_mean(store: Store) -> None:
    records = sweep(store)
    records[0] = records[0].model_copy(update={"status": "failed", "throughput_ops": 0.0})
    figure = plots.draw(plot(x="workload.zipf"), records)
    assert named(figure, "NoCache").y[0] == pytest.approx(2000, rel=0.05)


def test_colour_of_a_scheme_is_the_same_in_all_figures(store: Store) -> None:
    records = sweep(store)
    both = plots.draw(plot(x="workload.zipf"), records)
    alone = plots.draw(plot(x="workload.zipf"), [r for r in records if r.scheme == "netcache"])
    bars = plots.draw(plot(), store.records(record_comparison(store)))
    assert named(both, "NetCache").style == named(alone, "NetCache").style
    assert bars.series[1].style == named(both, "NetCache").style != bars.series[0].style


def test_ratio_to_a_scheme_divides_at_the_same_point(store: Store) -> None:
    asked = plot(x="workload.zipf", relative_to={"scheme": "nocache"})
    figure = plots.draw(asked, sweep(store))
    assert named(figure, "NoCache").y == (1, 1, 1)
    assert named(figure, "NetCache").y == pytest.approx((2.6, 5.2, 7.8), rel=0.05)
    assert all(named(figure, "NetCache").spread)
    assert figure.y.title == "Throughput relative to NoCache"


def test_ratio_to_a_point_divides_by_the_value_at_that_point(store: Store) -> None:
    records = sweep(store)
    point = {"point": {"workload.zipf": 0}}
    own = plots.draw(plot(x="workload.zipf", relative_to=point), records)
    assert named(own, "NoCache").y == pytest.approx((1, 1 / 2, 1 / 3), rel=0.05)
    assert named(own, "NetCache").y == pytest.approx((1, 1, 1), rel=0.05)
    one = plots.draw(plot(x="workload.zipf", relative_to={"scheme": "nocache", **point}), records)
    assert named(one, "NetCache").y == pytest.approx((2.6, 2.6, 2.6), rel=0.05)
    assert one.y.title == "Throughput relative to NoCache at zipf 0"


def test_cache_and_servers_add_up_to_the_throughput(store: Store) -> None:
    figure = plots.draw(plot(y="served_by", x="workload.zipf"), sweep(store))
    names = [series.name for series in figure.series]
    assert names == ["NoCache", "NetCache: servers", "NetCache: cache"]
    servers, cache = figure.series[1:]
    assert servers.slot == cache.slot != figure.series[0].slot
    assert cache.base == servers.y
    throughput = plots.draw(plot(x="workload.zipf"), sweep(store, prefix="again"))
    tops = [cache.top(at) for at in range(3)]
    assert tops == pytest.approx(named(throughput, "NetCache").y)
    # Servers did 52% of the recorded operations.
    assert servers.y == pytest.approx([0.52 * (top or 0) for top in tops], rel=0.1)
    assert cache.spread == pytest.approx(named(throughput, "NetCache").spread)


def test_share_of_the_cache_has_no_writes(store: Store) -> None:
    """The hit ratio counts reads only."""
    records = store.records(record_comparison(store))
    records = changed(
        records, throughput_ops=1000.0, hit_ratio=1.0, server_load=[150.0, 100.0], params={}
    )
    figure = plots.draw(plot(y="served_by"), records)
    assert figure.legend() == ("servers", "cache")
    heights = [series.y for series in figure.series if not series.name]
    assert heights == [(1000,), (250,), (750,)], "NoCache, and the parts of NetCache"
    colours = [series.style.colour for series in figure.series if not series.name]
    assert colours == [style.of_scheme(name).colour for name in ("nocache", "netcache", "netcache")]


def test_load_is_sorted_so_that_schemes_can_be_compared(store: Store) -> None:
    records = store.records(record_comparison(store, repeats=2))
    shuffled = [r.model_copy(update={"server_load": r.server_load[::-1]}) for r in records]
    figure = plots.draw(plot(y="server_load"), shuffled)
    for series in figure.series:
        assert list(series.y) == sorted(series.y, key=lambda load: -(load or 0))
    assert figure.x.categories == tuple("12345678")
    relative = plots.draw(plot(y="server_load", relative_to={"scheme": "nocache"}), records)
    assert named(relative, "NoCache").y[0] == pytest.approx(3.2)


def test_latency_has_bars_for_percentiles_and_a_distribution(store: Store) -> None:
    records = store.records(record_comparison(store))
    bars = plots.draw(plot(y="latency_us"), records)
    p99 = records[0].latency_us.p99
    assert p99 is not None
    assert bars.x.categories == ("p50", "p95", "p99", "p99.9")
    assert bars.y.unit == "ms", "4,000 µs are shown as 4 ms"
    assert named(bars, "NoCache").y == pytest.approx((0.7, 1.5, p99 / 1000, 4))
    curve = plots.draw(plot(y="latency_us", kind="distribution"), records)
    assert curve.x.log
    assert named(curve, "NetCache").y[-1] == 1


def test_wide_sweep_has_a_logarithmic_axis_by_default(store: Store) -> None:
    wide = sweep(store, "lab.cache_entries", (10, 100, 1000, 10_000))
    figure = plots.draw(plot(x="lab.cache_entries"), wide)
    assert figure.x.log
    assert figure.x.ticks == (10, 100, 1000, 10_000)
    assert not plots.draw(plot(x="lab.cache_entries", log=[]), wide).x.log
    narrow = sweep(store, "lab.cache_entries", (100, 1000, 10_000), prefix="narrow")
    assert not plots.draw(plot(x="lab.cache_entries"), narrow).x.log
    zero = sweep(store, "lab.cache_entries", (0, 10, 10_000), prefix="zero")
    assert not plots.draw(plot(x="lab.cache_entries"), zero).x.log


def test_ticks_of_a_sweep_are_the_values_that_were_run(store: Store) -> None:
    sizes = (2, 4, 8, 16, 32)
    records = sweep(store, "workload.multiget", sizes, prefix="sizes", repeats=1)
    figure = plots.draw(plot(x="workload.multiget"), records)
    assert figure.x.ticks == sizes
    assert not figure.x.log
    forced = plots.draw(plot(x="workload.multiget", log=["x"]), records)
    assert forced.x.log
    assert forced.x.ticks == sizes
    many = sweep(store, "workload.multiget", tuple(range(2, 34)), prefix="many", repeats=1)
    assert plots.draw(plot(x="workload.multiget"), many).x.ticks == ()


def test_values_that_are_not_numbers_have_bars(store: Store) -> None:
    figure = plots.draw(plot(x="workload.mix"), sweep(store, "workload.mix", ("ycsb-b", "ycsb-a")))
    assert figure.x.categories == ("ycsb-b", "ycsb-a")
    assert {series.draw for series in figure.series} == {"bars"}
    assert [series.slot for series in figure.series] == [0, 1]


def test_lines_are_distinguished_by_the_second_swept_option(store: Store) -> None:
    records = sweep(store)
    records += [
        run.model_copy(update={"id": f"{run.id}-w", "params": {**run.params, "workload.writes": 1}})
        for run in records
    ]
    records = [
        run
        if "workload.writes" in run.params
        else run.model_copy(update={"params": {**run.params, "workload.writes": 0}})
        for run in records
    ]
    figure = plots.draw(plot(x="workload.zipf"), records)
    assert [series.name for series in figure.series] == [
        "NoCache, writes 0",
        "NetCache, writes 0",
        "NoCache, writes 1",
        "NetCache, writes 1",
    ]
    assert len({series.style for series in figure.series}) == 4
    colours = [series.style.colour for series in figure.series]
    assert colours == 2 * [style.of_scheme(name).colour for name in ("nocache", "netcache")]


def test_runs_of_another_program_have_another_line(store: Store) -> None:
    records = sweep(store, repeats=1)
    other = [
        run.model_copy(
            update={"provenance": run.provenance.model_copy(update={"program_hash": "1234567890"})}
        )
        for run in records
    ]
    figure = plots.draw(plot(x="workload.zipf"), [*records, *other])
    assert len(figure.series) == 4
    for series in figure.series:
        assert series.x == (0, 0.9, 0.99), "x increases along each line"


def test_events_are_marked_with_their_text(store: Store) -> None:
    with StoreSink(store) as sink:
        for scheme, late in (("nocache", 0.0), ("netcache", 0.1)):
            run = start(f"e-{scheme}", scheme)
            record(sink, run)
            for time, kind, node, text in (
                (-3.0, "starting", "rack", "Bringing up."),
                (25.0, "stopped", "switch", "after the end"),
            ):
                sink.event(run.id, RunEvent(time=time + late, kind=kind, node=node, text=text))
            changes = Changes()
            loss = {"node": "client", "loss": 0.1}
            for at, action in (
                (0.0, {"partition": "controller"}),
                (2.0, {"heal": "controller"}),
                (5.0, {"shift": {"kind": "hot-in"}}),
                (9.99, {"kill": "servers-0"}),
                (14.0, {"link": loss}),
                (15.0, {"link": {**loss, "loss": 0}}),
            ):
                done = changes.fields(TimelineEvent(at=at, **action).action, "scenario")
                sink.event(run.id, RunEvent(time=at + late, **done))
    figure = plots.draw(plot(x="time"), store.records(["e-nocache", "e-netcache"]))
    assert [(mark.text, mark.at) for mark in figure.marks] == [("shift hot-in of 200 keys", 5.0)]
    bands = [(band.text, band.start, band.end) for band in figure.bands]
    assert bands == [
        ("warm-up", -3, 0),
        ("servers-0 down", 10, 12),
        ("partition controller", 0, 2.1),
        ("link of client: loss 0.1", 14.0, 15.1),
    ]


def test_recovery_is_shaded_from_the_switchs_start(store: Store) -> None:
    with StoreSink(store) as sink:
        record_recovery(sink, start("r1", "netcache"), collect=0.5, restore=0.25)
    figure = plots.draw(plot(x="time"), store.records(["r1"]))
    bands = [(band.text, band.start, band.end, band.kind) for band in figure.bands[1:]]
    assert bands == [
        ("switch down", 4, 5, "down"),
        ("switch recovering", 5, 6, "recovering"),
    ]


def test_recovery_without_a_restart_is_shaded(
    store: Store,
) -> None:
    with StoreSink(store) as sink:
        record_recovery(sink, start("r1", "netcache"), collect=0.5, restore=0.25)
    [run] = store.records(["r1"])
    later = [Recovery.of(recovery(at, collect=2.0)) for at in (12.0, 21.5)]
    changed_run = run.model_copy(update={"recoveries": [*run.recoveries, *later]})
    figure = plots.draw(plot(x="time"), [changed_run])
    bands = [(band.start, band.end) for band in figure.bands if band.kind == "recovering"]
    assert bands == [(5, 6), (10, 12), (19.5, 20)], "the last ends with the line"


def test_recovery_phases_are_stacked_with_one_interval(
    store: Store,
) -> None:
    with StoreSink(store) as sink:
        for repeat, seconds in enumerate((1.0, 3.0)):
            run = start(f"r{repeat}", "netcache", repeat=repeat, seed=repeat)
            record_recovery(sink, run, collect=seconds, restore=0.5)
        record(sink, start("other", "nocache"))
    records = store.records(["r0", "r1", "other"])
    figure = plots.draw(plot(y="recovery_time"), records)
    assert figure.legend() == ("collect", "restore")
    collect, restore = (series for series in figure.series if not series.name)
    assert collect.style == restore.style == style.of_scheme("netcache")
    assert collect.part != restore.part
    assert figure.x.categories == ("NetCache",), "NoCache has no recovery"
    assert collect.y == (2,)
    assert restore.y == (0.5,)
    assert restore.base == (2,)
    assert collect.spread == (None,)
    assert restore.spread == pytest.approx((12.706,), rel=0.001)
    assert figure.y.title == "Recovery (s)"
    assert "Recovery" in [each.title for each in plots.defined_or_usual(records).figures]
    with pytest.raises(plots.NothingToPlotError, match="'recovery_time'"):
        plots.draw(plot(y="recovery_time"), store.records(["other"]))


def test_recovery_phases_over_a_sweep_are_grouped_by_scheme(store: Store) -> None:
    ids = []
    with StoreSink(store) as sink:
        for zipf in (0.9, 0.99):
            for number, scheme in enumerate(("nocache", "netcache")):
                run = start(f"{scheme}-{zipf}", scheme, params={"workload.zipf": zipf})
                record_recovery(sink, run, collect=1.0 + number, restore=zipf)
                ids.append(run.id)
    figure = plots.draw(plot(y="recovery_time", x="workload.zipf"), store.records(ids))
    names = [
        f"{scheme}: {phase}"
        for scheme in ("NoCache", "NetCache")
        for phase in ("collect", "restore")
    ]
    assert [series.name for series in figure.series] == names
    assert [series.slot for series in figure.series] == [0, 0, 1, 1]
    assert len({(series.style, series.part) for series in figure.series}) == 4
    assert len({series.style.colour for series in figure.series}) == 2
    assert named(figure, "NetCache: restore").y == (0.9, 0.99)
    assert named(figure, "NetCache: restore").base == (2, 2)


def test_control_plane_is_drawn_in_mib_over_time_and_as_a_mean(store: Store) -> None:
    records = store.records(record_comparison(store))
    over_time = plots.draw(plot(y="control_plane_mib_per_s", x="time"), records)
    assert named(over_time, "NetCache").y[4] == pytest.approx(CONTROL / MIB)
    bars = plots.draw(plot(y="control_plane_mib_per_s"), records)
    assert bars.series[1].y == pytest.approx((CONTROL / MIB,))
    assert bars.y.title == "Control plane (MiB/s)"


def test_repeats_over_time_are_a_line_with_a_band(store: Store) -> None:
    records = store.records(record_comparison(store, repeats=3))
    figure = plots.draw(plot(x="time"), records)
    assert [series.name for series in figure.series] == ["NoCache", "NetCache"]
    line = named(figure, "NoCache")
    assert line.x == tuple(range(-2, 21))
    assert line.y[5] == pytest.approx(
        sum(run.series["throughput_ops"][5] for run in records if run.scheme == "nocache") / 3
    )
    assert all(line.spread)
    assert not line.marked
    ratio = plots.draw(plot(x="time", relative_to={"scheme": "nocache"}), records)
    assert named(ratio, "NetCache").y[8] == pytest.approx(2.6, rel=0.1)


def test_downsampling_keeps_the_highest_latency(store: Store) -> None:
    with StoreSink(store) as sink:
        record(sink, start("long", duration=4000.0))
    records = store.records(["long"])
    records[0].series["latency_p99_us"][2345] = 1e6
    figure = plots.draw(plot(y="latency_p99_us", x="time"), records)
    assert 600 < len(figure.series[0].x) <= 1201
    assert max(value or 0 for value in figure.series[0].y) == 1000
    assert figure.y.unit == "ms"


def test_predicted_hit_ratio_is_drawn_and_axis_ends_at_one(store: Store) -> None:
    figure = plots.draw(
        plot(y="hit_ratio", x="time"), store.records(record_comparison(store, repeats=2))
    )
    assert [series.name for series in figure.series] == ["NetCache"], "NoCache has no hits"
    assert {reference.value for reference in figure.references} == {0.484}
    assert figure.legend() == ("NetCache", "predicted")
    assert figure.y.high == 1


def test_time_of_a_simulated_run_is_virtual(store: Store) -> None:
    records = store.records(record_comparison(store))
    assert plots.draw(plot(x="time"), records).x.title == "Time (s)"
    simulated = changed(records, mode="sim")
    assert plots.draw(plot(x="time"), simulated).x.title == "Virtual time (s)"
    both = plots.draw(plot(), [*records, *simulated])
    assert both.legend() == ("mode live", "mode sim")
    bars = [series for series in both.series if not series.name]
    assert len({series.style for series in bars}) == 4
    assert len({series.style.colour for series in bars}) == 2, "one for each scheme"


def test_separate_runs_are_drawn_over_their_differences(store: Store) -> None:
    with StoreSink(store) as sink:
        for servers in (16, 4):
            parameters = {"lab": {"servers": servers}}
            record(sink, start(f"with-{servers}", parameters=parameters))
    figure = plots.draw(plot(x="lab.servers"), store.records(["with-16", "with-4"]))
    assert figure.series[0].x == (4, 16)


def test_plots_of_a_scenario_have_distinct_names(store: Store) -> None:
    records = with_plots(
        store.records(record_comparison(store)),
        {"y": "throughput_ops", "x": "scheme", "title": "Throughput, 50% more!"},
        {"y": "hit_ratio", "x": "time", "title": "Throughput 50 more"},
        {"y": "server_load", "x": "scheme", "title": "../../etc/passwd"},
        {"y": "lost_ops", "x": "scheme", "title": "丢失"},
    )
    drawn = plots.defined_or_usual(records)
    assert [figure.name for figure in drawn.figures] == [
        "throughput-50-more",
        "throughput-50-more-2",
        "etc-passwd",
        "lost-ops-scheme",
    ]
    assert drawn.left_out == []
    other = changed(records, scenario="other")
    assert plots.defined([*records, *other]).figures[4].name == "other-throughput-50-more"


def test_scenario_without_plots_has_the_default_figures(store: Store) -> None:
    records = store.records(record_comparison(store))
    assert len(plots.defined_or_usual(records).figures) == 6
    nocache = [figure.title for figure in plots.defined_or_usual(records[:1]).figures]
    assert "Control plane" not in nocache, "its values are all 0"
    assert plots.defined(records).figures == []
    asked = with_plots(records, {"y": "throughput_ops", "x": "scheme", "title": "Mine"})
    titles = [figure.title for figure in plots.defined_and_usual(asked).figures]
    assert titles[0] == "Mine"
    assert len(titles) == 6, "no default figure is drawn twice"


@pytest.mark.parametrize(
    ("asked", "changes", "sentence"),
    [
        ({"y": "latency_p999_us"}, {"latency_us": {}}, "none of the 2 runs has 'latency_p999_us'"),
        ({"y": "cached", "x": "time"}, {"series": {"time": [1.0]}}, "runs has 'cached'"),
        ({"y": "server_load"}, {"server_load": []}, "none of the 2 runs has 'server_load'"),
        ({"y": "served_by"}, {"server_load": []}, "none of the 2 runs has 'served_by'"),
        ({"y": "latency_us", "kind": "distribution"}, {"latency_histogram": ""}, "latency_us"),
        ({}, {"status": "failed"}, "all 2 runs failed"),
        ({}, {"status": "cancelled"}, "all 2 runs were cancelled"),
        ({}, {"status": "running"}, "2 of the 2 runs are in progress"),
        ({"relative_to": {"scheme": "farreach"}}, {}, "relative to FarReach, which is not among"),
        ({"x": "workload.zipf", "log": ["x"]}, {"params": {"workload.zipf": 0}}, "cannot show 0"),
        ({"y": "server_load", "x": "time"}, {}, "cannot be drawn"),
        ({"y": "no_such_metric"}, {}, "cannot be drawn"),
    ],
)
def test_figure_without_values_is_reported(
    store: Store, asked: dict[str, Any], changes: dict[str, Any], sentence: str
) -> None:
    records = store.records(record_comparison(store))
    if "latency_us" in changes:
        changes = {"latency_us": type(records[0].latency_us)()}
    drawn = plots.defined(with_plots(changed(records, **changes), {**asked, "title": "Mine"}))
    assert drawn.figures == []
    (reason,) = drawn.left_out
    assert sentence in reason
    assert reason.endswith(".")
    assert "Mine" in reason
