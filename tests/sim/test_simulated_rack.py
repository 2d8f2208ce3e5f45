"""Simulated racks: determinism, effects of faults, topologies, many keys."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import threading
import weakref
from typing import Any

import pytest

from netkv.errors import UsageError
from netkv.model.hardware import TopologySpec
from netkv.model.nodes import Direction
from netkv.model.spec import Poisson
from netkv.sim import config
from netkv.sim.rack import SECOND, SimRack
from tests.sim.driving import kill, run, run_phases, small, start

MILLISECOND = SECOND // 1000


def make(scheme: str = "netcache", *, seed: int = 1, rate: float = 20_000, **lab: Any) -> SimRack:
    """A small rack that is up and idle."""
    workload = {"deletes": 0.02, "arrivals": Poisson(rate=rate), **lab.pop("workload", {})}
    return small(scheme, seed=seed, workload=workload, **lab)


def impair(rack: SimRack, node: str, direction: Direction, **impairment: float) -> None:
    asyncio.run(rack.link(node).impair(direction, impairment))


def slow(rack: SimRack, node: str, factor: float) -> None:
    asyncio.run(rack.server_process(node).slow(factor))


def test_same_seed_gives_the_same_run() -> None:
    def history(seed: int) -> str:
        rack = make(seed=seed)
        impair(rack, "servers-1", "to", loss=0.05, reorder=0.2)
        samples = [run(rack, 0.1)]
        kill(rack, "switch")
        samples.append(run(rack, 0.02))
        start(rack, "switch")
        samples += [run(rack, 0.1), run_phases(rack, "drain", "verify")]
        return json.dumps([[s.client_statistics, s.switch, s.server_statistics] for s in samples])

    assert history(5) == history(5)
    assert history(5) != history(6)


def test_switch_serves_popular_reads_in_virtual_time() -> None:
    rack = make(workload={"writes": 0.0, "deletes": 0.0})
    began = rack.now
    sample = run(rack, 0.5)
    assert rack.now == pytest.approx(began + 0.5)
    assert sample.client.completed == pytest.approx(10_000, rel=0.1)
    assert (sample.client.hit_ratio or 0) > 0.4
    assert sample.client.interval == pytest.approx(0.5)


def test_cable_between_switches_is_impaired_in_one_direction() -> None:
    topology = TopologySpec(kind="spine-leaf", layers=2, switches=2)
    rack = make("nocache", topology=topology, servers=2, server_processes=2, rate=5000)
    # Replies of server 1: its requests arrive, and no other server is affected.
    impair(rack, "spine-1:leaf-1", "from", loss=1)
    cut = run(rack, 0.2)
    assert cut.server_load[1] > 100
    completed = [cut.client_statistics["completed"], cut.server_load[0] * cut.client.interval]
    assert completed[0] == pytest.approx(completed[1], rel=0.05)
    impair(rack, "spine-1:leaf-1", "from")
    impair(rack, "spine-1:leaf-1", "to", loss=1)
    run(rack, 0.05)
    assert run(rack, 0.2).server_load[1] == 0
    impair(rack, "spine-1:leaf-1", "to")
    run(rack, 0.3)
    assert run_phases(rack, "drain", "verify").client_statistics["acked_writes_lost"] == 0


@pytest.mark.parametrize("scheme", ["nocache", "netcache"])
@pytest.mark.parametrize(
    "topology",
    [
        TopologySpec(kind="rack"),
        TopologySpec(kind="racks", racks=3),
        TopologySpec(kind="spine-leaf", layers=2, switches=3),
        TopologySpec(kind="spine-leaf", layers=4, switches=2),
    ],
    ids=["rack", "racks", "spine-leaf", "four-layers"],
)
def test_every_topology_serves_every_key(scheme: str, topology: TopologySpec) -> None:
    rack = make(scheme, topology=topology, servers=6, server_processes=6, rate=5000)
    sample = run(rack, 0.3)
    assert sample.client.completed > 1000
    assert all(load > 0 for load in sample.server_load)
    if scheme == "netcache":
        assert (sample.client.hit_ratio or 0) > 0.1
    sample = run_phases(rack, "drain", "verify")
    assert sample.client_statistics["acked_writes_lost"] == 0
    assert sample.client_statistics["linearizable"] is True
    assert sample.switch["unrouted"] == 0


def test_scheme_for_layers_passes_every_key_through_both() -> None:
    rack = make("distnocache", servers=6, rate=5000)
    assert rack.switches == ("edge-0", "spine-0", "spine-1", "leaf-0", "leaf-1")
    rack.watch([], 100_000)
    sample = run(rack, 0.3)
    assert all(load > 0 for load in sample.server_load)
    sample = run_phases(rack, "drain", "verify")
    assert sample.client_statistics["linearizable"] is True
    assert sample.client_statistics["acked_writes_lost"] == 0
    senders = re.findall(r" switch (\d) port \d+ +→", "\n".join(rack.journal()))
    edge, *spines, leaf, other_leaf = (senders.count(str(number)) for number in range(5))
    # A request and its reply pass the spine with the number of the leaf.
    assert spines == [leaf, other_leaf]
    assert edge == sum(spines)
    assert min(spines) > 1000


@pytest.mark.parametrize("node", ["switch", "controller", "servers-2", "client"])
def test_kill_and_start_of_a_node_lose_no_acknowledged_write(node: str) -> None:
    rack = make()
    run(rack, 0.05)
    kill(rack, node)
    run(rack, 0.05)
    assert rack.running[node] is False
    start(rack, node)
    run(rack, 0.3)
    sample = run_phases(rack, "drain", "verify")
    assert sample.client_statistics["acked_writes_lost"] == 0
    assert sample.client_statistics["linearizable"] is True
    assert sample.client_statistics["unread"] == 0


def test_lost_storage_is_reported_as_lost_writes() -> None:
    rack = make("nocache")
    run(rack, 0.2)
    kill(rack, "servers-0")
    start(rack, "servers-0", "lost")
    sample = run_phases(rack, "drain", "verify")
    assert sample.client_statistics["acked_writes_lost"] > 0
    assert sample.client_statistics["linearizable"] is False


def test_frames_to_a_stopped_switch_are_lost() -> None:
    rack = make()
    kill(rack, "switch")
    assert run(rack, 0.1).client.completed == 0
    start(rack, "switch")
    assert run(rack, 0.1).client.completed > 0
    assert run(rack, 0.5).cached > 0, "the controller has filled the tables again"


def test_records_stay_counted_while_the_controller_is_down() -> None:
    rack = make()
    before = run(rack, 0.2).cached
    assert before > 0
    kill(rack, "controller")
    down = run(rack, 0.2)
    assert down.client.hits > 0
    assert down.cached == before, "the switch still answers with them"
    kill(rack, "switch")
    assert run(rack, 0.1).cached == 0
    start(rack, "switch")
    assert run(rack, 0.1).cached == 0, "its tables are empty"
    start(rack, "controller")
    assert run(rack, 0.5).cached > 0


def test_records_stay_counted_while_the_controller_is_cut_off() -> None:
    rack = make()
    before = run(rack, 0.2).cached
    rack.controller.partition()
    assert run(rack, 3.0).cached == before
    kill(rack, "switch")
    assert run(rack, 0.2).cached == 0


def test_slow_server_serves_fewer_requests() -> None:
    rack = make("nocache", rate=40_000, workload={"writes": 0.0, "deletes": 0.0, "zipf": 0.0})
    run(rack, 0.1)
    slow(rack, "servers-0", 60.0)
    run(rack, 0.1)
    slowed, *others = run(rack, 0.2).server_load
    assert slowed < 0.5 * min(others)


def test_slow_server_is_slow_also_after_a_restart() -> None:
    load = {"writes": 0.0, "deletes": 0.0, "zipf": 0.0}
    rack = make("nocache", rate=8_000, service_rate=4_000, workload=load)
    slow(rack, "servers-0", 10.0)
    run(rack, 0.2)
    assert run(rack, 0.5).server_load[0] == pytest.approx(400, rel=0.1)
    kill(rack, "servers-0")
    start(rack, "servers-0")
    run(rack, 0.2)
    assert run(rack, 0.5).server_load[0] == pytest.approx(400, rel=0.1)
    slow(rack, "servers-0", 1.0)
    run(rack, 1.0)
    assert run(rack, 0.5).server_load[0] > 1_500


def test_cut_control_channel_separates_switch_and_controller() -> None:
    rack = make(preload=False)
    rack.controller.partition()
    assert run(rack, 0.3).cached == 0, "no hot key is reported"
    rack.controller.heal()
    assert run(rack, 0.5).cached > 0


def test_link_without_delivery_affects_only_its_server() -> None:
    rack = make("nocache", workload={"writes": 0.0, "deletes": 0.0, "zipf": 0.0})
    impair(rack, "servers-3", "to", loss=1.0)
    load = run(rack, 0.2).server_load
    assert load[3] == 0
    assert min(load[:3]) > 0
    assert rack.statistics["lost"] > 0


def test_corrupted_frames_are_counted_and_noted() -> None:
    rack = make("nocache")
    impair(rack, "servers-0", "to", corrupt=0.2, duplicate=0.1)
    rack.watch([], 1_000_000)
    run(rack, 0.1)
    notes = [line for line in rack.journal() if line.endswith("CORRUPTED")]
    assert rack.statistics["corrupted"] == len(notes) > 20
    assert all("server 0" in line for line in notes)
    assert rack.statistics["duplicated"] > 10
    assert rack.statistics["lost"] == 0


def test_journal_shows_one_key_of_a_billion() -> None:
    rack = make(workload={"keys": 1_000_000_000, "zipf": 0.99})
    (hottest,) = asyncio.run(rack.hottest(1))
    rack.watch([hottest], 200)
    run(rack, 0.05)
    lines = rack.journal()
    assert lines
    assert any("GetReply" in line and "client" in line for line in lines)
    assert all(f"key {int.from_bytes(hottest[8:], 'big')} " in f"{line} " for line in lines)


def test_a_stopped_rack_frees_its_memory_at_once() -> None:
    """The memory of the engine does not trigger Python's garbage collection in a sweep."""
    rack = make("nocache")
    run(rack, 0.05)
    now, simulation = rack.now, weakref.ref(rack.control[0])
    gc.disable()
    try:
        asyncio.run(rack.stop())
        assert simulation() is None
    finally:
        gc.enable()
    assert rack.now == now
    asyncio.run(rack.stop())


def test_a_rack_can_be_stopped_while_a_thread_advances_it() -> None:
    """An interrupt stops the rack while a thread still runs the engine."""
    rack = make(executor="compiled")
    rack.command({"do": "phase", "name": "measure"})
    engine, start = rack.simulation, rack.nanoseconds
    step = threading.Thread(target=rack.advance, args=(start + 3 * SECOND,))
    step.start()
    while step.is_alive():
        try:
            engine.now()
        except RuntimeError:
            break
    asyncio.run(rack.stop())
    assert start <= rack.nanoseconds <= start + 3 * SECOND
    step.join()


def test_unknown_profiles_nodes_and_commands_are_refused() -> None:
    with pytest.raises(UsageError, match="no profile 'netcache-testbd'"):
        make(profile="netcache-testbd")
    rack = make("nocache")
    with pytest.raises(UsageError, match="no node 'server-1'"):
        kill(rack, "server-1")
    with pytest.raises(UsageError, match="not a command"):
        rack.command({"do": "nothing"})


def test_more_servers_than_events_can_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scenarios end at 128 servers. Another caller of the engine gets its sentence, as here."""
    rack_config = config.rack_config

    def too_large(*args: Any) -> dict[str, Any]:
        document = rack_config(*args)
        document["load"]["keyspace"]["servers"] = 4097
        return document

    monkeypatch.setattr(config, "rack_config", too_large)
    with pytest.raises(UsageError, match=r"^A rack has at most 4096 servers, not 4097\b"):
        make("nocache")


def test_largest_rack_of_a_scenario_fits_the_simulator() -> None:
    topology = TopologySpec(kind="spine-leaf", layers=8, switches=16)
    rack = make("nocache", topology=topology, servers=128, server_processes=16, clients=64)
    assert (len(rack.switches), rack.ready) == (129, True)  # one is before the layers
