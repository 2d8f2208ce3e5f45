"""The output and the errors of `netkv bench sim`, not the measured speed."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv import schemes
from netkv.bench import simulator
from netkv.errors import UsageError
from netkv.model.hardware import TopologySpec
from netkv.sim.timing import Case
from tests.cli.commands import Netkv, assert_wrong_usage

SHORT = ["bench", "sim", "--seconds", "0.1"]
ROW = {
    *("scheme", "servers", "keys", "zipf", "topology", "switches", "clients", "outstanding"),
    *("requests_per_s", "events_per_s", "requests_per_core_s", "events_per_core_s"),
    *("events_per_request", "hit_ratio", "python_share"),
    *("virtual_s", "wall_s", "setup_s", "memory_mb"),
}

MEMORY = {
    *("scheme", "servers", "keys", "crashes", "virtual_s", "operations", "written_keys"),
    *("memory_mb",),
    *("bytes_per_operation", "bytes_per_key"),
}


def test_document_has_a_row_for_each_rack_and_for_the_program(netkv: Netkv, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = netkv(
        *SHORT, "--scheme", "nocache", "--servers", "1", "--servers", "2", "--keys", "100000000",
        "--json", "--plot", str(page),
    )  # fmt: skip
    assert result.status == 0, result.err
    document = result.document
    assert set(document) == {"machine", "results", "memory", "ratios"}
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
    ratios = [ratio for name, ratio in document["ratios"].items() if name.endswith("alone")]
    assert len(ratios) == 2
    assert [row["servers"] for row in document["memory"]] == [1, 2]
    for row in document["memory"]:
        assert set(row) == MEMORY
        for name in ("virtual_s", "operations", "written_keys"):
            assert 0 < row[name][0] < row[name][1]
        assert row["virtual_s"][1] == pytest.approx(10 * row["virtual_s"][0])
        assert 0 < row["memory_mb"][0] <= row["memory_mb"][1]
    assert all(ratio > 1 for ratio in ratios), "a rack costs more than its program alone"
    assert "Simulated requests" in page.read_text(encoding="utf-8")


def test_caches_and_more_switches_are_measured_too() -> None:
    small = Case(scheme="netcache", servers=2, keys=1000, cache_entries=50, seconds=0.05)
    spine_leaf = TopologySpec(kind="spine-leaf", layers=2, switches=2)
    rows = [
        simulator.Row(small),
        simulator.Row(small.model_copy(update={"topology": spine_leaf, "threads": 2})),
    ]
    steps: list[int] = []
    found = simulator.run(rows, lambda at, _count, _label: steps.append(at))
    assert steps == [0, 1, 2]
    assert [each.switches for each in found.results] == [1, 5]
    (speed,) = [
        ratio for name, ratio in found.ratios.items() if name.endswith("speed, 2 threads/1")
    ]
    assert speed > 0
    for each in found.results:
        assert each.hit_ratio is not None
        assert 0 < each.hit_ratio < 1
    assert found.results[1].events_per_request > found.results[0].events_per_request


@pytest.mark.parametrize(
    "scheme", [scheme.name for scheme in schemes.all_schemes() if scheme.card is None]
)
def test_every_scheme_is_measured_on_the_racks_that_it_supports(scheme: str, netkv: Netkv) -> None:
    """`make bench` ended with an error at the first rack that a scheme does not support."""
    rows = simulator.plan([scheme], [], [], 1.0)
    for row in rows:
        schemes.of(row.case.rack())
    kinds = {row.case.topology.kind for row in rows}
    assert kinds == {"rack"} if schemes.get(scheme).limits.one_switch else kinds > {"rack"}
    assert {row.case.keys for row in rows if row.case.writes} == {10_000, 100_000_000}
    result = netkv(
        "bench", "sim", "--seconds", "0.01", "--scheme", scheme, "--servers", "2", "--keys", "1000"
    )
    assert result.status == 0, result.err
    steps = [line for line in result.err.splitlines() if line.startswith("[")]
    assert len(steps) == len(simulator.plan([scheme], [2], [1000], 1.0)), "progress on stderr"
    assert "ten times as long" in result.out


def test_unsupported_number_of_servers_is_refused() -> None:
    with pytest.raises(UsageError, match="'netmc' has room for 32 servers"):
        simulator.plan(["netmc"], [128], [], 1.0)


def test_default_plan_varies_all_parameters() -> None:
    rows = simulator.plan([], [], [], 1.0)
    for scheme in ("nocache", "netcache"):
        own = [row.case for row in rows if row.case.scheme == scheme and not row.case.writes]
        assert {case.servers for case in own} == {1, 8, 32, 128}
        assert {case.keys for case in own} == {10_000, 1_000_000, 100_000_000}
        assert {case.topology.kind for case in own} == {"rack", "racks", "spine-leaf"}
        assert {case.zipf for case in own} == {0.99, 0}
        assert {case.outstanding for case in own if case.servers == 128} == {156, 19_968}
    assert len({str(row) for row in rows}) == len(rows), "no rack is measured twice"


def test_default_plan_has_every_scheme_without_cards() -> None:
    """With cards the simulation of a design takes nearly all of the time, so they are named."""
    rows = simulator.plan([], [], [], 1.0)
    planned = {row.case.scheme for row in rows}
    assert planned == {scheme.name for scheme in schemes.all_schemes() if scheme.card is None}
    crashes = {row.case.scheme for row in rows if row.case.crash}
    assert crashes == {each.name for each in schemes.all_schemes() if each.recovery_phases}


@pytest.mark.parametrize(
    "scheme", [scheme.name for scheme in schemes.all_schemes() if scheme.card is not None]
)
def test_cards_get_values_that_they_can_hold(scheme: str) -> None:
    """Emu has room for 48 bytes: `netkv bench sim --scheme emu` ended with an error."""
    (row, writing) = simulator.plan([scheme], [1], [10_000], 1.0)
    assert row.case.value_size == writing.case.value_size
    spec = row.case.rack()
    card = schemes.get(scheme).card
    assert card is not None
    preload = card(spec.lab).preload
    assert preload is None or len(list(preload(spec, 0))) == 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scheme", "netcash"], "There is no scheme 'netcash'."),
        (["--servers", "129"], "--servers"),
        (["--plot", "nowhere/figure.svg"], "there is no directory 'nowhere'"),
    ],
)
def test_wrong_usage_is_reported_before_the_measurement(
    netkv: Netkv, arguments: list[str], message: str
) -> None:
    assert_wrong_usage(netkv("bench", "sim", *arguments), message)
