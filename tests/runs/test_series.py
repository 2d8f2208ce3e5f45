"""Series of stored runs: as columns, in a window of time, and with fewer points."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from netkv.runs import Store, StoreSink
from netkv.runs.downsample import downsample
from netkv.runs.schema import SampleRow
from netkv.runs.series import Columns
from netkv.scenarios.results import RunSample
from tests.runs.recorded_runs import record, samples, start


def value(sample: RunSample, name: str) -> Any:
    """The value of a column in a sample."""
    if name.startswith("latency_"):
        return getattr(sample.latency_us, name.removeprefix("latency_").removesuffix("_us"))
    return getattr(sample, name)


def series(store: Store, **changes: Any) -> Columns:
    """The series of a new run, NetCache by default."""
    with StoreSink(store) as sink:
        record(sink, start("x", "netcache", **changes))
    return store.series("x")[0]


def test_columns_have_the_values_of_the_samples(store: Store) -> None:
    columns = series(store)
    every, last = store.samples("x")
    assert store.series("x")[1] == last
    for name, column in columns.items():
        assert column == [value(sample, name) for sample in every], name
    assert {"time", "phase", "interval", *RunSample.metric_names()} <= set(columns)
    assert {"latency_mean_us", "latency_p999_us", "server_load"} <= set(columns)
    assert store.record("x").series == columns


def test_scalars_are_the_columns_without_lists(store: Store) -> None:
    whole = series(store)
    lists = {name for name, column in whole.items() if isinstance(column[-1], list | dict)}
    assert lists == {"server_load", "control_plane_mib_per_s_by_switch"}
    scalars, last = store.series("x", scalars=True)
    assert scalars == {name: column for name, column in whole.items() if name not in lists}
    assert last == store.series("x")[1]


def test_metric_of_an_uninstalled_scheme_is_in_the_series(store: Store) -> None:
    series(store)
    with store.transaction() as session:
        session.execute(update(SampleRow).values(metrics={"lately": 3, "control_dropped": 1}))
    columns, _ = store.series("x")
    assert set(columns["lately"]) == {3}
    assert set(columns["preserved"]) == {0}, "the value of runs without this metric"


def test_window_has_the_intervals_that_end_in_it(store: Store) -> None:
    whole = series(store)
    window, last = store.series("x", since=4, until=6)
    assert window["time"] == [4, 5, 6]
    assert window["throughput_ops"] == whole["throughput_ops"][6:9]
    assert [sample.time for sample in store.samples("x", since=4, until=6)[0]] == [4, 5, 6]
    assert last == store.samples("x", until=6)[1]
    assert store.series("x", since=18)[0]["time"] == [18, 19, 20]
    empty, none = store.series("x", since=1000)
    assert none == 0
    assert set(empty) == set(whole)
    assert not any(empty.values())
    assert store.series("no-such-run")[1] == 0


def test_downsampling_keeps_the_mean_and_the_worst_latency(store: Store) -> None:
    every = series(store, duration=997.0)
    few = downsample(every, 50)
    assert all(len(column) == len(few["time"]) <= 50 for column in few.values())

    def operations(of: Columns) -> float:
        return float(sum(r * s for r, s in zip(of["throughput_ops"], of["interval"], strict=True)))

    assert operations(few) == pytest.approx(operations(every))
    assert max(few["latency_p99_us"]) == max(every["latency_p99_us"])
    assert sum(few["lost_ops"]) == sum(every["lost_ops"]) == 3
    assert few["server_load"][3][7] == pytest.approx(
        sum(load[7] for load in every["server_load"][few_rows(few, every)]) / few["interval"][3]
    )
    assert set(few["phase"]) == {"warmup", "measure"}
    assert few["time"][-1] == every["time"][-1]


def few_rows(few: Columns, every: Columns) -> slice:
    """The intervals that the fourth joined one covers."""
    return slice(every["time"].index(few["time"][2]) + 1, every["time"].index(few["time"][3]) + 1)


def test_short_series_is_not_downsampled(store: Store) -> None:
    every = series(store)
    assert downsample(every, 23) == every
    assert len(downsample(every, 22)["time"]) <= 22
    with pytest.raises(ValueError, match="at least 1"):
        downsample(every, 0)


def test_series_of_a_short_window_is_exact(store: Store) -> None:
    """Zooming in shows each interval of a long run."""
    series(store, duration=200.0)
    recorded = samples(start("x", "netcache", duration=200.0))
    (drawn,) = (sample for sample in recorded if sample.time == 150)
    zoomed = downsample(store.series("x", since=140, until=160)[0], 30)
    assert zoomed["throughput_ops"][zoomed["time"].index(150)] == drawn.throughput_ops
