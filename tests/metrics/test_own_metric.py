"""A metric that only its scheme declares is in results, store, tables, figures and API."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import sqlite3
from dataclasses import replace
from typing import Any

import httpx
import pytest
from rich.console import Console

from netkv import schemes
from netkv.errors import NetkvError, UsageError
from netkv.metrics.metric import Metric
from netkv.metrics.readings import client
from netkv.metrics.sources import Gauge, Quotient, Sum
from netkv.report import page, plots, tables
from netkv.runs import Store, StoreSink
from netkv.runs.compare import compare
from netkv.runs.export import to_csv
from netkv.runs.records import RunRecord
from netkv.runs.schema import RunRow
from netkv.scenarios import loader, reference
from netkv.scenarios.results import ScenarioResult
from netkv.scenarios.runner import run_scenario
from netkv.schemes import metric_table, registry
from tests.api.serving import own_application, served, store

__all__ = ["own_application", "served", "store"]
pytestmark = pytest.mark.usefixtures("made_up")

PUTS = Metric(
    "puts_seen",
    "Writes seen",
    "Measured writes, for a test.",
    Sum(client("writes"), "measured"),
    unit="writes",
    sense="higher",
    repeats="sum",
    time="sum",
    column="writes seen",
    summary=True,
)
PUT_SHARE = Metric(
    "put_share",
    "Share of writes",
    "Writes over all operations, for a test.",
    Quotient(client("writes"), client("completed")),
    unit="0 to 1",
    time="ratio",
    compared=True,
)
LEVEL = Metric(
    "put_level",
    "Writes at a time",
    "Writes of an interval, for a test.",
    Gauge(client("writes")),
    time="last",
)
TEXT = """\
name: own
schemes: [nocache, made-up]
mode: sim
lab: {servers: 2, service_rate: 500}
workload: {keys: 500, writes: 0.5, arrivals: {outstanding: 4}}
warmup: 0
duration: 3
expect:
  - made_up.puts_seen > 100
  - made_up.put_share >= 0.4
plots:
  - {y: puts_seen, x: time, title: Writes over time}
  - {y: put_share, title: Writes}
  - {y: put_level, title: Level}
"""


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers a scheme that differs from `nocache` only in its name and its metrics."""
    like = schemes.get("nocache")
    scheme = replace(
        like,
        name="made-up",
        about=replace(like.about, title="Made up"),
        metrics=(PUTS, PUT_SHARE, LEVEL),
    )
    monkeypatch.setitem(registry.catalogue().schemes, scheme.name, scheme)


@pytest.fixture
def result(made_up: None, store: Store) -> ScenarioResult:  # noqa: ARG001 (registers the scheme)
    with StoreSink(store, group="g1") as sink:
        return asyncio.run(run_scenario(loader.loads(TEXT, "own.yaml"), sink=sink))


@pytest.fixture
def records(result: ScenarioResult, store: Store) -> list[RunRecord]:
    return store.records([run.id for run in result.runs])


def test_result_summary_and_thresholds_have_the_metric(result: ScenarioResult) -> None:
    other, run = (each.model_dump(mode="json") for each in result.runs)
    assert run["puts_seen"] > 100
    assert sum(run["series"]["puts_seen"]) == run["puts_seen"]
    assert run["put_share"] == pytest.approx(0.5, abs=0.1)
    assert "put_level" not in run
    assert run["series"]["put_level"] == run["series"]["puts_seen"]
    assert other["puts_seen"] is other["put_share"] is None, "other schemes have no value"
    assert result.ok, result.thresholds
    assert [each.puts_seen for each in result.summary] == [None, run["puts_seen"]]


def test_expect_line_with_a_wrong_name_suggests_the_metric() -> None:
    with pytest.raises(UsageError, match="Did you mean 'puts_seen'"):
        loader.loads(TEXT.replace("made_up.puts_seen", "made_up.puts_sen"), "own.yaml")


def test_run_store_has_the_metric_without_a_column(
    result: ScenarioResult, records: list[RunRecord], store: Store
) -> None:
    run = result.runs[1]
    assert records[1].puts_seen == run.puts_seen
    assert records[1].series["puts_seen"] == run.series["puts_seen"]
    assert records[1].result().model_dump() | {"finished_at": None} == (
        run.model_dump() | {"series": records[1].series}
    )
    with sqlite3.connect(store.url.removeprefix("sqlite:///")) as raw:
        (seen,) = raw.execute(
            "SELECT sum(json_extract(metrics, '$.puts_seen')) FROM samples WHERE run_id = ?",
            [run.id],
        ).fetchone()
        (whole,) = raw.execute(
            "SELECT json_extract(figures, '$.puts_seen') FROM runs WHERE id = ?", [run.id]
        ).fetchone()
    raw.close()
    assert seen == whole == run.puts_seen


def test_tables_pages_and_files_have_the_metric(records: list[RunRecord]) -> None:
    compared = compare(records)
    assert [row.puts_seen for row in compared.rows] == [None, records[1].puts_seen]
    assert compared.rows[1].put_share.mean == records[1].put_share
    shown = text(tables.comparison(compared))
    assert "writes" in shown
    assert f"{records[1].puts_seen:,}" in shown
    assert f"writes seen {records[1].puts_seen:,}" in text(tables.run_details(records[1]))
    assert "<th>writes seen</th>" in page.render(records)
    rows = list(csv.DictReader(io.StringIO(to_csv(records))))
    assert sum(float(row["puts_seen"] or 0) for row in rows) == records[1].puts_seen


def test_plots_draw_the_metric(records: list[RunRecord]) -> None:
    drawn = plots.defined_or_usual(records)
    assert drawn.left_out == []
    over_time, bars, level = drawn.figures
    assert over_time.y.label == "Writes seen"
    assert [line.name for line in over_time.series] == ["Made up"]
    assert bars.y.share
    assert level.series[-1].y[0] == records[1].series["put_level"][-1]


def test_reference_has_the_metric() -> None:
    lines = reference.markdown().splitlines()
    row = "| `puts_seen` | sum | any | `made-up` | writes | Measured writes, for a test. |"
    assert row in lines
    assert "puts_seen" in json.dumps(reference.schema())


@pytest.mark.usefixtures("own_application")
def test_api_has_the_metric(records: list[RunRecord], served: Any) -> None:
    with httpx.Client(base_url=f"{served.url}/api/v1", timeout=100) as api:
        known = {each["name"]: each for each in api.get("metrics").json()}
        assert known["puts_seen"]["schemes"] == ["made-up"]
        assert known["puts_seen"]["sense"] == "higher"
        run = records[1]
        series = api.get(f"runs/{run.id}/series").json()
        assert series["columns"]["puts_seen"] == run.series["puts_seen"]
        assert series["run"]["puts_seen"] == run.puts_seen
        runs = {"run": [each.id for each in records]}
        rows = api.get("compare", params=runs).json()["rows"]
        assert rows[1]["puts_seen"] == run.puts_seen
        document = api.get("openapi.json").json()
    described = document["components"]["schemas"]["RunRecord"]["properties"]["puts_seen"]
    assert described["description"] == PUTS.meaning


def test_unfinished_run_has_the_figures_of_its_samples(
    records: list[RunRecord], store: Store
) -> None:
    run = records[1]
    with store.transaction() as session:
        row = session.get_one(RunRow, run.id)
        row.status, row.figures = "running", {}
    store.end([run.id], "failed", "cut short")
    assert store.record(run.id).puts_seen == run.puts_seen


def test_two_metrics_of_one_name_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    again = replace(PUTS, label="Others")
    scheme = replace(schemes.get("made-up"), name="second", metrics=(again,))
    monkeypatch.setitem(registry.catalogue().schemes, scheme.name, scheme)
    with pytest.raises(NetkvError, match='two metrics \'puts_seen\': "Writes seen" and "Others"'):
        metric_table.all_metrics()


def text(table: Any) -> str:
    console = Console(width=250, no_color=True)
    with console.capture() as captured:
        console.print(table)
    return captured.get()
