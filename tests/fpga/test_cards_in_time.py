"""FPGA cards in simulated racks: schemes whose requests go through a design, cycle by cycle."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from netkv import schemes
from netkv.errors import MisfitError, NetkvError, UsageError
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.rack import SimRack
from tests.sim.driving import advance, run, run_phases, started

pytestmark = pytest.mark.slow

LAKE = "lake"


def make(
    scheme: str,
    *,
    seed: int = 1,
    workload: dict[str, Any] | None = None,
    deadline: float = 0.05,
    **lab: Any,
) -> SimRack:
    """A rack of one server behind a card, that is up and idle."""
    load: dict[str, Any] = {
        "keys": 40,
        "value_size": 32,
        "writes": 0.2,
        "arrivals": ClosedLoop(outstanding=4),
    }
    return started(
        RackSpec(
            scheme=scheme,
            seed=seed,
            deadline=deadline,
            lab=LabSpec(**{"servers": 1, "clients": 2, "profile": "lake-testbed", **lab}),
            workload=WorkloadSpec(**(load | (workload or {}))),
        )
    )


def card(rack: SimRack, number: int = 0) -> dict[str, int]:
    """The counters of a card."""
    counts: dict[str, int] = rack.statistics["cards"][number]
    return counts


@pytest.mark.usefixtures("home")
def test_reads_are_served_by_the_card_and_are_linearizable() -> None:
    rack = make(LAKE, workload={"deletes": 0.05})
    sample = run(rack, 0.02)
    counts = sample.client_statistics
    assert counts["linearizable"]
    assert counts["checked_ops"] > 500
    assert 0.3 < sample.client.hits / sample.client.reads < 1
    served = rack.statistics["servers"][0]
    assert served["reads"] <= counts["reads"] + 4 - sample.client.hits
    verified = run_phases(rack, "drain", "verify").client_statistics
    assert (verified["acked_writes_lost"], verified["unread"]) == (0, 0)


@pytest.mark.usefixtures("home")
def test_hit_is_faster_than_the_server_by_its_way() -> None:
    reads = {"writes": 0.0, "keys": 4, "value_size": 16, "arrivals": ClosedLoop(outstanding=1)}
    cached, plain = make(LAKE, workload=reads), make("memcached", workload=reads)
    run(cached, 0.01)
    latency = {
        rack.scheme.name: run(rack, 0.005).client_statistics["latency_ns"]["mean"]
        for rack in (cached, plain)
    }
    # Two ways between card and memcached, and its processor time.
    assert latency["memcached"] == pytest.approx(238_840, rel=0.02)
    # Query and reply take 114 and 118 bytes on a cable of 10 Gbit/s, once each, and a little on one
    # of 400; two ways of 5 ns, and 47 cycles in the design.
    on_cable = (114 + 118) * 8 * (1 / 10 + 1 / 400)
    assert latency[LAKE] == pytest.approx(on_cable + 10 + 47 * 5, abs=10)


@pytest.mark.usefixtures("home")
def test_metrics_are_those_of_the_registers() -> None:
    reads = {"writes": 0.0, "keys": 8, "value_size": 16, "arrivals": ClosedLoop(outstanding=1)}
    found: dict[bool, dict[str, float]] = {}
    for caches in (True, False):
        rack = make(LAKE, workload=reads, shared_caches=caches)
        run(rack, 0.01)
        before = card(rack)
        sample = run(rack, 0.002)
        after = card(rack)
        assert sample.cards["dram_reads"] == after["dram_reads"] - before["dram_reads"]
        metrics = rack.scheme.metrics
        found[caches] = {each.name: float(each.source.of_interval(sample) or 0) for each in metrics}
    assert found[True]["shared_cache_hit_ratio"] == 1
    assert found[True]["dram_reads_per_s"] == 0
    alone = found[False]
    assert alone["shared_cache_hit_ratio"] == 0
    # A bucket and a chunk of one line for each request. The model needs 23 cycles, and sometimes
    # a refresh.
    assert alone["dram_reads_per_s"] == pytest.approx(2 * sample.client.completed / 0.002, rel=0.01)
    assert 23 <= alone["dram_read_cycles"] < 26
    assert 0 < alone["element_cycles_per_s"] < 200e6, "one element at a time"


@pytest.mark.usefixtures("home")
def test_same_seed_gives_the_same_run() -> None:
    seen = []
    for _ in range(2):
        rack = make(LAKE, seed=7, servers=2)
        run(rack, 0.003)
        seen.append(rack.statistics)
    assert seen[0] == seen[1]


@pytest.mark.usefixtures("home")
def test_restarted_card_is_empty_and_serves_again() -> None:
    rack = make(LAKE, packet_lifetime=0.001)
    run(rack, 0.01)
    before = card(rack)["hits"]
    assert before > 0
    asyncio.run(rack.node("card-0").kill())
    down = run(rack, 0.06)
    assert down.client.completed <= 4, "frames in flight"
    assert down.client.lost > 0
    asyncio.run(rack.node("card-0").start())
    # The requests that were lost end at their deadline.
    up = run(rack, 0.07)
    assert up.client.completed > 100
    assert up.client_statistics["linearizable"]
    assert 0 < card(rack)["hits"] < before + up.client.completed
    assert card(rack)["restarts"] == 1


@pytest.mark.usefixtures("home")
def test_faults_at_the_link_of_a_card_are_survived() -> None:
    rack = make(LAKE)
    impairment = {"loss": 0.05, "duplicate": 0.1, "reorder": 0.2, "reorder_span": 0.001}
    for node, direction in (("card-0", "to"), ("servers-0", "from")):
        asyncio.run(rack.link(node).impair(direction, impairment))  # type: ignore[arg-type]
    sample = run(rack, 0.5)
    assert sample.client.lost > 0
    assert sample.client_statistics["linearizable"]
    assert sample.client.hits > 0


@pytest.mark.usefixtures("home")
def test_design_knows_for_how_long_its_clock_stood_still() -> None:
    reads = {"writes": 0.0, "keys": 8}
    rack = make(LAKE, workload=reads, max_age=0.5)
    run(rack, 0.01)
    run_phases(rack, "drain")
    misses = card(rack)["misses"]
    assert run_phases_reads(rack) == misses, "all values are young"
    advance(rack, 1.0)
    assert run_phases_reads(rack) > misses, "all values are too old"


def run_phases_reads(rack: SimRack) -> int:
    """Misses after a few milliseconds of load."""
    run(rack, 0.003)
    run_phases(rack, "drain")
    return card(rack)["misses"]


@pytest.mark.usefixtures("home")
def test_emu_answers_everything_itself() -> None:
    rack = make("emu", workload={"keys": 20})
    sample = run(rack, 0.01)
    assert sample.client_statistics["linearizable"]
    assert sample.client.completed > 1000
    assert rack.statistics["servers"][0]["served"] == 0


@pytest.mark.usefixtures("home")
def test_visible_at_once_serves_values_that_the_server_never_stored() -> None:
    """The paper's way of a SET: a request that is lost behind the card is read, and later the value
    that the server has."""
    found = []
    for visible in ("at-once", "acknowledged"):
        rack = make(
            LAKE,
            set_visible=visible,
            workload={"writes": 0.02, "keys": 200},
            # Keys are read again after their write was given up, and after its value is too old.
            deadline=0.002,
            max_age=0.01,
            packet_lifetime=0.001,
        )
        asyncio.run(rack.link("servers-0").impair("to", {"loss": 0.3}))
        run(rack, 0.1)
        sample = run_phases(rack, "drain", "verify")
        found.append(sample.client_statistics["linearizable"])
    assert found == [False, True]


@pytest.mark.usefixtures("home")
def test_values_that_do_not_fit_emu_are_refused() -> None:
    with pytest.raises(MisfitError, match="at most 48 bytes"):
        make("emu", workload={"value_size": 64})
    with pytest.raises(MisfitError, match="at most 16,384"):
        make("emu", workload={"keys": 20_000})


@pytest.mark.usefixtures("home")
def test_unknown_node_lists_the_cards() -> None:
    with pytest.raises(UsageError, match="card-0"):
        make(LAKE).node("card-7")


def test_without_a_compiler_the_rack_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETKV_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(NetkvError, match=r"A C\+\+ compiler is missing"):
        make(LAKE)


def test_schemes_with_a_card_name_it_among_their_nodes() -> None:
    kinds = {
        scheme.name: [kind.NAME for kind in scheme.node_kinds] for scheme in schemes.all_schemes()
    }
    assert kinds[LAKE] == ["card-"]
    assert kinds["memcached"] == []
