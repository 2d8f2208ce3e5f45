"""Simpler cases are valid: their faults are at nodes that they have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv.events.actions.link import LinkFault
from netkv.events.actions.slow import SlowFault
from netkv.events.case import Fault
from netkv.events.event import TimelineEvent
from netkv.kits.cases.links import bad_link
from netkv.model import layout
from netkv.model.hardware import TopologySpec
from netkv.model.nodes import kind_of
from netkv.scenarios import event_validation
from netkv.soak import case as cases
from netkv.soak.case import Case
from netkv.soak.case_generator import generate
from netkv.soak.shrink import candidates

SEEDS = range(80)


def with_fewer_switches(case: Case) -> Iterator[Case]:
    topology = case.rack.lab.topology
    return (other for other in candidates(case) if other.rack.lab.topology != topology)


def layers(layers: int, switches: int, *faults: Fault) -> Case:
    """A case with a leaf for each server, and these faults."""
    topology = TopologySpec(kind="spine-leaf", layers=layers, switches=switches)
    lab = {"topology": topology, "servers": switches, "server_processes": 1, "service_rate": 100.0}
    return generate("nocache", 1).model_copy(update={"faults": faults}).with_lab(lab)


def of(begin: float, end: float, node: str) -> Fault:
    return Fault(begin=TimelineEvent(at=begin, kill=node), end=TimelineEvent(at=end, start=node))


def smaller(case: Case, layers: int, switches: int) -> Case:
    """The candidate of this size."""
    wanted = TopologySpec(kind="spine-leaf", layers=layers, switches=switches)
    return next(it for it in candidates(case) if it.rack.lab.topology == wanted)


def nodes_hit(case: Case) -> list[str | None]:
    return [fault.begin.action.node for fault in case.faults]


@pytest.mark.parametrize("scheme", ["nocache", "distnocache"])
def test_faults_of_fewer_switches_make_a_valid_timeline(scheme: str) -> None:
    found = 0
    for seed in SEEDS:
        for other in with_fewer_switches(generate(scheme, seed)):
            lab = other.rack.lab
            events = [event for event, _ in other.schedule]
            event_validation.check(events, lab, other.rack.workload, other.duration)
            known = layout.nodes_of(lab)
            for event in events:
                node = event.action.node
                assert node is None or ":" in node or known[node] is kind_of(node)
            found += 1
    assert found > 20


def test_fault_that_corrupts_is_tried_with_it_only_and_without() -> None:
    link = LinkFault(node="client", direction="to", loss=0.1, corrupt=0.2)
    healed = LinkFault(node="client", direction="to")
    fault = Fault(begin=TimelineEvent(at=0.1, link=link), end=TimelineEvent(at=0.105, link=healed))
    tried = [bad_link(it.faults[0]) for it in candidates(layers(1, 1, fault))]
    assert link.model_copy(update={"corrupt": 0.0}) in tried
    assert link.model_copy(update={"loss": 0.0}) in tried
    assert healed not in tried


def test_each_step_leaves_out_layers_or_switches() -> None:
    case = layers(3, 3)
    sizes = [
        (it.kind, it.layers, it.switches)
        for it in (other.rack.lab.topology for other in with_fewer_switches(case))
    ]
    assert sizes == [
        ("rack", 2, 2),
        *(("spine-leaf", number, 3) for number in (1, 2)),
        *(("spine-leaf", 3, number) for number in (1, 2)),
    ]
    one = layers(1, 1).with_lab({"topology": TopologySpec(kind="rack")})
    assert not list(with_fewer_switches(one))


def test_fault_moves_to_the_switch_in_the_same_place() -> None:
    at = ("edge-0", "spine1-2", "spine2-1", "leaf-2")
    case = layers(
        3, 3, *(of(0.1 * number, 0.1 * number + 0.05, it) for number, it in enumerate(at))
    )
    assert nodes_hit(smaller(case, 2, 3)) == ["edge-0", "spine-2", "spine-1", "leaf-2"]
    assert nodes_hit(smaller(case, 1, 3)) == ["edge-0", "leaf-2", "leaf-1", "leaf-2"]
    assert nodes_hit(smaller(case, 3, 2)) == ["edge-0", "spine1-1", "spine2-1", "leaf-1"]
    assert nodes_hit(smaller(case, 3, 1)) == ["edge-0", "spine1-0", "spine2-0", "leaf-0"]
    one = next(it for it in candidates(case) if it.rack.lab.topology.kind == "rack")
    assert nodes_hit(one) == ["switch"] * 4


def test_of_two_faults_of_a_switch_at_a_time_the_first_is_kept() -> None:
    case = layers(2, 2, of(0.1, 0.3, "leaf-0"), of(0.2, 0.4, "leaf-1"), of(0.3, 0.4, "leaf-1"))
    assert nodes_hit(smaller(case, 2, 1)) == ["leaf-0", "leaf-0"]
    assert smaller(case, 2, 1).faults[1].begin.at == 0.3


def test_fault_of_a_server_process_that_is_left_out_moves() -> None:
    lost = {"node": "servers-2", "loss": 0.5}
    case = layers(
        2, 3,
        of(0.1, 0.2, "servers-2"),
        Fault(begin=TimelineEvent(at=0.3, link=LinkFault.model_validate(lost))),
        Fault(begin=TimelineEvent(at=0.4, slow=SlowFault(node="servers-1", factor=2))),
    )  # fmt: skip
    moved = smaller(case, 2, 2).faults
    assert moved[0].begin.action.node == "servers-1"
    assert bad_link(moved[1]) == LinkFault(node="servers-1", loss=0.5)
    assert moved[2].begin == TimelineEvent(at=0.4, slow=SlowFault(node="servers-1", factor=2))


def test_fault_of_a_cable_moves_or_is_left_out() -> None:
    def cut(at: float, name: str) -> Fault:
        return Fault(
            begin=TimelineEvent(at=at, link=LinkFault(node=name, loss=1)),
            end=TimelineEvent(at=at + 0.1, link=LinkFault(node=name)),
        )

    def cables_cut(case: Case) -> list[str]:
        return [link.node for fault in case.faults if (link := bad_link(fault))]

    names = ("edge-0:spine1-0", "spine1-1:spine2-2", "spine2-2:leaf-1")
    case = layers(3, 3, *(cut(at, name) for at, name in enumerate(names, start=1)))
    fewer = ["edge-0:spine1-0", "spine1-1:spine2-1", "spine2-1:leaf-1"]
    assert cables_cut(smaller(case, 3, 2)) == fewer
    assert cables_cut(smaller(case, 2, 3)) == ["edge-0:spine-0", "spine-2:leaf-1"]
    assert cables_cut(smaller(case, 1, 3)) == ["edge-0:leaf-0"]
    one = next(it for it in candidates(case) if it.rack.lab.topology.kind == "rack")
    assert cables_cut(one) == []


def test_every_candidate_is_read_back_from_a_file(tmp_path: Path) -> None:
    """A scheme with a default topology also has cases with one switch."""
    kinds = set()
    for seed in range(6):
        for other in with_fewer_switches(generate("distnocache", seed)):
            cases.save(other, tmp_path / "case.json")
            assert cases.load(tmp_path / "case.json") == other
            kinds.add(other.rack.lab.topology.kind)
    assert kinds == {"rack", "spine-leaf"}
