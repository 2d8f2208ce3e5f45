"""Live racks of several switches: each is a process with a controller of its own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from netkv.errors import MisfitError
from netkv.live.rack import LiveRack
from netkv.live.rack_nodes import LiveSwitch
from netkv.model import layout, nodes
from netkv.model.hardware import TopologySpec
from netkv.model.report import RackSample
from tests.lab.racks import running, sampled, serves, spec, verify
from tests.waiting import until_async

RACKS = TopologySpec(kind="racks", racks=3)
LEAVES = TopologySpec(kind="spine-leaf", layers=2, switches=2)


@pytest.mark.parametrize(
    ("topology", "switches"),
    [
        (RACKS, ["core", "tor-0", "tor-1", "tor-2"]),
        (LEAVES, ["edge-0", "spine-0", "spine-1", "leaf-0", "leaf-1"]),
    ],
    ids=["racks", "spine-leaf"],
)
async def test_all_servers_are_reached_and_keys_are_cached(
    topology: TopologySpec, switches: list[str], tmp_path: Path
) -> None:
    rack = LiveRack(spec("netcache", topology=topology), tmp_path)
    found = [node.name for node in rack.nodes if isinstance(node, nodes.Switch)]
    assert found == switches
    assert list(layout.nodes_of(rack.spec.lab)) == [node.name for node in rack.nodes]
    async with running(rack):
        sample = await serves(rack)
        assert set(sample.control_plane_bytes_by_switch) == set(switches)
        assert set(rack.controller.arbitration()) == set(switches)
        await sampled(rack, "a switch answers reads", lambda it: it.client.hits > 0)
        counts = (await verify(rack)).client_statistics
        assert (counts["stale_reads"], counts["acked_writes_lost"]) == (0, 0)
    assert rack.failed is None


async def test_scheme_for_layers_serves_all_keys_through_both(tmp_path: Path) -> None:
    """Without `lab.topology`: spines and leaves share the frames between clients and servers."""
    rack = LiveRack(spec("distnocache", server_processes=4), tmp_path)
    switches = {node.name: node for node in rack.switch_nodes}
    assert list(switches) == ["edge-0", "spine-0", "spine-1", "leaf-0", "leaf-1"]
    async with running(rack):
        await serves(rack)
        sample = await verify(rack)
        assert sample.client_statistics["linearizable"] is True
        counts = {name: await node.statistics() for name, node in switches.items()}
        sent = {name: each["sent"] for name, each in counts.items()}
        assert min(sent.values()) > 100
        assert not any(each["unrouted"] for each in counts.values())
        # Frames may be lost between processes, but few.
        assert sent["edge-0"] == pytest.approx(sent["spine-0"] + sent["spine-1"], rel=0.05)
        for place in (0, 1):
            assert sent[f"spine-{place}"] == pytest.approx(sent[f"leaf-{place}"], rel=0.05)
    assert rack.failed is None


async def test_cable_that_is_cut_loses_frames_in_one_direction(tmp_path: Path) -> None:
    async with running(LiveRack(spec("nocache", topology=LEAVES), tmp_path)) as rack:
        await serves(rack)
        cable = rack.link("spine-1:leaf-1")
        await cable.impair("to", {"loss": 1})

        def only_leaf_0(it: RackSample) -> bool:
            return it.server_load[0] + it.server_load[1] > 0 == max(it.server_load[2:])

        await sampled(rack, "no request reaches the other leaf", only_leaf_0)
        await rack.node("leaf-1").kill()
        await rack.node("leaf-1").start()
        await sampled(rack, "the new process loses them, too", only_leaf_0)
        await cable.impair("to", {})
        await cable.impair("from", {"loss": 1})
        await sampled(rack, "requests arrive", lambda it: max(it.server_load[2:]) > 0)
        await cable.impair("from", {})
        await serves(rack)
        assert (await verify(rack)).client_statistics["acked_writes_lost"] == 0


async def test_leaf_that_was_killed_serves_again(tmp_path: Path) -> None:
    async with running(LiveRack(spec("nocache", topology=LEAVES), tmp_path)) as rack:
        await serves(rack)
        await rack.node("leaf-1").kill()
        await sampled(
            rack,
            "only the servers of the other leaf are reached",
            lambda it: it.server_load[0] + it.server_load[1] > 0 == max(it.server_load[2:]),
        )
        assert notes(rack) == [], "there is no other way"
        await rack.node("leaf-1").start()
        await serves(rack)
        assert (await verify(rack)).client_statistics["acked_writes_lost"] == 0
        assert rack.failed is None


async def received(rack: LiveRack, switch: str) -> int:
    """Packets that the switch has received since it was set up."""
    node = rack.node(switch)
    assert isinstance(node, LiveSwitch)
    return int((await node.statistics()).get("received", 0))


async def carries_traffic(rack: LiveRack, switch: str) -> None:
    """Waits until the switch has forwarded many more packets than those of its controller."""
    before = await received(rack, switch)

    async def more() -> bool:
        return await received(rack, switch) > before + 200

    await until_async(more, f"{switch} carries traffic")


def notes(rack: LiveRack) -> list[str]:
    return [event.text for event in rack.events if "service" in event.text]


async def test_all_keys_are_served_while_a_spine_is_down(tmp_path: Path) -> None:
    async with running(LiveRack(spec("netcache", topology=LEAVES), tmp_path)) as rack:
        await serves(rack)
        cached = rack.cached_keys()
        await rack.node("spine-0").kill()
        await until_async(lambda: notes(rack), "the controllers have noticed it")
        await serves(rack)
        await sampled(rack, "a switch answers reads", lambda it: it.client.hits > 0)
        assert cached
        assert cached & rack.cached_keys(), "a spine has no cache"
        await rack.node("spine-0").start()
        for spine in ("spine-0", "spine-1"):
            await carries_traffic(rack, spine)
        counts = (await verify(rack)).client_statistics
        assert (counts["stale_reads"], counts["acked_writes_lost"]) == (0, 0)
        assert rack.failed is None
        assert [text.partition(":")[0] for text in notes(rack)] == [
            "spine-0 is out of service",
            "spine-0 is in service again",
        ]


async def test_crashed_spine_is_routed_around(tmp_path: Path) -> None:
    async with running(LiveRack(spec("nocache", topology=LEAVES), tmp_path)) as rack:
        await serves(rack)
        spine = rack.node("spine-1")
        assert isinstance(spine, LiveSwitch)
        assert spine.process is not None
        assert spine.process.identity is not None
        os.kill(spine.process.identity.pid, signal.SIGKILL)
        await until_async(lambda: rack.failed, "the end of the process is noticed")
        await until_async(lambda: notes(rack), "the controllers have noticed it")
        await serves(rack)
        # A switch that restarts meanwhile gets the routes of the moment.
        await rack.node("leaf-1").kill()
        await rack.node("leaf-1").start()
        await serves(rack)
        await spine.start()
        await carries_traffic(rack, "spine-1")
        assert (await verify(rack)).client_statistics["acked_writes_lost"] == 0


async def test_new_controllers_notice_a_spine_that_is_down(tmp_path: Path) -> None:
    async with running(LiveRack(spec("nocache", topology=LEAVES), tmp_path)) as rack:
        await serves(rack)
        await rack.node("controller").kill()
        await rack.node("spine-0").kill()
        await rack.node("controller").start()
        await serves(rack)
        assert any(text.startswith("spine-0 is out of service") for text in notes(rack))
        await rack.node("spine-0").start()
        await carries_traffic(rack, "spine-0")
        assert (await verify(rack)).client_statistics["acked_writes_lost"] == 0


async def test_new_controller_sets_all_switches_up(tmp_path: Path) -> None:
    async with running(LiveRack(spec("netcache", topology=LEAVES), tmp_path)) as rack:
        await serves(rack)
        await rack.node("controller").kill()
        await rack.node("controller").start()
        await sampled(rack, "a switch answers reads", lambda it: it.client.hits > 0)
        await serves(rack)
        assert (await verify(rack)).client_statistics["acked_writes_lost"] == 0


def test_several_switches_need_the_engine(tmp_path: Path) -> None:
    with pytest.raises(MisfitError, match=r"needs .lab\.target: engine., not .bmv2."):
        LiveRack(spec("nocache", topology=LEAVES, target="bmv2"), tmp_path)
