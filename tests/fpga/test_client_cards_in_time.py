"""FPGA cards in the clients of simulated racks, cycle by cycle."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.rack import SimRack
from tests.sim.driving import advance, run, run_phases, started

CACHE, PLAIN = "client-cache", "client-nic"

pytestmark = [pytest.mark.usefixtures("home"), pytest.mark.slow]


def make(scheme: str, *, workload: dict[str, Any] | None = None, **lab: Any) -> SimRack:
    """A rack of one server that is up and idle."""
    load: dict[str, Any] = {
        "keys": 20,
        "value_size": 32,
        "writes": 0.2,
        "arrivals": ClosedLoop(outstanding=4),
    }
    common = {"servers": 1, "profile": "client-cache-testbed", "packet_lifetime": 0.002}
    return started(
        RackSpec(
            scheme=scheme,
            deadline=0.05,
            lab=LabSpec(**{**common, **lab}),
            workload=WorkloadSpec(**(load | (workload or {}))),
        )
    )


def verified(rack: SimRack) -> dict[str, Any]:
    return dict(run_phases(rack, "drain", "verify").client_statistics)


def test_reads_are_served_in_the_client() -> None:
    cached, plain = make(CACHE), make(PLAIN)
    sample, baseline = run(cached, 0.02).client, run(plain, 0.02).client
    assert 0.2 < sample.hits / sample.reads < 1
    assert baseline.hits == 0
    assert sample.throughput > 1.1 * baseline.throughput
    for rack in (cached, plain):
        end = verified(rack)
        assert (end["acked_writes_lost"], end["linearizable"], end["unread"]) == (0, True, 0)


def test_hit_crosses_no_link() -> None:
    reads = {"writes": 0.0, "keys": 2, "arrivals": ClosedLoop(outstanding=1)}
    cached, plain = make(CACHE, workload=reads), make(PLAIN, workload=reads)
    run(cached, 0.01)
    before = cached.statistics["links"]
    hits = run(cached, 0.01)
    after = cached.statistics["links"]
    assert hits.client.hits == hits.client.reads > 200
    assert {kind: after[kind] - before[kind] for kind in ("client", "server")} == {
        "client": 0,
        "server": 0,
    }
    assert hits.links["client"] == 0 < hits.links["client_card"]
    misses = run(plain, 0.01)
    assert misses.links["client"] == misses.links["server"] > 0
    hit, miss = (it.client_statistics["latency_ns"]["mean"] for it in (hits, misses))
    # Without the ways between network card and server, and the server's work.
    assert hit < miss - 28_000


def test_clients_behind_one_card_share_its_entries() -> None:
    rack = make(CACHE, clients=4, card_functions=4, card_tenants="shared")
    assert [node.name for node in rack.cards] == ["client-card-0"]
    sample = run(rack, 0.02)
    assert sample.client.hits > 50
    assert sum(sample.cards[f"hits.{function}"] > 0 for function in range(4)) == 4
    assert sample.client_statistics["stale_reads"] == 0
    end = verified(rack)
    assert (end["acked_writes_lost"], end["linearizable"]) == (0, True)


@pytest.mark.parametrize("mode", ["update", "invalidate"])
def test_second_writer_makes_reads_stale_up_to_its_age(mode: str) -> None:
    age = 0.003
    rack = make(CACHE, clients=2, card_clients=1, client_max_age=age, set_mode=mode)
    assert len(rack.cards) == 1
    sample = run(rack, 0.1).client
    assert sample.counts["stale_reads"] > 20
    longest = sample.counts["longest_stale_ns"] * 1e-9
    assert age / 2 < longest < age + 0.002
    mean = sample.counts["stale_ns"] * 1e-9 / sample.counts["stale_reads"]
    assert 0 < mean < longest
    run_phases(rack, "drain")
    permitted = rack.scheme.max_staleness(rack.spec.lab)
    assert permitted is not None
    assert longest < permitted
    advance(rack, permitted)
    assert run_phases(rack, "verify").client_statistics["acked_writes_lost"] == 0


def test_stale_reads_do_not_make_the_last_of_overlapping_writes_a_lost_one() -> None:
    """Both cards answer with their own client's write, while the server has that of the other one.
    As proof of the order of these writes, such reads would show 2 lost writes here."""
    rack = make(
        CACHE,
        clients=2,
        client_max_age=0.001,
        set_mode="store",
        workload={"keys": 3, "writes": 0.4, "arrivals": ClosedLoop(outstanding=6)},
    )
    assert len(rack.cards) == 2
    permitted = rack.scheme.max_staleness(rack.spec.lab)
    assert permitted is not None
    stale = 0
    for _ in range(24):
        stale += run(rack, 0.002).client.counts["stale_reads"]
        run_phases(rack, "drain")
        advance(rack, permitted)
        end = run_phases(rack, "verify").client_statistics
        assert (end["acked_writes_lost"], end["verified"]) == (0, 3)
    assert stale > 100


def test_card_in_a_client_stops_and_starts_empty() -> None:
    rack = make(CACHE)
    run(rack, 0.02)
    node = rack.node("client-card-0")
    asyncio.run(node.stop())
    run(rack, 0.001)  # frames that had left the card arrive
    stopped = run(rack, 0.1).client
    assert stopped.completed == 0
    assert stopped.lost > 0
    asyncio.run(node.start())
    # Requests that were lost end at their deadline.
    again = run(rack, 0.1)
    assert again.client.hits > 20
    assert rack.statistics["cards"][0]["restarts"] == 1
    assert verified(rack)["acked_writes_lost"] == 0


def test_link_of_a_card_in_a_client_loses_frames() -> None:
    rack = make(CACHE, workload={"writes": 1.0})
    for direction in ("to", "from"):
        asyncio.run(rack.link("client-card-0").impair(direction, {"loss": 0.05}))
    assert run(rack, 0.2).client.lost > 5
