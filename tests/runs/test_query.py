"""Queries of stored runs: each filter, the search in texts, the order, and pages."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Dialect, update
from sqlalchemy.dialects import postgresql

from netkv.errors import UsageError
from netkv.runs import Store, StoreSink
from netkv.runs.query import RunQuery, sortable, statement
from netkv.runs.records import RunRecord
from netkv.runs.schema import RunRow, SampleRow
from netkv.scenarios.results import RunStart
from netkv.scenarios.values import of_run
from netkv.schemes import metric_table
from tests.runs import recorded_runs
from tests.runs.recorded_runs import record

T0 = 1_790_000_000.0


def start(run_id: str, scheme: str, **changes: Any) -> RunStart:
    """A short run: what is asked for are its figures."""
    return recorded_runs.start(run_id, scheme, duration=2.0, **changes)


def options(servers: int, zipf: float, **more: Any) -> dict[str, Any]:
    return {"lab": {"servers": servers, **more}, "workload": {"zipf": zipf, "writes": 0.05}}


@pytest.fixture
def store(store: Store) -> Store:
    """Four runs that ended, and a running one."""
    with StoreSink(store, group="gone") as sink:
        record(sink, start("a", "nocache", started_at=T0, parameters=options(8, 0.9)), 1000)
        swept = {"workload.zipf": 0.99}
        run = start("b", "netcache", started_at=T0 + 1, params=swept, parameters=options(8, 0.99))
        record(sink, run, 2000)
    with StoreSink(store, group="gtwo") as sink:
        about = {"scenario": "hot-in", "title": "Hot keys move", "mode": "sim"}
        run = start(
            "c", "nocache", started_at=T0 + 2, parameters=options(16, 0.99, target="1"), **about
        )
        record(sink, run, 3000)
        run = start("d", "netcache", started_at=T0 + 3, parameters=options(128, 0), **about)
        record(sink, run, 500)
        sink.begin(start("e", "nocache", started_at=T0 + 4, parameters={"lab": {}}))
        store.end(["e"], "cancelled", "stopped")
    with store.transaction() as session:
        session.execute(update(RunRow).where(RunRow.id == "e").values(status="running"))
        session.execute(update(RunRow).where(RunRow.id == "e").values(figures={}))
        session.execute(update(RunRow).where(RunRow.id == "a").values(tags=["paper", "fig:7"]))
        session.execute(update(RunRow).where(RunRow.id == "b").values(tags=["paper"], pinned=True))
        session.execute(update(RunRow).where(RunRow.id == "c").values(note="Größer als erwartet"))
    return store


def ids(store: Store, **query: Any) -> str:
    """The ids of the runs of a query, in order."""
    page = store.search(RunQuery(**query))
    assert page.total == len(page.runs), "without a limit"
    return "".join(head.id for head in page.runs)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, "edcba"),
        ({"scenario": "hot-in"}, "dc"),
        ({"scheme": ["netcache"]}, "db"),
        ({"scheme": ["netcache", "nocache"]}, "edcba"),
        ({"scheme": ["farreach"]}, ""),
        ({"mode": "live"}, "eba"),
        ({"status": ["running", "failed"]}, "e"),
        ({"status": ["done"], "mode": "sim"}, "dc"),
        ({"group": "gone"}, "ba"),
        ({"tags": ["paper"]}, "ba"),
        ({"tags": ["paper", "fig:7"]}, "a"),
        ({"tags": ["Paper"]}, ""),
        ({"pinned": True}, "b"),
        ({"pinned": False}, "edca"),
        ({"started_after": T0 + 1, "started_before": T0 + 3}, "dcb"),
        ({"search": "hot KEYS"}, "dc"),
        ({"search": "größer"}, "c"),
        ({"search": "fig:7"}, "a"),
        ({"search": "netcache zipf=0.99"}, "b"),
        ({"search": "100%"}, ""),
        ({"where": ["workload.zipf=0.99"]}, "cb"),
        ({"where": ["workload.zipf!=0.99"]}, "da"),
        ({"where": ["lab.servers>=16"]}, "dc"),
        ({"where": ["lab.servers<16"]}, "ba"),
        ({"where": ["lab.servers > 8", "workload.zipf <= 0"]}, "d"),
        ({"where": ["lab.target=1"]}, "c"),
        ({"where": ["lab.servers=true"]}, ""),
        ({"where": ["lab.service_rate=100"]}, ""),
        ({"where": [f"lab.servers={'[' * 100_000}"]}, ""),
        ({"where": [f"lab.servers!=8{' ' * 100_000}x"]}, "dcba"),
        ({"where": ["lab.servers=8"], "search": "quickstart", "tags": ["paper"]}, "ba"),
    ],
)
def test_filter_selects_its_runs(store: Store, query: dict[str, Any], expected: str) -> None:
    assert ids(store, **query) == expected


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("started_at", "edcba"),
        ("id", "edcba"),
        ("scheme", "ecadb"),
        ("scenario", "ebadc"),
        ("group", "edcba"),
        ("pinned", "bedca"),
        ("finished_at", "edcba"),
        ("throughput_ops", "bcdae"),
        ("latency_p99_us", "cadbe"),
        ("load_imbalance", "cadbe"),
        ("workload.zipf", "cbade"),
        ("lab.servers", "dcbae"),
        ("lab.service_rate", "edcba"),
    ],
)
def test_order_is_that_of_the_values(store: Store, sort: str, expected: str) -> None:
    assert ids(store, sort=sort) == expected


def test_runs_can_be_sorted_by_every_figure_and_field(store: Store) -> None:
    """Up is down in reverse, except for equal values and for runs without one, which are last."""
    records = {run_id: store.record(run_id) for run_id in "abcde"}

    def value(run: RunRecord, name: str) -> Any:
        metric = metric_table.find(name)
        if metric is None:
            return getattr(run, name)
        return None if run.status == "running" else of_run(metric, run)

    for sort in sortable():
        values = {run_id: value(run, sort) for run_id, run in records.items()}
        known = [each for each in values.values() if each is not None]
        for descending in (False, True):
            found = [values[each] for each in ids(store, sort=sort, descending=descending)]
            assert found[: len(known)] == sorted(known, reverse=descending), sort
            assert set(found[len(known) :]) <= {None}, sort


def test_truth_values_and_the_last_interval_have_an_order(store: Store) -> None:
    for run_id, correct, cached in (("a", True, 3), ("b", False, 2), ("c", None, 7)):
        with store.transaction() as session:
            row = session.get_one(RunRow, run_id)
            row.figures = {**row.figures, "linearizable": correct}
            own = SampleRow.run_id == run_id
            session.execute(update(SampleRow).where(own).values(cached=cached))
    assert ids(store, sort="linearizable", descending=False) == "baedc"
    assert ids(store, sort="linearizable") == "abedc"
    assert ids(store, sort="cached", status=["done"]) == "dcab"


@pytest.mark.parametrize("query", [{}, {"search": "a"}, {"sort": "load_imbalance"}])
def test_pages_are_parts_of_the_whole(store: Store, query: dict[str, Any]) -> None:
    whole = [head.id for head in store.search(RunQuery(**query)).runs]
    pages = [store.search(RunQuery(**query, offset=at, limit=2)) for at in (0, 2, 4, 6)]
    assert [head.id for page in pages for head in page.runs] == whole
    assert {page.total for page in pages} == {len(whole)}
    assert store.search(RunQuery(**query, limit=0)).runs == []
    assert store.search(RunQuery(**query, offset=10**30, limit=10**30)).runs == []


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"status": ["finished"]}, "'finished' is not a status of runs."),
        ({"mode": "life"}, "'life' is not a mode. Did you mean 'live'?"),
        ({"sort": "throughput"}, "cannot be sorted by 'throughput'. Did you mean 'throughput_ops'"),
        ({"where": ["workload.zipf"]}, "'workload.zipf' is not a condition on an option."),
        ({"where": ["=0.99"]}, "'=0.99' is not a condition"),
        ({"sort": "workload.zipff"}, "Did you mean 'zipf'?"),
        ({"where": ["workload.zipf="]}, "is not a condition"),
        ({"where": ["lab.servers=>8"]}, "look like workload.zipf=0.99, lab.servers>=8"),
        ({"where": ["workload.mix>b"]}, "compares with 'b', which is not a number"),
        ({"where": ["lab.servers<true"]}, "which is not a number"),
        ({"where": ["workload.zipff=1"]}, "Did you mean 'zipf'?"),
        ({"where": ["workload.²=1"]}, "'workload.²' is not an option"),
        ({"where": ["workload.zipf<1e999"]}, "which is not a number"),
        ({"offset": -1}, "cannot be negative"),
    ],
)
def test_impossible_query_is_explained(store: Store, query: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        store.search(RunQuery(**query))
    assert sentence in str(refused.value)


@pytest.mark.parametrize("sort", ["throughput_ops", "latency_p99_us", "linearizable", "preserved"])
def test_figures_are_read_from_json_on_other_databases(sort: str) -> None:
    dialect: Dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    text = str(statement(RunQuery(sort=sort, pinned=True)).compile(dialect=dialect))
    assert "runs.figures ->> " in text or "runs.figures #>> " in text
    assert "json_extract" not in text.lower()
