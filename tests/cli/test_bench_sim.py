"""`netkv bench sim` as a user meets it. It is about form and sense, not about speed."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Netkv

from netkv.bench import simulator
from netkv.bench.simulated_rack import Case
from netkv.lab.spec import TopologySpec

SHORT = ["bench", "sim", "--seconds", "0.1"]
ROW = {
    *("scheme", "servers", "keys", "zipf", "topology", "switches", "clients", "outstanding"),
    *("requests_per_s", "events_per_s", "requests_per_core_s", "events_per_core_s"),
    *("events_per_request", "hit_ratio", "python_share"),
    *("virtual_s", "wall_s", "setup_s", "memory_mb"),
}

pytestmark = pytest.mark.timeout(200)


def test_document_has_a_row_for_each_rack_and_the_program_alone_beside(
    netkv: Netkv, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    said = netkv(
        *SHORT, "--scheme", "nocache", "--servers", "1", "--servers", "2", "--keys", "100000000",
        "--json", "--plot", str(page),
    )  # fmt: skip
    assert said.status == 0, said.err
    document = said.document
    assert set(document) == {"machine", "results", "ratios"}
    assert document["machine"]["cores"] >= 1
    assert [row["servers"] for row in document["results"]] == [1, 2]
    for row in document["results"]:
        assert set(row) == ROW
        assert (row["scheme"], row["keys"], row["switches"]) == ("nocache", 100_000_000, 1)
        assert 0 < row["requests_per_s"] < row["events_per_s"]
        assert row["requests_per_s"] <= 1.1 * row["requests_per_core_s"]
        assert 0 <= row["python_share"] < 1
        assert row["memory_mb"] < 4096, "100 million keys need no table of that size"
        assert row["hit_ratio"] is None
    beside = [ratio for name, ratio in document["ratios"].items() if name.endswith("alone")]
    assert len(beside) == 2
    assert all(ratio > 1 for ratio in beside), "the program is a part of the rack"
    assert "Simulated requests" in page.read_text(encoding="utf-8")


def test_caches_and_more_switches_are_measured_too() -> None:
    small = {"scheme": "netcache", "servers": 2, "keys": 1000, "cache_entries": 50, "seconds": 0.05}
    spine_leaf = TopologySpec(kind="spine-leaf", layers=2, switches=2)
    rows = [
        simulator.Row(Case(**small)),
        simulator.Row(Case(**small, topology=spine_leaf)),
    ]
    steps: list[int] = []
    found = simulator.run(rows, lambda at, _count, _label: steps.append(at))
    assert steps == [0, 1, 2]
    assert [each.switches for each in found.results] == [1, 5]
    for each in found.results:
        assert each.hit_ratio is not None
        assert 0 < each.hit_ratio < 1
    assert found.results[1].events_per_request > found.results[0].events_per_request


def test_everything_is_varied_unless_sizes_are_asked_for() -> None:
    rows = simulator.plan([], [], [], 1.0)
    for scheme in ("nocache", "netcache"):
        own = [row.case for row in rows if row.case.scheme == scheme]
        assert {case.servers for case in own} == {1, 8, 32, 128}
        assert {case.keys for case in own} == {10_000, 1_000_000, 100_000_000}
        assert {case.topology.kind for case in own} == {"rack", "racks", "spine-leaf"}
        assert {case.zipf for case in own} == {0.99, 0}
        assert {case.outstanding for case in own if case.servers == 128} == {156, 19_968}
    assert len({str(row) for row in rows}) == len(rows), "no rack is measured twice"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--scheme", "netcash"], "There is no scheme 'netcash'."),
        (["--servers", "129"], "--servers"),
        (["--plot", "nowhere/figure.svg"], "there is no directory 'nowhere'"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_measured(
    netkv: Netkv, arguments: list[str], sentence: str
) -> None:
    said = netkv("bench", "sim", *arguments)
    assert said.status == 2
    assert sentence in said.err
    assert "Traceback" not in said.err
