"""What the search has found in the simulator stays fixed."""

from __future__ import annotations

from netkv.lab.spec import LabSpec, RackSpec, WorkloadSpec
from netkv.sim.rack import SECOND, SimRack


def rack(servers: int) -> SimRack:
    spec = RackSpec(
        scheme="netcache",
        lab=LabSpec(servers=servers, cache_entries=8, profile="a-cloud-machine"),
        workload=WorkloadSpec(keys=20),
    )
    return SimRack(spec)


async def test_a_rack_with_one_server_serves() -> None:
    it = rack(servers=1)
    await it.start()
    it.command({"do": "phase", "name": "measure"})
    it.advance(it.nanoseconds + SECOND // 10)
    sample = it.take_sample()
    assert sample.client.completed > 100
    assert sample.client.lost == 0


async def test_new_controller_sets_up_a_switch_that_was_down() -> None:
    it = rack(servers=2)
    await it.start()
    it.command({"do": "phase", "name": "measure"})
    it.advance(it.nanoseconds + SECOND // 10)
    assert it.cached_keys()
    await it.node("switch").kill()
    await it.node("controller").kill()
    await it.node("controller").start()
    await it.node("switch").start()
    assert it.cached_keys() == set()
    assert it.control_statistics()[0]["cached"] == 0
    it.advance(it.nanoseconds + SECOND)
    assert it.ready
    statistics = it.control_statistics()[0]
    assert statistics["insertions"] == statistics["cached"], "it remembers no earlier ones"
