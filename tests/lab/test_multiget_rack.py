"""Multigets in a live rack: reads of all keys, and a crash of the coordinator."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv.live.rack import LiveRack
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.schemes.spec import LabSpec, RackSpec
from tests.lab.racks import running, sampled, serves, verify
from tests.waiting import until_async


def multigets(scheme: str, **lab: object) -> RackSpec:
    fields = {"servers": 4, "server_processes": 2, "coordinator_workers": 3, **lab}
    return RackSpec(
        scheme=scheme,
        lab=LabSpec.model_validate(fields),
        workload=WorkloadSpec(
            keys=2000, key_size=24, writes=0.2, multiget=10, arrivals=ClosedLoop(outstanding=16)
        ),
        deadline=1.0,
    )


@pytest.mark.parametrize("backend", ["memory", "rocksdb"])
@pytest.mark.parametrize("scheme", ["netmc", "climc", "coordimc"])
async def test_multigets_return_the_values_of_all_keys(
    tmp_path: Path, scheme: str, backend: str
) -> None:
    async with running(LiveRack(multigets(scheme, backend=backend), tmp_path / "rack")) as rack:
        sample = await serves(rack)
        assert sample.client.counts["keys_read"] == 10 * sample.client.reads > 0
        if scheme == "coordimc":
            assert sample.coordinator is not None
            assert sample.coordinator.groups > 2 * sample.client.reads
            assert 0 < sample.coordinator.utilization < 1
        assert (await verify(rack)).client_statistics["linearizable"]


@pytest.mark.parametrize("kind", ["racks", "spine-leaf"])
@pytest.mark.parametrize("scheme", ["netmc", "climc", "coordimc"])
async def test_multigets_over_several_switches(tmp_path: Path, scheme: str, kind: str) -> None:
    requested = multigets(scheme, topology={"kind": kind, "racks": 3})
    async with running(LiveRack(requested, tmp_path / "rack")) as rack:
        sample = await serves(rack)
        assert sample.client.counts["keys_read"] == 10 * sample.client.reads > 0
        assert (await verify(rack)).client_statistics["linearizable"]


async def test_killed_coordinator_is_an_event_and_serves_after_a_start(
    tmp_path: Path,
) -> None:
    async with running(LiveRack(multigets("coordimc"), tmp_path / "rack")) as rack:
        await serves(rack)
        await rack.node("coordinator").kill()
        assert not rack.running["coordinator"]
        stopped = await sampled(rack, "requests are lost", lambda it: it.client.lost)
        assert stopped.coordinator is None
        await rack.node("coordinator").start()
        await serves(rack)
        assert (await verify(rack)).client_statistics["linearizable"]
        rack.coordinator.process._process.kill()  # type: ignore[union-attr]
        await until_async(lambda: rack.failed is not None, "the rack reports the failure")
        assert rack.failed is not None
        assert rack.failed.node == "coordinator"
