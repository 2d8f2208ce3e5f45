"""A live rack with RocksDB: a leaf, a spine and the controller are killed under load."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv.live.rack import LiveRack
from netkv.model.report import RackEvent, RackSample
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.schemes.spec import LabSpec, RackSpec
from tests.lab.racks import finish, running, sampled
from tests.waiting import until_async

ENTRIES = 200
SPEC = RackSpec(
    scheme="distreach",
    lab=LabSpec(servers=4, server_processes=4, backend="rocksdb", cache_entries=ENTRIES),
    workload=WorkloadSpec(keys=2000, writes=0.5, deletes=0.02, arrivals=ClosedLoop(outstanding=16)),
    deadline=60,
)


def recoveries(rack: LiveRack, kind: str = "recovered") -> list[RackEvent]:
    return [event for event in rack.events if event.kind == kind]


def has_recovered(rack: LiveRack, before: int) -> bool:
    """Whether recoveries after the first `before` events have ended, and none is under way."""
    later = [event.kind for event in rack.events[before:]]
    return "recovered" in later and later[::-1].index("recovered") < (
        later[::-1].index("recovering") if "recovering" in later else len(later)
    )


async def serves_from_cache(rack: LiveRack) -> RackSample:
    return await sampled(
        rack, "switches answer requests", lambda it: it.client.hits > 20 and it.client.writes > 20
    )


@pytest.mark.parametrize("switch", ["leaf-1", "spine-0"])
async def test_no_acknowledged_write_is_lost(switch: str, tmp_path: Path) -> None:
    async with running(LiveRack(SPEC, tmp_path / "rack")) as rack:
        await serves_from_cache(rack)
        # Hits may be of one hot record: both chains have records once more are cached than fit
        # into one.
        await sampled(
            rack,
            "both chains have records in their caches",
            lambda it: it.cached > ENTRIES + 20,
        )
        # A switch fails and returns.
        before = len(rack.events)
        await rack.node(switch).kill()
        await rack.node(switch).start()
        await until_async(lambda: has_recovered(rack, before), "the chain has recovered")
        # A busy machine may interrupt a connection, so there may be another recovery.
        found = [event.recovered for event in recoveries(rack)]
        assert any(it is not None and it.counts["records"] > 20 for it in found)
        await serves_from_cache(rack)
        # The controller fails in the middle of a recovery; meanwhile the switch is empty.
        begun = len(recoveries(rack, "recovering"))
        before = len(rack.events)
        await rack.node(switch).kill()
        await rack.node(switch).start()
        await until_async(
            lambda: len(recoveries(rack, "recovering")) > begun, "a recovery has begun"
        )
        await rack.node("controller").kill()
        await rack.node("controller").start()
        await until_async(lambda: has_recovered(rack, before), "the chain has recovered again")
        await serves_from_cache(rack)
        await finish(rack, "drain")
        counts = (await finish(rack, "verify")).client_statistics
        assert counts["acked_writes_lost"] == 0
        assert counts["linearizable"] is True
        assert rack.failed is None
