"""Faults injected into a live rack: their effect, their duration, and that no write is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv.errors import UsageError
from netkv.live.rack import LiveRack
from netkv.model.nodes import NodeError
from netkv.model.report import RackSample
from tests.lab.racks import finish, load, running, sampled, serves, spec, verify, written
from tests.waiting import until_async


async def next_hits(rack: LiveRack) -> RackSample:
    """Waits until the switch answers reads.

    A server holds writes of a key for a second if the controller ends while it admits that key. A
    client with a closed loop waits for such a write.
    """
    return await sampled(rack, "the switch answers reads", lambda it: it.client.hits)


async def test_link_impairment_survives_a_switch_restart(tmp_path: Path) -> None:
    async with running(LiveRack(spec("nocache"), tmp_path / "rack")) as rack:
        assert (await load(rack, 0.3)).switch["links_lost"] == 0
        await rack.link("client").impair("to", {"loss": 0.2})
        await rack.link("servers-1").impair(
            "from", {"duplicate": 0.2, "corrupt": 0.1, "reorder": 0.2}
        )
        effects = ("links_lost", "links_duplicated", "links_corrupted", "links_delayed")
        impaired = "frames are lost, duplicated, corrupted and delayed"
        await sampled(rack, impaired, lambda it: all(it.switch[name] for name in effects))
        await rack.node("switch").kill()
        await rack.link("servers-1").impair("from", {})
        await rack.node("switch").start()
        after = await sampled(
            rack,
            "some frames are lost and some are delivered",
            lambda it: it.switch["links_lost"] and it.client.completed,
        )
        assert after.switch["links_duplicated"] == 0, "healed while the switch was down"
        await verify(rack)
        with pytest.raises(UsageError, match="no link 'switch'"):
            await rack.link("switch").impair("to", {})
        with pytest.raises(NodeError, match="'loss' is 7"):
            await rack.link("client").impair("to", {"loss": 7})


async def test_slow_server_stays_slow_over_a_restart(
    tmp_path: Path,
) -> None:

    def rate(sample: RackSample) -> float:
        """Operations per second of the two servers of `servers-1`: 80 when slow, else 800."""
        return sum(sample.server_load[1::2])

    rack = LiveRack(spec("nocache", service_rate=400), tmp_path / "rack")
    async with running(rack):
        await rack.server_process("servers-1").slow(10)
        await load(rack, 0.3)  # serves the requests that were queued before
        assert rate(await sampled(rack, "the process serves", rate, every_s=1.0)) < 120
        await rack.node("servers-1").kill()
        await rack.node("servers-1").start()
        assert rate(await sampled(rack, "the process serves again", rate, every_s=1.0)) < 120
        await rack.server_process("servers-1").slow(1)
        await sampled(rack, "the process is faster", lambda it: rate(it) > 120, every_s=1.0)
        with pytest.raises(UsageError, match="no server process 'client'"):
            await rack.server_process("client").slow(2)


async def test_servers_without_a_rate_cannot_be_slowed_down(tmp_path: Path) -> None:
    async with running(LiveRack(spec("nocache"), tmp_path / "rack")) as rack:
        with pytest.raises(NodeError, match="service rate"):
            await rack.server_process("servers-0").slow(2)


async def test_new_controller_after_a_kill_refills_the_cache(
    tmp_path: Path,
) -> None:
    async with running(LiveRack(spec(), tmp_path / "rack")) as rack:
        await load(rack, 0.3)
        await rack.node("controller").kill()
        assert rack.cached_keys() == set()
        assert (await next_hits(rack)).control_plane_bytes == 0, "the switch needs no controller"
        with pytest.raises(NodeError, match="controller is not running"):
            await rack.node("controller").stop()
        await rack.node("controller").start()
        with pytest.raises(UsageError, match="running already"):
            await rack.node("controller").start()
        await until_async(lambda: len(rack.cached_keys()) >= 40, "the cache is filled again")
        await next_hits(rack)
        verified = await verify(rack)
        assert verified.client.stale_reads == 0
        assert rack.failed is None
        kinds = [event.kind for event in rack.events if event.node == "controller"]
        assert [kind for kind in kinds if kind != "control"] == ["killed", "started"]


async def test_switch_restarted_without_controller_is_uncontrolled(tmp_path: Path) -> None:
    async with running(LiveRack(spec("nocache"), tmp_path / "rack")) as rack:
        await rack.node("controller").stop()
        assert rack.controlled, "the switch still has its tables"
        await rack.node("switch").kill()
        await rack.node("switch").start()
        assert not rack.controlled
        await rack.node("controller").start()
        assert rack.controlled
        await serves(rack)


async def test_records_stay_counted_while_the_controller_is_down(tmp_path: Path) -> None:
    async with running(LiveRack(spec(), tmp_path / "rack")) as rack:
        before = rack.controller.cached_count
        assert before > 0
        await rack.node("controller").kill()
        assert rack.controller.cached_count == before, "the switch still answers with them"
        await rack.node("switch").kill()
        assert rack.controller.cached_count == 0
        await rack.node("switch").start()
        assert rack.controller.cached_count == 0, "its tables are empty"


async def test_cut_control_channel_stops_control_and_not_traffic(tmp_path: Path) -> None:
    async with running(LiveRack(spec(preload=False, hot_threshold=2), tmp_path / "rack")) as rack:
        rack.controller.partition()
        cut = await load(rack, 1.5)
        assert cut.client.completed > 0
        assert cut.client.hits == 0, "no key can be cached"
        assert cut.control_plane_bytes == 0
        rack.controller.heal()
        await until_async(lambda: len(rack.cached_keys()) >= 20, "keys are cached")
        known = rack.controller.cached_count
        rack.controller.partition()
        assert rack.controller.cached_count >= known, "the switch still answers with them"
        rack.controller.heal()
        await verify(rack)


@pytest.mark.parametrize("backend", ["rocksdb", "redis"])
async def test_server_without_its_storage_has_the_initial_records(
    tmp_path: Path, backend: str
) -> None:
    async with running(LiveRack(spec("nocache", backend=backend), tmp_path / "rack")) as rack:
        for storage, loses in (("kept", False), ("lost", True)):
            await written(rack, 20)
            await finish(rack, "drain")
            for node in ("servers-0", "servers-1"):
                await rack.node(node).kill()
                await rack.node(node).start(storage)  # type: ignore[arg-type]
            verified = await finish(rack, "verify")
            assert (verified.client_statistics["acked_writes_lost"] > 0) == loses


async def test_storage_that_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    async with running(LiveRack(spec("nocache"), tmp_path / "rack")) as rack:
        await rack.node("servers-0").kill()
        with pytest.raises(UsageError, match="in memory ends with its process"):
            await rack.node("servers-0").start("kept")
        await rack.node("servers-0").start("lost")
        assert "without its written records" in rack.events[-1].text
        await rack.node("client").kill()
        with pytest.raises(UsageError, match="'client' has no storage"):
            await rack.node("client").start("kept")
