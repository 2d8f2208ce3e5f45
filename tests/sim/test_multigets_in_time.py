"""Racks with multigets in virtual time: correct values, costs of packets, faults."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from netkv.errors import NetkvError, UsageError
from netkv.model.profile import Profile
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim import profiles
from netkv.sim.rack import SimRack
from tests.sim.driving import run, run_phases, started

pytestmark = pytest.mark.slow

SCHEMES = ["netmc", "climc", "coordimc"]


def make(scheme: str, *, profile: Profile | None = None, **options: Any) -> SimRack:
    """A small rack that is up and idle."""
    workload: dict[str, Any] = {
        "keys": 500,
        "writes": 0.2,
        "deletes": 0.05,
        "multiget": 6,
        "value_size": 64,
    }
    workload |= options.pop("workload", {})
    arrivals = ClosedLoop(outstanding=options.pop("outstanding", 16))
    lab: dict[str, Any] = {
        "servers": 5,
        "clients": 2,
        "profile": "netmc-testbed",
        "executor": "interpreter",
    }
    spec = RackSpec(
        scheme=scheme,
        retry=0.005,
        deadline=0.5,
        lab=LabSpec(**(lab | options)),
        workload=WorkloadSpec(**workload, arrivals=arrivals),
    )
    return started(spec, profile=profile)


@pytest.mark.parametrize("key_size", [4, 16, 64])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_key_of_every_read_is_checked(scheme: str, key_size: int) -> None:
    sizes = {"min": 1, "max": 40}
    rack = make(scheme, workload={"key_size": key_size, "multiget": sizes, "value_size": 300})
    sample = run(rack, 0.05)
    client = sample.client
    assert client.reads > 200
    assert client.writes > 50
    assert 15 * client.reads < client.counts["keys_read"] < 26 * client.reads
    assert all(load > 0 for load in sample.server_load)
    end = run_phases(rack, "drain", "verify").client_statistics
    assert (end["acked_writes_lost"], end["linearizable"], end["violation_count"]) == (0, True, 0)
    assert end["lost"] == end["malformed"] == end["errors"] == 0


def test_client_sends_one_packet_or_one_for_each_group() -> None:
    sent = {}
    for scheme in SCHEMES:
        load = {"writes": 0.0, "deletes": 0.0, "multiget": 12, "zipf": 0.0}
        statistics = run(make(scheme, workload=load), 0.02).client_statistics
        sent[scheme] = statistics["requests"] / statistics["completed"]
    # Of 12 keys on 5 servers, 4.66 servers have one.
    assert sent["netmc"] == pytest.approx(1, abs=0.05)
    assert sent["coordimc"] == pytest.approx(1, abs=0.05)
    assert sent["climc"] == pytest.approx(5 * (1 - 0.8**12), abs=0.15)


@pytest.mark.parametrize("kind", ["racks", "spine-leaf"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_switch_of_the_storage_rack_splits(scheme: str, kind: str) -> None:
    load = {"multiget": 12, "zipf": 0.0, "writes": 0.0, "deletes": 0.0}
    rack = make(scheme, topology={"kind": kind, "racks": 3, "layers": 2}, workload=load)
    counts = run(rack, 0.05).client_statistics
    assert counts["completed"] > 100
    assert counts["retries"] == counts["lost"] == 0
    if scheme == "netmc":
        # A request for each of the two racks, which have 3 and 2 of the servers.
        expected = 2 - 0.6**12 - 0.4**12
        assert counts["requests"] / counts["completed"] == pytest.approx(expected, abs=0.1)
    assert run_phases(rack, "drain", "verify").client_statistics["linearizable"]


def test_netmc_refuses_racks_of_different_sizes() -> None:
    with pytest.raises(UsageError, match="make it a multiple of 3, the number of switches with"):
        make("netmc", servers=7, topology={"kind": "spine-leaf", "switches": 3})


def test_packets_of_the_client_cost_its_time() -> None:
    profile = profiles.get("netmc-testbed")
    slow = profile.client.model_copy(update={"per_key": 5.0})
    load = {"writes": 0.0, "deletes": 0.0, "multiget": 8}
    usual = run(make("climc", workload=load, outstanding=64), 0.02)
    slower = profile.model_copy(update={"client": slow})
    loaded = run(make("climc", profile=slower, workload=load, outstanding=64), 0.02)
    # 16 keys of a read, out and in, at 5 us each, and two clients.
    assert loaded.client.throughput == pytest.approx(2 / (16 * 5e-6), rel=0.15)
    assert usual.client.throughput > 3 * loaded.client.throughput


def test_throughput_of_the_coordinator_follows_its_workers() -> None:
    load = {"writes": 0.0, "deletes": 0.0, "multiget": 8}
    rate, busy = {}, {}
    for workers in (1, 2):
        rack = make("coordimc", workload=load, outstanding=256, coordinator_workers=workers)
        sample = run(rack, 0.03)
        assert sample.coordinator is not None
        rate[workers], busy[workers] = sample.client.throughput, sample.coordinator.utilization
    assert busy[1] > 0.95
    assert 1.5 < rate[2] / rate[1] < 2.1


def test_overloaded_coordinator_refuses_and_stays_fast() -> None:
    rack = make("coordimc", outstanding=512, coordinator_queue=16, coordinator_workers=1)
    sample = run(rack, 0.1)
    assert sample.coordinator is not None
    assert sample.coordinator.refused > 0
    assert sample.client.completed > 1000
    end = run_phases(rack, "drain", "verify").client_statistics
    assert (end["acked_writes_lost"], end["linearizable"]) == (0, True)


def test_killed_coordinator_loses_requests_but_no_write() -> None:
    rack = make("coordimc")
    assert rack.coordinator is not None
    before = run(rack, 0.05)
    asyncio.run(rack.node("coordinator").kill())
    dead = run(rack, 1.2)
    assert dead.client.lost > 0
    assert dead.client.completed < before.client.completed / 10
    asyncio.run(rack.node("coordinator").start())
    # Lost requests end at their deadline.
    run(rack, 0.6)
    after = run(rack, 0.05)
    assert after.client.completed > before.client.completed / 2
    end = run_phases(rack, "drain", "verify").client_statistics
    assert (end["acked_writes_lost"], end["linearizable"]) == (0, True)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_reads_with_keys_of_a_stopped_server_fail(scheme: str) -> None:
    rack = make(scheme, server_processes=5, workload={"writes": 0.0, "deletes": 0.0, "zipf": 0.0})
    asyncio.run(rack.node("servers-3").kill())
    sample = run(rack, 3.0)
    assert sample.client.lost > 0
    # A read of 6 keys has one of a fifth of all keys with probability 0.74.
    share = sample.client.lost / (sample.client.lost + sample.client.completed)
    assert 0.5 < share < 0.9
    assert sample.client_statistics["missing_groups"] >= sample.client.lost


def test_missing_coordinator_is_reported() -> None:
    rack = make("climc")
    assert rack.coordinator is None
    with pytest.raises(NetkvError, match="no node 'coordinator'"):
        asyncio.run(rack.node("coordinator").kill())


@pytest.mark.parametrize(
    ("scheme", "lab", "workload", "sentence"),
    [
        ("netcache", {}, {"multiget": 4}, "Schemes for multigets: netmc, climc, coordimc"),
        ("nocache", {}, {"key_size": 8}, "keys of 16 bytes"),
        ("netmc", {"servers": 33}, {}, "32 servers"),
        ("climc", {}, {"key_size": 4, "keys": 2**32 + 1}, "make 'workload.key_size' larger"),
    ],
)
def test_load_that_a_scheme_does_not_support_is_refused(
    scheme: str, lab: dict[str, Any], workload: dict[str, Any], sentence: str
) -> None:
    spec = RackSpec(scheme=scheme, lab=LabSpec(**lab), workload=WorkloadSpec(**workload))
    with pytest.raises(UsageError, match=sentence):
        SimRack(spec)
