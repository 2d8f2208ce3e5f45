"""Random faults: valid timelines, deterministic by seed, that heal before the end."""

from __future__ import annotations

from collections import Counter

import pytest

from netkv.events.action import Target
from netkv.events.actions.link import Link, LinkFault
from netkv.events.actions.nodes import Kill, Start
from netkv.events.catalogue import FAULT_KINDS, NAMED_KINDS
from netkv.events.event import TimelineEvent
from netkv.events.random_faults import FaultKind, RandomFaults, random_schedule
from netkv.model.hardware import TopologySpec
from netkv.model.nodes import Storage
from netkv.model.spec import WorkloadSpec
from netkv.options import meaning
from netkv.scenarios import loader
from netkv.scenarios.event_validation import check
from netkv.scenarios.run_plan import plan
from netkv.schemes.spec import LabSpec

LAB = LabSpec(servers=6, server_processes=3, service_rate=500, backend="rocksdb")


def schedule(seed: int, lab: LabSpec = LAB, duration: float = 60.0) -> list[TimelineEvent]:
    return random_schedule(seed, duration, lab, every=0.5, last=2.0)


def impaired_after(events: list[TimelineEvent]) -> set[Target]:
    """What is not in order after the events."""
    impaired: set[Target] = set()
    for event in events:
        parts = set(event.action.parts)
        impaired = impaired - parts if event.action.heals else impaired | parts
    return impaired


def links(events: list[TimelineEvent]) -> list[LinkFault]:
    return [event.action.link for event in events if isinstance(event.action, Link)]


def killed(events: list[TimelineEvent]) -> list[Kill]:
    return [event.action for event in events if isinstance(event.action, Kill)]


@pytest.mark.parametrize("seed", range(30))
def test_schedule_is_valid_and_heals_before_the_end(seed: int) -> None:
    events = schedule(seed)
    assert len(events) > 50
    check(events, LAB, WorkloadSpec(), 60.0)
    assert impaired_after(events) == set()
    assert max(event.at for event in events) <= 57.0
    assert [event.at for event in events] == sorted(event.at for event in events)


def test_faults_are_determined_by_the_seed() -> None:
    assert schedule(1) == schedule(1)
    assert schedule(1) != schedule(2)


def test_every_kind_of_fault_hits_every_possible_node() -> None:
    hit: Counter[str] = Counter()
    for seed in range(10):
        events = schedule(seed)
        for link in links(events):
            if not link.heals:
                hit[f"link {link.node}"] += 1
                hit.update(name for name, value in link.impairment.items() if value)
        hit.update(event.describe().split(":")[0] for event in events)
    nodes = ["switch", "controller", "servers-0", "servers-1", "servers-2"]
    wanted = [f"{how} {node}" for how in ("stop", "kill", "start") for node in nodes]
    wanted += [f"slow servers-{i}" for i in range(3)]
    wanted += [f"link {node}" for node in ("client", "servers-0", "servers-1", "servers-2")]
    wanted += ["loss", "duplicate", "corrupt", "reorder", "delay"]
    wanted += ["partition controller", "heal controller"]
    assert [name for name in wanted if not hit[name]] == []
    assert hit["stop client"] + hit["kill client"] == 0


def test_cables_between_switches_are_hit() -> None:
    lab = LAB.model_copy(update={"topology": TopologySpec(kind="spine-leaf", switches=2)})
    events = schedule(1, lab, duration=300)
    check(events, lab, WorkloadSpec(), 300.0)
    hit = {link.node for link in links(events)}
    cables = {f"edge-0:spine-{a}" for a in (0, 1)}
    cables |= {f"spine-{a}:leaf-{b}" for a in (0, 1) for b in (0, 1)}
    assert {name for name in hit if ":" in name} == cables
    one = random_schedule(1, 60, lab, ["cut"], nodes=["spine-0:leaf-1"], every=0.5, last=1)
    assert {link.node for link in links(one)} == {"spine-0:leaf-1"}


def test_faults_of_the_simulator_are_drawn_only_if_named() -> None:
    assert not [it for seed in range(10) for it in killed(schedule(seed)) if it.after_actions]
    events = random_schedule(1, 60, LAB, ["controller-restart"], every=0.5, last=1)
    found = [it.after_actions for it in killed(events)]
    numbers = [actions for actions in found if actions is not None]
    assert len(numbers) == len(found) > 20
    assert min(numbers) < 5, "small numbers are drawn, too"
    assert max(numbers) > 50


def test_faults_have_only_the_given_kinds_and_nodes() -> None:
    events = random_schedule(
        3, 60, LAB, ["kill", "delay"], nodes=["servers-1", "switch"], every=0.5, last=1
    )
    descriptions = {event.describe().split(":")[0] for event in events}
    names = ("kill switch", "kill servers-1", "start switch", "start servers-1")
    links = ("link of servers-1", "link to servers-1", "link from servers-1")
    assert descriptions == {*names, *links}


@pytest.mark.parametrize(("storage", "stopped"), [(None, False), ("kept", True), ("lost", False)])
def test_memory_servers_are_stopped_only_if_records_are_kept(
    storage: Storage | None, stopped: bool
) -> None:
    lab = LAB.model_copy(update={"backend": "memory"})
    events = random_schedule(1, 60, lab, every=0.3, last=1, storage=storage)
    starts = [it for it in (event.action for event in events) if isinstance(it, Start)]
    starts = [it for it in starts if it.start.startswith("servers-")]
    assert bool(starts) == stopped
    assert all(it.storage == "kept" for it in starts)


def test_very_short_runs_have_faults() -> None:
    events = random_schedule(1, 0.01, LAB, every=0.0005, last=0.001)
    assert len(events) > 10
    check(events, LAB, WorkloadSpec(), 0.01)
    assert impaired_after(events) == set()


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_each_kind_can_be_requested_alone(kind: FaultKind) -> None:
    events = random_schedule(1, 30, LAB, [kind], every=0.5, last=0.5)
    assert len(events) > 10
    check(events, LAB, WorkloadSpec(), 30)


def test_client_crash_is_drawn_only_if_named() -> None:
    events = random_schedule(2, 30, LAB, ["client-crash", "loss"], every=0.5, last=1)
    crashes = [event for event in events if not isinstance(event.action, Link)]
    assert {event.describe() for event in crashes} == {"crash client"}, "without a start event"
    usual = random_schedule(2, 30, LAB, every=0.1, last=0.5)
    assert ("node", "client") not in {event.action.target for event in usual}


def test_random_faults_leave_out_nodes_with_given_events() -> None:
    text = """\
name: mine
schemes: [nocache, netcache]
seed: 5
repeat: 2
lab: {servers: 2, backend: rocksdb}
duration: 60
events:
  - {at: 20, kill: switch}
  - {at: 30, start: switch}
  - {at: 3, partition: controller}
random_faults: {every: 0.3, last: 1, kinds: [kill, partition]}
"""
    runs = plan(loader.loads(text, "f"))
    assert [run.seed for run in runs] == [5, 5, 6, 6]
    first, same, other, _ = (run.scenario for run in runs)
    assert first.events == same.events, "both schemes have the same faults"
    assert first.events != other.events
    assert first.random_faults is None, "a replay of the stored run draws no new faults"
    drawn = [event.action.target for event in first.events]
    nodes = [target for target in drawn if target is not None and target[0] == "node"]
    assert {name for _, name in nodes} == {"switch", "servers-0", "controller"}
    assert nodes.count(("node", "switch")) == 2
    assert drawn.count(("channel", "controller")) == 1


def test_kinds_that_must_be_named_are_in_the_description() -> None:
    text = meaning(RandomFaults, "kinds")
    assert [kind for kind in FAULT_KINDS if f"`{kind}`" in text] == list(NAMED_KINDS)
