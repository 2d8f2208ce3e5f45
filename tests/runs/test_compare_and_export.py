"""Comparisons of stored runs, exports as JSON, CSV and Parquet."""

from __future__ import annotations

import csv
import io
import json
import sys
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from rich.console import Console

from netkv.errors import NetkvError, UsageError
from netkv.metrics.common import MIB
from netkv.report.tables import comparison
from netkv.runs import Store, StoreSink
from netkv.runs.compare import compare, ratio
from netkv.runs.export import to_csv, to_json, to_parquet
from netkv.scenarios.results import CANCELLED, Interval
from tests.runs.recorded_runs import (
    CONTROL,
    record,
    record_comparison,
    record_recovery,
    start,
)


def test_repeats_are_one_row_with_an_interval(store: Store) -> None:
    ids = record_comparison(store, repeats=3)
    nocache, netcache = compare(store.records(ids)).rows
    assert (nocache.scheme, netcache.scheme) == ("nocache", "netcache")
    assert netcache.throughput_ops is not None
    assert netcache.throughput_ops.n == 3
    assert netcache.ratio is not None
    assert netcache.ratio.mean == pytest.approx(2.6, rel=0.05)
    assert netcache.ratio.ci95 is not None
    assert nocache.baseline
    assert netcache.acked_writes_lost == 0
    assert nocache.load_imbalance is not None
    assert nocache.load_imbalance.mean == pytest.approx(3.2)


def test_schemes_are_compared_at_the_same_sweep_point(store: Store) -> None:
    with StoreSink(store) as sink:
        for zipf, base in ((0.9, 2000.0), (0.99, 1000.0)):
            for later, scheme in enumerate(("nocache", "netcache")):
                run = start(
                    f"{scheme}-{zipf}",
                    scheme,
                    params={"workload.zipf": zipf},
                    started_at=1_790_000_000.0 + later,
                )
                record(sink, run, base)
    rows = compare(store.records(store.find([sink.group]))).rows
    ratios = {(row.scheme, row.params["workload.zipf"]): row.ratio for row in rows}
    for zipf in (0.9, 0.99):
        assert ratios["nocache", zipf] == Interval(mean=1.0, ci95=None, n=1)
        found = ratios["netcache", zipf]
        assert found is not None
        assert found.mean == pytest.approx(2.6, rel=0.05)


def test_different_settings_are_listed(store: Store) -> None:
    with StoreSink(store) as sink:
        record(sink, start("small", parameters={"lab": {"servers": 8, "clients": 1}}))
        record(sink, start("large", parameters={"lab": {"servers": 16, "clients": 1}}))
    rows = compare(store.records(["small", "large"])).rows
    assert [row.settings for row in rows] == [{"lab.servers": 8}, {"lab.servers": 16}]


def test_comparison_needs_no_series(store: Store) -> None:
    ids = record_comparison(store, repeats=2)
    with StoreSink(store) as sink:
        record_recovery(sink, start("r", "netcache"), collect=1.0, restore=0.5)
    ids = ["r", *ids]
    light = store.comparable(ids)
    assert [run.id for run in light] == ids
    assert not any(run.series or run.events for run in light)
    assert compare(light) == compare(store.records(ids))
    with pytest.raises(UsageError, match="There is no run 'nope'"):
        store.comparable([ids[0], "nope"])


def test_failed_repeat_is_counted_and_not_part_of_the_mean(store: Store) -> None:
    with StoreSink(store) as sink:
        outcome = record(sink, start("good"))
    with StoreSink(store) as sink:
        sink.begin(start("bad", repeat=1))
    (row,) = compare(store.records(["good", "bad"])).rows
    assert row.failed == 1
    assert row.throughput_ops == Interval(mean=outcome.throughput_ops, ci95=None, n=1)
    assert row.acked_writes_lost is None, "the failed run could not verify its writes"


def test_cancelled_repeat_is_counted_and_not_part_of_any_figure(store: Store) -> None:
    with StoreSink(store) as sink:
        outcome = record(sink, start("good"))
    with StoreSink(store) as sink:
        sink.begin(start("cut", repeat=1))
        store.end(["cut"], "cancelled", CANCELLED)
    (row,) = compare(store.records(["good", "cut"])).rows
    assert (row.failed, row.cancelled) == (0, 1)
    assert row.throughput_ops == Interval(mean=outcome.throughput_ops, ci95=None, n=1)
    assert row.acked_writes_lost == 0, "of the run that was finished"
    (alone,) = compare(store.records(["cut"])).rows
    assert alone.acked_writes_lost is None, "nothing was verified"
    shown = Console(width=120, record=True, file=io.StringIO())
    shown.print(comparison(compare(store.records(["good", "cut"]))))
    assert "1 of 2" in shown.export_text(clear=False)
    shown.print(comparison(compare(store.records(["cut"]))))
    assert "cancelled" in shown.export_text()


def test_interval_of_a_ratio_combines_both_spreads() -> None:
    over = ratio(Interval(mean=200, ci95=6, n=3), Interval(mean=100, ci95=4, n=3))
    assert over is not None
    assert over.mean == 2
    assert over.ci95 == pytest.approx(2 * (0.03**2 + 0.04**2) ** 0.5)
    assert ratio(Interval(mean=1, ci95=None, n=1), Interval(mean=0, ci95=None, n=1)) is None


def test_recovery_phases_are_compared_over_repeats(store: Store) -> None:
    with StoreSink(store) as sink:
        for repeat, collect in enumerate((1.0, 2.0, 3.0)):
            run = start(f"r{repeat}", "netcache", repeat=repeat, seed=repeat)
            record_recovery(sink, run, collect=collect, restore=0.5)
        record(sink, start("other", "nocache"))
    netcache, nocache = compare(store.records(["r0", "r1", "r2", "other"])).rows
    assert netcache.recovery_time is not None
    assert netcache.recovery_time.mean == 2.5
    assert netcache.recovery_time.ci95 == pytest.approx(2.484, rel=0.001)
    assert list(netcache.recovery_phases) == ["collect", "restore"]
    assert netcache.recovery_phases["collect"].mean == 2
    assert netcache.recovery_phases["restore"].ci95 == 0
    assert netcache.control_plane_mib_per_s is not None
    assert netcache.control_plane_mib_per_s.mean == pytest.approx(CONTROL / MIB)
    assert nocache.recovery_time is None
    assert nocache.recovery_phases == {}


def test_json_export_has_all_figures(store: Store) -> None:
    ids = record_comparison(store)
    exported = json.loads(to_json(store.records(ids)))["runs"]
    assert [run["id"] for run in exported] == ids
    assert exported[1]["series"]["hit_ratio"][5] == pytest.approx(0.48, abs=0.02)
    assert exported[1]["parameters"]["workload"]["zipf"] == 0.99
    assert exported[1]["latency_histogram"]


def test_csv_has_a_line_per_second_and_a_column_per_server(store: Store) -> None:
    with StoreSink(store) as sink:
        record(sink, start("a", "netcache", params={"workload.zipf": 0.9}))
    rows = list(csv.DictReader(io.StringIO(to_csv(store.records(["a"])))))
    assert len(rows) == 23
    assert rows[0]["param:workload.zipf"] == "0.9"
    assert float(rows[5]["server_load_7"]) > 0
    assert float(rows[5]["control_plane_mib_per_s:switch"]) == pytest.approx(CONTROL / MIB)
    assert rows[5]["phase"] == "measure"


def test_parquet_is_the_csv_with_types(store: Store) -> None:
    with StoreSink(store) as sink:
        record(sink, start("a", "netcache", params={"workload.zipf": 0.9, "workload.mix": "a"}))
        record(sink, start("b", "nocache", params={"workload.zipf": 0.99}, repeat=1))
        sink.begin(start("none", "nocache"))
    store.tag(["b"], add=["paper"])
    records = store.records(["a", "b", "none"])
    table = parquet(to_parquet(records))
    lines = list(csv.DictReader(io.StringIO(to_csv(records))))
    assert table.column_names == list(lines[0])
    for line, row in zip(lines, table.to_pylist(), strict=True):
        for name, value in row.items():
            assert line[name] == ("" if value is None else str(value)), name
    kinds = {field.name: str(field.type) for field in table.schema}
    assert (kinds["run"], kinds["seed"], kinds["phase"]) == ("string", "int64", "string")
    assert (kinds["throughput_ops"], kinds["lost_ops"]) == ("double", "int64")
    assert (kinds["latency_p99_us"], kinds["server_load_7"]) == ("double", "double")
    assert (kinds["control_plane_mib_per_s:switch"], kinds["time"]) == ("double", "double")
    assert kinds["param:workload.mix"] == "string"
    runs = json.loads(table.schema.metadata[b"netkv"])["runs"]
    assert [run["id"] for run in runs] == ["a", "b", "none"]
    assert runs[0]["parameters"]["workload"]["zipf"] == 0.99
    assert (runs[0]["throughput_ops"], runs[1]["tags"]) == (records[0].throughput_ops, ["paper"])
    assert "series" not in runs[0]


def test_parquet_of_swept_texts_and_truth_values(store: Store) -> None:
    with StoreSink(store) as sink:
        for name, size, mirror in (("a", 8, True), ("b", {"mean": 9}, False)):
            params = {"workload.multiget": size, "lab.mirror": mirror, "lab.servers": 2**40}
            record(sink, start(name, "netcache", params=params))
    table = parquet(to_parquet(store.records(["a", "b"])))
    assert table["param:workload.multiget"].unique().to_pylist() == ["8", '{"mean": 9}']
    assert table["param:lab.mirror"].unique().to_pylist() == [True, False]
    assert table["param:lab.servers"].unique().to_pylist() == [2**40]


def test_parquet_without_its_package_is_explained(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(NetkvError, match=r"pip install 'netkv\[parquet\]'"):
        to_parquet(store.records(record_comparison(store)))


def test_export_of_a_run_without_samples_has_no_lines(store: Store) -> None:
    with StoreSink(store) as sink:
        sink.begin(start("none"))
    records = store.records(["none"])
    assert len(to_csv(records).splitlines()) == 1
    assert parquet(to_parquet(records)).num_rows == 0


def parquet(content: bytes) -> Any:
    """The table in a file. Without threads, which may abort Python at its end."""
    return pq.read_table(pa.BufferReader(content), use_threads=False)
