"""Stored runs in the API: queries, series, histograms, remarks, deletion, comparison, export."""

from __future__ import annotations

import csv
import io
from functools import partial
from typing import Any

import httpx
import pytest

from netkv.runs import StoreSink, histograms
from netkv.runs.compare import compare
from netkv.runs.export import to_csv, to_json
from tests.api.serving import Served
from tests.runs.recorded_runs import record, record_comparison, record_sweep, start
from tests.waiting import PATIENCE_S

get = partial(httpx.get, timeout=PATIENCE_S)
send = partial(httpx.request, timeout=PATIENCE_S, headers={"content-type": "application/json"})


def ids(served: Served, **query: Any) -> list[str]:
    """The ids of the runs of a query."""
    answer = get(f"{served.url}/api/v1/runs", params=query)
    assert answer.status_code == 200, answer.text
    return [run["id"] for run in answer.json()["runs"]]


def detail(answer: httpx.Response, status: int) -> str:
    """The sentence of an error."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return str(answer.json()["detail"])


def test_runs_are_listed_newest_first_with_details(served: Served) -> None:
    record_comparison(served.store)
    found = get(f"{served.url}/api/v1/runs").json()
    assert found["total"] == 2
    runs = found["runs"]
    assert [run["scheme"] for run in runs] == ["netcache", "nocache"]
    assert "series" not in runs[0]
    details = get(f"{served.url}/api/v1/runs/{runs[0]['id']}").json()
    assert details["latency_histogram"]
    assert details["provenance"]["program_hash"] == "hash-of-netcache"
    assert get(f"{served.url}/api/v1/runs", params={"group": "other"}).json()["runs"] == []


def test_series_of_a_long_run_is_short_enough_to_draw(served: Served) -> None:
    with StoreSink(served.store) as sink:
        record(sink, start("long", duration=3000.0))
    series = get(f"{served.url}/api/v1/runs/long/series").json()
    columns = series["columns"]
    assert 800 < len(columns["time"]) <= 1200
    assert series["interval"] == 3
    assert columns["time"][-1] == 3000
    assert sum(columns["lost_ops"]) == 3, "downsampling keeps every loss"
    few = get(f"{served.url}/api/v1/runs/long/series", params={"limit": 100}).json()
    assert len(few["columns"]["time"]) <= 100


def test_comparison_and_verdicts(served: Served) -> None:
    runs = record_comparison(served.store)
    rows = get(f"{served.url}/api/v1/compare", params={"run": runs}).json()["rows"]
    assert rows[0]["baseline"]
    assert rows[1]["ratio"]["mean"] == pytest.approx(2.6, rel=0.05)
    verdicts = get(f"{served.url}/api/v1/groups/gcompared/verdicts").json()
    assert verdicts["thresholds"][0]["ok"]


def test_runs_are_filtered_sorted_and_paged(served: Served) -> None:
    record_sweep(served.store, lab={"servers": 8})
    record_comparison(served.store)
    assert len(ids(served)) == 6
    assert ids(served, group="gsweep", scheme="netcache") == ["netcache-0.99", "netcache-0.9"]
    assert ids(served, where="workload.zipf<0.95") == ["netcache-0.9", "nocache-0.9"]
    assert ids(served, search="NetCache against", scheme=["nocache", "netcache"], limit=1) == [
        "compared-netcache-0"
    ]
    by_rate = ids(served, group="gsweep", sort="throughput_ops", order="ascending")
    assert [run.split("-")[0] for run in by_rate] == ["nocache"] * 2 + ["netcache"] * 2
    page = get(f"{served.url}/api/v1/runs", params={"limit": 2, "offset": 4}).json()
    assert page["total"] == 6
    assert len(page["runs"]) == 2
    assert ids(served, id=["nocache-0.9", "nope", "netcache-0.9"]) == [
        "netcache-0.9",
        "nocache-0.9",
    ]
    assert ids(served, status="failed") == []
    assert ids(served, mode="sim") == []
    assert ids(served, limit=0) == []


@pytest.mark.parametrize(
    ("query", "field", "reason"),
    [
        ({"sort": "throughput"}, "sort", "Did you mean 'throughput_ops'?"),
        ({"sort": "workload.zipff"}, "sort", "Did you mean 'zipf'?"),
        ({"where": "workload.zipff=1"}, "where", "zipf"),
        ({"where": "zipf"}, "where", "is not a condition"),
        ({"status": "ended"}, "status.0", "'failed'"),
        ({"mode": "real"}, "mode", "'live' or 'sim'"),
        ({"limit": 5001}, "limit", "less than or equal to 5000"),
        ({"offset": -1}, "offset", "greater than or equal to 0"),
    ],
)
def test_wrong_query_names_its_field(
    served: Served, query: dict[str, Any], field: str, reason: str
) -> None:
    record_comparison(served.store)
    answer = get(f"{served.url}/api/v1/runs", params=query)
    assert reason in detail(answer, 422)
    assert [each["field"] for each in answer.json()["errors"]] == [field]


def test_stored_values_are_offered_for_filters(served: Served) -> None:
    runs = record_comparison(served.store)
    served.store.tag(runs, ["paper"])
    assert get(f"{served.url}/api/v1/runs/values").json() == {
        "scenarios": {"quickstart": 2},
        "schemes": {"netcache": 1, "nocache": 1},
        "tags": {"paper": 2},
    }


def test_tags_note_and_pin_of_a_run_are_changed(served: Served) -> None:
    run, other = record_comparison(served.store)
    url = f"{served.url}/api/v1/runs/{run}"
    changed = send("PATCH", url, json={"tags": ["paper", "fig:10"], "note": "see §6"}).json()
    assert (changed["tags"], changed["note"], changed["pinned"]) == (
        ["paper", "fig:10"],
        "see §6",
        False,
    )
    assert send("PATCH", url, json={"pinned": True}).json()["note"] == "see §6"
    assert "cannot be a tag" in detail(send("PATCH", url, json={"tags": ["a b"], "note": ""}), 422)
    assert served.store.head(run).note == "see §6", "a wrong request changes nothing"
    assert "There is no run 'nope'" in detail(
        send("PATCH", url[: -len(run)] + "nope", json={}), 404
    )
    tagged = send(
        "POST",
        f"{served.url}/api/v1/runs/tag",
        json={"runs": [run, other], "add": ["both"], "remove": ["paper"]},
    ).json()
    assert [each["tags"] for each in tagged["runs"]] == [["fig:10", "both"], ["both"]]
    assert ids(served, tag=["both", "fig:10"]) == [run]


def test_pinned_or_running_run_is_not_deleted(served: Served) -> None:
    run, other = record_comparison(served.store)
    served.store.pin([run], pinned=True)
    url = f"{served.url}/api/v1/runs"
    assert "is pinned; unpin it" in detail(send("DELETE", f"{url}/{run}"), 409)
    assert "Nothing was deleted" in detail(
        send("POST", f"{url}/delete", json={"runs": [other, run]}), 409
    )
    with StoreSink(served.store) as sink:
        sink.begin(start("live"))
        assert "in progress" in detail(send("DELETE", f"{url}/live"), 409)
    assert "There is no run 'nope'" in detail(
        send("POST", f"{url}/delete", json={"runs": [other, "nope"]}), 404
    )
    assert set(ids(served)) == {run, other, "live"}
    assert send("DELETE", f"{url}/{other}").json() == {"deleted": [other]}
    served.store.pin([run], pinned=False)
    assert send("POST", f"{url}/delete", json={"runs": [run, run]}).json() == {"deleted": [run]}
    assert ids(served) == ["live"]


def test_series_has_a_window_and_columns_of_choice(served: Served) -> None:
    run, _ = record_comparison(served.store)
    url = f"{served.url}/api/v1/runs/{run}/series"
    found = get(url, params={"since": 5, "until": 8, "columns": ["throughput_ops"]}).json()
    assert found["columns"].keys() == {"time", "phase", "interval", "throughput_ops"}
    assert found["columns"]["time"] == [5, 6, 7, 8]
    whole = get(url).json()["columns"]
    assert found["columns"]["throughput_ops"] == whole["throughput_ops"][7:11]
    assert "no column 'speed'" in detail(get(url, params={"columns": "speed"}), 422)
    scalars = get(url, params={"scalars": True}).json()["columns"]
    assert whole.keys() - scalars.keys() == {"server_load", "control_plane_mib_per_s_by_switch"}
    assert scalars == {name: whole[name] for name in scalars}


def test_histogram_is_the_fraction_of_slower_operations(served: Served) -> None:
    runs = record_comparison(served.store, repeats=2)
    one = get(f"{served.url}/api/v1/runs/{runs[0]}/histogram").json()
    assert one["count"] == 3000
    assert one["value_us"] == sorted(one["value_us"])
    assert one["above"] == sorted(one["above"], reverse=True)
    assert one["above"][-1] == 0
    stored = histograms.decode(served.store.record(runs[0]).latency_histogram)
    median = stored.at(50) / 1000
    near = min(range(len(one["above"])), key=lambda at: abs(one["above"][at] - 0.5))
    assert one["value_us"][near] == pytest.approx(median, rel=0.03)
    merged = get(f"{served.url}/api/v1/histograms", params={"run": runs}).json()
    assert [(each["scheme"], each["count"]) for each in merged] == [
        ("nocache", 6000),
        ("netcache", 6000),
    ]
    assert merged[0]["runs"] == [runs[0], runs[2]]


def test_events_and_verdicts_of_a_run(served: Served) -> None:
    run, _ = record_comparison(served.store)
    events = get(f"{served.url}/api/v1/runs/{run}/events").json()
    assert [event["kind"] for event in events] == ["killed", "started"]
    found = get(f"{served.url}/api/v1/runs/{run}/verdicts").json()
    assert found["group"] == "gcompared"
    assert found["thresholds"][0]["ok"]


def test_comparison_is_that_of_the_command_line(served: Served) -> None:
    record_sweep(served.store, lab={"servers": 8})
    runs = ["nocache-0.9", "netcache-0.9", "nocache-0.99", "netcache-0.99"]
    found = get(f"{served.url}/api/v1/compare", params={"run": runs}).json()
    expected = compare(served.store.comparable(runs)).model_dump(mode="json")
    assert {name: found[name] for name in expected} == expected
    assert found["different"] == [{"path": "workload.zipf", "values": [0.9, 0.9, 0.99, 0.99]}]


def test_baseline_may_be_a_scheme_or_any_stored_run(served: Served) -> None:
    record_sweep(served.store, lab={"servers": 8})
    url = f"{served.url}/api/v1/compare"
    by_scheme = get(url, params={"run": ["nocache-0.9", "netcache-0.9"], "baseline": "netcache"})
    assert [row["baseline"] for row in by_scheme.json()["rows"]] == [False, True]
    by_run = get(url, params={"run": "netcache-0.99", "baseline": "nocache-0.9"}).json()
    assert [row["runs"] for row in by_run["rows"]] == [["netcache-0.99"], ["nocache-0.9"]]
    assert by_run["rows"][0]["relative_to"] == "nocache-0.9"
    wrong = get(url, params={"run": "netcache-0.99", "baseline": "nope"})
    assert "neither a scheme nor a run" in detail(wrong, 422)
    assert wrong.json()["errors"][0]["field"] == "baseline"


def test_runs_are_exported_as_files(served: Served) -> None:
    runs = record_comparison(served.store)
    records = served.store.records(runs)
    url = f"{served.url}/api/v1/export"
    table = get(url, params={"run": runs, "format": "csv"})
    assert table.text == to_csv(records)
    assert len(list(csv.DictReader(io.StringIO(table.text)))) == 46
    assert table.headers["content-disposition"] == 'attachment; filename="runs.csv"'
    assert get(url, params={"run": runs, "format": "json"}).text == to_json(records)
    parquet = get(url, params={"run": runs[0], "format": "parquet"})
    assert parquet.content.startswith(b"PAR1")
    assert f'filename="{runs[0]}.parquet"' in parquet.headers["content-disposition"]
    assert "There is no run 'nope'" in detail(get(url, params={"run": "nope"}), 404)
    assert "'csv'" in detail(get(url, params={"run": runs, "format": "xls"}), 422)


def test_name_of_an_exported_file_is_safe(served: Served) -> None:
    with StoreSink(served.store) as sink:
        record(sink, start('../a "b";\r\nx'))
    answer = get(f"{served.url}/api/v1/export", params={"run": '../a "b";\r\nx', "format": "csv"})
    assert answer.headers["content-disposition"] == 'attachment; filename="a-b-x.csv"'


def test_comparison_uses_the_requested_baseline(served: Served) -> None:
    first, second = record_comparison(served.store)
    for query in (f"run={first}&run={second}", f"run={second}&run={first}"):
        found = get(f"{served.url}/api/v1/compare?{query}").json()
        assert found["baseline"] == "nocache"
        assert found["note"].startswith("Ratios are to nocache")
        compared = get(f"{served.url}/api/v1/compare?{query}&baseline={second}").json()
        assert {row["relative_to"] for row in compared["rows"]} == {second}
    wrong = get(f"{served.url}/api/v1/compare?{query}&baseline=netcash")
    assert wrong.status_code == 422
    assert "neither a scheme nor a run" in wrong.json()["detail"]


def test_evaluations_of_papers_are_beside_their_figures(served: Served) -> None:
    papers = get(f"{served.url}/api/v1/evaluations").json()
    (netcache,) = [paper for paper in papers if paper["name"] == "netcache"]
    first = netcache["experiments"][0]
    assert first["measured"]
    assert first["counted"]
    assert 0 < first["scores"]["alike"]["near"] <= netcache["scores"]["alike"]["rows"]
    url = f"{served.url}/api/v1/evaluations/netcache/netcache-skew"
    found = get(url).json()
    row = found["rows"][1]
    assert (row["quantity"], row["at"], row["paper"]) == ("NetCache over NoCache", 0.9, "3.60")
    own = row["by_seed"]
    assert own["low"] < own["mean"] < own["high"]
    assert (own["verdict"] == "near") == (abs(own["difference"]) <= 0.15)
    figure = found["figures"][0]
    assert [trace["name"] for trace in figure["data"]] == ["netkv", "paper"]
    file = get(f"{url}/{figure['name']}.csv")
    assert file.text.startswith("Zipf exponent,netkv,± netkv,paper")
    assert "There is no experiment 'netcache-nope'" in detail(
        get(url[: -len("skew")] + "nope"), 404
    )
    assert "has no figure 'nope'" in detail(get(f"{url}/nope.svg"), 404)
