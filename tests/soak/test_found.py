"""Regression tests of bugs that the search has found in the simulator."""

from __future__ import annotations

from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.rack import SECOND, SimRack
from tests.sim.driving import run, run_phases, started


def make_rack(servers: int) -> SimRack:
    spec = RackSpec(
        scheme="netcache",
        lab=LabSpec(servers=servers, cache_entries=8, profile="a-cloud-machine"),
        workload=WorkloadSpec(keys=20),
    )
    return SimRack(spec)


async def test_a_rack_with_one_server_serves() -> None:
    rack = make_rack(servers=1)
    await rack.start()
    rack.command({"do": "phase", "name": "measure"})
    rack.advance(rack.nanoseconds + SECOND // 10)
    sample = rack.take_sample()
    assert sample.client.completed > 100
    assert sample.client.lost == 0


async def test_new_controller_sets_up_a_switch_that_was_down() -> None:
    rack = make_rack(servers=2)
    await rack.start()
    rack.command({"do": "phase", "name": "measure"})
    rack.advance(rack.nanoseconds + SECOND // 10)
    assert rack.cached_keys()
    await rack.node("switch").kill()
    await rack.node("controller").kill()
    await rack.node("controller").start()
    await rack.node("switch").start()
    assert rack.cached_keys() == set()
    assert rack.control_statistics()[0]["cached"] == 0
    rack.advance(rack.nanoseconds + SECOND)
    assert rack.ready
    statistics = rack.control_statistics()[0]
    assert statistics["insertions"] == statistics["cached"], "no earlier entries"


def test_keys_of_servers_that_drop_reads_are_verified() -> None:
    """Clients of memcached send each operation once; a dropped read is no lost record."""
    load = WorkloadSpec(keys=60, writes=0.5, arrivals=ClosedLoop(outstanding=4))
    lab = LabSpec(servers=1, service_rate=2000, queue_limit=4, profile="a-cloud-machine")
    rack = started(RackSpec(scheme="memcached", lab=lab, workload=load))
    run(rack, 0.5)
    counts = run_phases(rack, "drain", "verify").client_statistics
    assert counts["verified"] > 40
    assert (counts["unread"], counts["acked_writes_lost"]) == (0, 0)
