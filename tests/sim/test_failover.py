"""Simulated networks whose switches fail: the others route around them, and back."""

from __future__ import annotations

from typing import Any

import pytest

from netkv import schemes
from netkv.errors import UsageError
from netkv.model.hardware import TopologySpec
from netkv.model.spec import Poisson
from netkv.sim import profiles
from netkv.sim.rack import SimRack
from tests.sim.driving import advance, kill, run, run_phases, small, start

LEAVES = TopologySpec(kind="spine-leaf", layers=2, switches=2)
DETECTION_S = 0.15
"""Of the profile, as `ControlModel.detection_time`."""
EDGE, SPINES, LEAF_LOADS = "edge-0", ("spine-0", "spine-1"), (slice(0, 2), slice(2, 4))
SCHEMES = ["nocache", "netcache", "netmc", "climc", "coordimc"]


def make(scheme: str = "nocache", topology: TopologySpec = LEAVES, **lab: Any) -> SimRack:
    multiget = 8 if schemes.get(scheme).traits.multigets else None
    workload = {"zipf": 0.5, "arrivals": Poisson(rate=4000), "multiget": multiget}
    return small(scheme, workload=workload, topology=topology, **lab)


def packets(rack: SimRack, switch: str) -> int:
    """Packets that the switch has received since its start."""
    return rack.engines[rack.switches.index(switch)].statistics()["packets_in"]


def carries_traffic(rack: SimRack, switch: str, seconds: float = 0.1) -> bool:
    before = packets(rack, switch)
    run(rack, seconds)
    return packets(rack, switch) > before


def notes(rack: SimRack) -> list[str]:
    return [event.text for event in rack.events if "service" in event.text]


def installed_ports(rack: SimRack, switch: str) -> dict[int, int]:
    """The routes to hosts in the tables of a switch."""
    number = rack.switches.index(switch)
    hosts = {host.ip for host in rack.network.switches[number].topology.hosts()}
    found: dict[int, int] = {}
    for entry in rack.engines[number].read_entries():
        (_, kind, value, *_), action = entry["matches"][0], entry["action"]
        if kind == "exact" and action[0] == "action" and int.from_bytes(value) in hosts:
            found[int.from_bytes(value)] = int.from_bytes(action[2][0])
    return found


def verified(rack: SimRack) -> None:
    statistics = run_phases(rack, "drain", "verify").client_statistics
    assert statistics["acked_writes_lost"] == 0
    assert statistics["unread"] == 0
    # Without operations there is nothing to check.
    assert statistics["linearizable"] is (True if statistics["checked_ops"] else None)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_keys_are_served_while_a_spine_is_down(scheme: str) -> None:
    rack = make(scheme)
    assert min(run(rack, 0.2).server_load) > 0
    kill(rack, "spine-0")
    run(rack, DETECTION_S + 0.05)
    assert min(run(rack, 0.3).server_load) > 0
    (note,) = notes(rack)
    assert note.startswith("spine-0 is out of service: ")
    start(rack, "spine-0")
    advance(rack, 0.2)
    assert all(carries_traffic(rack, spine) for spine in SPINES), "traffic is spread again"
    assert notes(rack)[1:] == [note.replace("out of service", "in service again")]
    verified(rack)


def test_failed_spine_is_noticed_after_the_detection_time() -> None:
    rack = make()
    run(rack, 0.1)
    kill(rack, "spine-1")
    run(rack, 0.01)
    sample = run(rack, DETECTION_S - 0.02)
    assert [sum(sample.server_load[leaf]) > 0 for leaf in LEAF_LOADS] == [True, False]
    assert notes(rack) == []
    run(rack, 0.02)
    assert len(notes(rack)) == 1
    assert min(run(rack, 0.1).server_load) > 0


def test_failed_spine_costs_no_cached_key() -> None:
    rack = make("netcache")
    run(rack, 0.3)
    cached = rack.cached_keys()
    assert cached
    kill(rack, "spine-0")
    advance(rack, DETECTION_S + 0.05)
    assert rack.cached_keys() >= cached
    assert run(rack, 0.2).client.hits > 0
    verified(rack)


def test_failed_leaf_costs_only_the_keys_of_its_servers() -> None:
    rack = make()
    run(rack, 0.1)
    kill(rack, "leaf-1")
    run(rack, DETECTION_S + 0.05)
    load = run(rack, 0.3).server_load
    assert [sum(load[leaf]) > 0 for leaf in LEAF_LOADS] == [True, False]
    assert min(load[LEAF_LOADS[0]]) > 0
    assert notes(rack) == [], "no route changes"
    start(rack, "leaf-1")
    run(rack, 0.1)
    assert min(run(rack, 0.2).server_load) > 0
    verified(rack)


def test_returned_switch_gets_no_traffic_before_its_tables_are_installed() -> None:
    rack = make()
    run(rack, 0.1)
    kill(rack, "spine-0")
    run(rack, DETECTION_S + 0.05)
    start(rack, "spine-0")
    before, control = packets(rack, "spine-0"), rack.control[rack.switches.index("spine-0")]
    while not control.ready:
        assert packets(rack, "spine-0") == before
        advance(rack, 0.0001)
    assert carries_traffic(rack, "spine-0")
    assert rack.statistics["unrouted"] == 0


def test_short_restart_is_routed_around_until_the_tables_are_installed() -> None:
    rack = make()
    run(rack, 0.1)
    kill(rack, "spine-0")
    advance(rack, DETECTION_S / 2)
    start(rack, "spine-0")
    assert len(notes(rack)) == 1
    run(rack, DETECTION_S)
    assert len(notes(rack)) == 2, "the stop is not noticed afterwards"
    assert all(carries_traffic(rack, spine) for spine in SPINES)


def test_restarted_leaf_gets_the_routes_of_the_moment() -> None:
    rack = make()
    kill(rack, "leaf-0")
    advance(rack, DETECTION_S)
    kill(rack, "spine-0")
    advance(rack, DETECTION_S + 0.05)
    start(rack, "leaf-0")
    advance(rack, 0.1)
    assert min(run(rack, 0.2).server_load) > 0
    start(rack, "spine-0")
    advance(rack, 0.1)
    for plan in rack.network.switches:
        expected = {host.ip: host.port for host in plan.topology.hosts()}
        assert installed_ports(rack, plan.name) == expected
    verified(rack)


def test_new_controllers_notice_a_switch_that_is_down() -> None:
    rack = make("netcache")
    run(rack, 0.1)
    kill(rack, "controller")
    kill(rack, "spine-0")
    advance(rack, 3 * DETECTION_S)
    assert notes(rack) == [], "nothing notices it"
    start(rack, "controller")
    run(rack, DETECTION_S + 0.05)
    assert len(notes(rack)) == 1
    assert min(run(rack, 0.2).server_load) > 0
    start(rack, "spine-0")
    advance(rack, 0.1)
    assert all(carries_traffic(rack, spine) for spine in SPINES)
    verified(rack)


def test_new_controllers_forget_failures_that_are_over() -> None:
    rack = make()
    run(rack, 0.1)
    kill(rack, "spine-0")
    advance(rack, DETECTION_S + 0.05)
    kill(rack, "controller")
    start(rack, "spine-0")
    start(rack, "controller")
    advance(rack, 0.1)
    assert all(carries_traffic(rack, spine) for spine in SPINES)
    assert len(notes(rack)) == 1


def test_both_spines_may_fail_and_return_in_any_order() -> None:
    rack = make()
    run(rack, 0.1)
    for spine in SPINES:
        kill(rack, spine)
        advance(rack, DETECTION_S + 0.05)
    assert sum(run(rack, 0.1).server_load) == 0
    start(rack, "spine-1")
    advance(rack, 0.1)
    assert min(run(rack, 0.2).server_load) > 0
    start(rack, "spine-0")
    advance(rack, 0.1)
    assert all(carries_traffic(rack, spine) for spine in SPINES)
    verified(rack)


def test_changes_wait_for_a_cut_control_channel() -> None:
    rack = make()
    run(rack, 0.1)
    rack.controller.partition()
    kill(rack, "spine-0")
    run(rack, DETECTION_S + 0.1)
    assert min(run(rack, 0.1).server_load) == 0
    rack.controller.heal()
    run(rack, 0.05)
    assert min(run(rack, 0.1).server_load) > 0


def test_controller_may_be_killed_between_two_changes() -> None:
    rack = make()
    run(rack, 0.1)
    kill(rack, "spine-0")
    rack.controller.kill_after(1)
    advance(rack, DETECTION_S + 0.05)
    assert not rack.running["controller"]
    start(rack, "controller")
    run(rack, DETECTION_S + 0.05)
    assert min(run(rack, 0.2).server_load) > 0
    verified(rack)


def test_controller_killed_when_a_switch_starts_stays_dead() -> None:
    rack = make()
    kill(rack, "spine-0")
    rack.controller.kill_after(0)
    start(rack, "spine-0")  # its first action: the others route around the empty switch
    assert not rack.controller.running
    assert not any(controller.runs for controller in rack.controllers)
    start(rack, "controller")
    advance(rack, 0.1)
    assert carries_traffic(rack, "spine-0")
    verified(rack)


def test_controller_killed_when_one_of_two_failures_is_noticed() -> None:
    rack = make()
    for spine in SPINES:
        kill(rack, spine)
    rack.controller.kill_after(0)
    advance(rack, DETECTION_S + 0.01)
    assert not rack.controller.running
    for node in (*SPINES, "controller"):
        start(rack, node)
    advance(rack, 0.1)
    verified(rack)


def test_single_switch_and_racks_have_no_other_way() -> None:
    for topology, node in (
        (TopologySpec(), "switch"),
        (TopologySpec(kind="racks", racks=3), "core"),
    ):
        rack = make(topology=topology)
        kill(rack, node)
        run(rack, DETECTION_S + 0.1)
        start(rack, node)
        advance(rack, 0.1)
        assert notes(rack) == []
        assert min(run(rack, 0.2).server_load) > 0


def test_detection_time_is_a_figure_of_the_profile() -> None:
    assert profiles.get("farreach-testbed").control.detection_time == DETECTION_S * 1e6
    rack = make(profile_changes={"control.detection_time": 1000})
    kill(rack, "spine-0")
    advance(rack, 0.002)
    assert len(notes(rack)) == 1


@pytest.mark.parametrize("figure", [-1.0, 1e9])
def test_impossible_detection_time_is_refused(figure: float) -> None:
    with pytest.raises(UsageError, match=r"makes 'control\.detection_time' of the profile"):
        make(profile_changes={"control.detection_time": figure})
