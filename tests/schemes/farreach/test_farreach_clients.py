"""Clients of FarReach in virtual time.

They register and deregister, preserve records that only the switch has, send them after its crash,
and drop them when a snapshot has them.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from netkv.model.report import RackSample
from netkv.model.spec import Poisson, WorkloadSpec
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.rack import SECOND, SimRack
from tests.sim.driving import run, run_phases, started


def make(scheme: str = "farreach", *, snapshot_period: float = 0.0) -> SimRack:
    """A small running rack with many writes of few keys, by default without snapshots."""
    spec = RackSpec(
        scheme=scheme,
        retry=0.01,
        deadline=2,
        lab=LabSpec(
            servers=4,
            server_processes=4,
            clients=4,
            cache_entries=50,
            hot_threshold=2,
            snapshot_period=snapshot_period,
            profile="farreach-testbed",
            executor="interpreter",
        ),
        workload=WorkloadSpec(keys=500, writes=0.5, deletes=0.05, arrivals=Poisson(rate=10_000)),
    )
    return started(spec)


def control(rack: SimRack, name: str) -> Any:
    return rack.control_statistics()[0][name]


def is_consistent(sample: RackSample) -> bool:
    """Whether the history is linearizable and no acknowledged write is lost."""
    report = sample.client_statistics
    lost = report["acked_writes_lost"]
    return report["linearizable"] is True and lost == 0 and not report["unread"]


def test_records_are_preserved_until_a_snapshot_has_them() -> None:
    kept = run(make(), 0.5).client.counts
    assert kept["preserved"] > 20
    assert kept["preserved_bytes"] >= kept["preserved"] * (16 + 8)
    assert kept["preserved_peak"] >= kept["preserved"]
    rack = make(snapshot_period=0.05)
    run(rack, 0.5)
    run_phases(rack, "drain")
    # The next snapshots have the last writes.
    rack.advance(rack.nanoseconds + SECOND)
    assert rack.take_sample().client.counts["preserved"] == 0


def test_preserved_records_are_restored_after_a_switch_crash() -> None:
    rack = make()
    run(rack, 0.3)
    asyncio.run(rack.node("switch").kill())
    run(rack, 0.05)
    asyncio.run(rack.node("switch").start())
    again = run(rack, 0.5)
    assert again.client.completed > 1000
    (recovered,) = [event.text for event in rack.events if "recovered in" in event.text]
    assert "preserved_records 0" not in recovered, recovered
    assert is_consistent(run_phases(rack, "drain", "verify"))


def test_crashed_client_loses_preserved_records_and_registers() -> None:
    rack = make()
    peak = run(rack, 0.3).client.counts["preserved_peak"]
    asyncio.run(rack.node("client").kill())
    assert rack.take_sample().client.counts["preserved"] == 0
    run(rack, 0.05)
    asyncio.run(rack.node("client").start())
    back = run(rack, 0.3).client.counts
    assert back["preserved"] > 5, "the process has registered again"
    assert back["preserved_peak"] >= peak
    assert is_consistent(run_phases(rack, "drain", "verify")), "the switch has all records"


def test_clients_register_before_the_load_and_deregister_after() -> None:
    rack = make()
    rack.advance(rack.nanoseconds + 2 * SECOND)
    assert control(rack, "clients") == 1, "a process, not each of its clients"
    run(rack, 0.1)
    run_phases(rack, "drain", "verify", "end")
    assert control(rack, "clients") == 0


@pytest.mark.parametrize("scheme", ["nocache", "netcache"])
def test_clients_of_other_schemes_preserve_nothing(scheme: str) -> None:
    rack = make(scheme)
    counts = run(rack, 0.2).client.counts
    assert "completed" in counts
    assert not {name for name in counts if name.startswith("preserved")}
    assert (counts.get("unknown", 0), counts.get("ignored", 0)) == (0, 0)
    assert run_phases(rack, "end").phase == "idle"
