"""Regression tests of bugs that the search has found in the simulator."""

from __future__ import annotations

from netkv.lab.spec import LabSpec, RackSpec, WorkloadSpec
from netkv.sim.rack import SECOND, SimRack


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
