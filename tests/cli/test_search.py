"""`netkv scenario search`, and `netkv scenario run --until`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netkv.cli import scenario as of_scenarios
from netkv.scenarios import provenance
from tests.cli.commands import Netkv, assert_wrong_usage

TEXT = """\
name: searched
schemes: [nocache, netcache]
mode: sim
lab: {servers: 2, service_rate: 500, cache_entries: 20}
workload: {keys: 100, writes: 0.1, arrivals: {outstanding: 8}}
warmup: 0
duration: 1
sweep: {workload.zipf: [0.5, 0.9]}
expect: [each.linearizable == 1]
"""
THROUGHPUT = "netcache.throughput_ops"


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    file = tmp_path / "searched.yaml"
    file.write_text(TEXT, encoding="utf-8")
    return str(file)


def points(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The points of a result, in the order of its runs."""
    found: dict[str, dict[str, Any]] = {}
    for run in document["result"]["runs"]:
        found.setdefault(str(run["params"]), run["params"])
    return list(found.values())


def test_points_are_spread_and_stored_in_one_group(netkv: Netkv, scenario: str) -> None:
    over = ("--over", "workload.zipf=0.4..1.2", "--over", "workload.writes=0..1")
    result = netkv("scenario", "search", scenario, *over, "--points", "8", "--json")
    assert result.status == 0, result.err
    found = points(result.document)
    assert len(found) == 8
    assert all(0.4 <= it["workload.zipf"] <= 1.2 for it in found)
    stored = netkv("runs", "list", "--limit", "1000", "--json").document["runs"]
    assert len(stored) == 16
    assert len({run["group"] for run in stored}) == 1


def test_best_point_is_the_largest_value(netkv: Netkv, scenario: str) -> None:
    command = ("scenario", "search", scenario, "--over", "workload.writes=0..1", "--points", "6")
    result = netkv(*command, "--maximise", THROUGHPUT, "--json")
    assert result.status == 0, result.err
    best = result.document["best"]
    values = [each["value"] for each in best]
    assert values == sorted(values, reverse=True)
    runs = [it for it in result.document["result"]["runs"] if it["scheme"] == "netcache"]
    assert values[0] == max(run["throughput_ops"] for run in runs)
    # Few writes are best, and the table says so.
    least = min(each["params"]["workload.writes"] for each in best)
    assert best[0]["params"]["workload.writes"] == least
    shown = netkv(*command, "--minimise", THROUGHPUT, "--sampler", "grid", "--again")
    assert f"The smallest values of {THROUGHPUT}:" in shown.out


def test_edge_of_each_scheme_is_where_the_condition_ends(netkv: Netkv, scenario: str) -> None:
    command = ("scenario", "search", scenario, "--over", "workload.arrivals.rate=200..4000")
    condition = "each.latency_p99_us <= 5000"
    result = netkv(*command, "--edge", condition, "--within", "5", "--json")
    assert result.status == 0, result.err
    edges = {edge["schemes"][0]: edge for edge in result.document["edges"]}
    for scheme, edge in edges.items():
        assert 0 < edge["fails"] - edge["holds"] <= 0.05 * edge["fails"]
        for run in result.document["result"]["runs"]:
            if run["scheme"] == scheme:
                rate = run["params"]["workload.arrivals.rate"]
                assert (run["latency_us"]["p99"] <= 5000) == edge["values"][f"{rate:g}"]
    # A switch that answers reads leaves the servers room.
    assert edges["netcache"]["holds"] > edges["nocache"]["holds"]
    # All runs are stored now, if the source is committed.
    again = netkv(*command, "--edge", condition, "--within", "5")
    assert "nocache: it holds up to workload.arrivals.rate=" in again.out
    if not provenance.provenance("", "").uncommitted:
        assert "runs were stored already" in again.err


def test_condition_without_an_edge_says_where_it_holds(netkv: Netkv, scenario: str) -> None:
    command = ("scenario", "search", scenario, "--over", "lab.servers=1..4 int")
    result = netkv(*command, "--edge", "each.lost_ops == 0")
    both = "at 1 and at 4, so no edge was looked for between them."
    assert f"nocache: it holds {both}" in result.out
    result = netkv(*command, "--edge", "netcache.throughput_ops < nocache.hit_ratio + 1")
    assert "it holds neither at 1 nor at 4, so no edge was looked for" in result.out


def test_seeds_are_added_until_the_interval_is_narrow(netkv: Netkv, scenario: str) -> None:
    command = ("scenario", "run", scenario, "--json", "--until")
    result = netkv(*command, f"{THROUGHPUT} / nocache.throughput_ops within 5%")
    assert result.status == 0, result.err
    assert "seeds are enough" in result.err
    seeds = len({run["seed"] for run in result.document["runs"]})
    assert seeds > 3
    assert f"{seeds} seeds are enough" in result.err
    stored = netkv("runs", "list", "--limit", "1000", "--json").document["runs"]
    assert len(stored) == 2 * 2 * seeds
    assert len({run["group"] for run in stored}) == 1
    late = netkv(*command, f"{THROUGHPUT} within 0.01%", "--at-most", "0")
    assert "seeds are not enough" in late.err
    assert "the time of 0 s is over" in late.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "What to vary is missing"),
        (("--over", "workload.zipf=1..0"), "the first value must be below the second"),
        (("--over", "workload.zip=0..1"), "'workload.zip'"),
        (("--over", "workload.zipf=0..1", "--over", "workload.zipf=1,2"), "is given twice"),
        (("--over", "lab.servers=0..4 int"), "lab.servers"),
        (("--over", "seed=1..4"), "cannot be swept"),
        (("--over", "lab.servers=1,0,2"), "--over: sweep point lab.servers=0"),
        (("--over", "workload.zipf=0..1", "--sampler", "best"), "There is no sampler 'best'"),
        (("--over", "workload.zipf=0..1", "--sampler", "tpe"), "needs '--maximise'"),
        (
            ("--over", "workload.zipf=0..1", "--maximise", THROUGHPUT, "--minimise", THROUGHPUT),
            "Give one of",
        ),
        (("--over", "workload.zipf=0..1", "--maximise", "netcache.speed"), "is not a metric"),
        (("--over", "workload.zipf=0..1", "--maximise", "2"), "such as nocache.throughput_ops"),
        (("--over", "workload.zipf=0..1", "--maximise", "lake.throughput_ops"), "not a scheme"),
        (("--over", "workload.zipf=0,1", "--edge", "each.lost_ops == 0"), "with a range"),
        (("--over", "workload.zipf=0..1", "--edge", "each.lost_ops"), "is not one comparison"),
    ],
)
def test_wrong_question_gets_a_sentence(
    netkv_in_process: Netkv, scenario: str, options: tuple[str, ...], message: str
) -> None:
    assert_wrong_usage(netkv_in_process("scenario", "search", scenario, *options), message)


def test_wrong_condition_of_until_gets_a_sentence(netkv_in_process: Netkv, scenario: str) -> None:
    run = ("scenario", "run", scenario)
    wrong = netkv_in_process(*run, "--until", "netcache.throughput_ops")
    assert_wrong_usage(wrong, "It should look like netcache.throughput_ops within 2%")
    assert_wrong_usage(netkv_in_process(*run, "--at-most", "5"), "'--at-most' is for '--until'")
    live = netkv_in_process(*run, "--mode", "live", "--until", f"{THROUGHPUT} within 2%")
    assert_wrong_usage(live, "'--until' is for simulated runs")


def test_seeds_have_a_limit(
    netkv_in_process: Netkv, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_scenarios, "_MOST_SEEDS", 5)
    # No interval is that narrow, and there is time enough.
    options = ("--until", f"{THROUGHPUT} within 0.001%", "--at-most", "10000", "--jobs", "1")
    done = netkv_in_process("scenario", "run", scenario, *options)
    assert "5 seeds are not enough" in done.err
    assert "more are not tried" in done.err
