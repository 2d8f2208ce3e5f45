"""A lab that leaves `lab.topology` out, or a part of it, gets the switches of its scheme."""

from __future__ import annotations

from typing import Any

import pytest

from netkv import schemes
from netkv.errors import UsageError
from netkv.model.hardware import TopologySpec
from netkv.scenarios import loader, run_plan, scheme_options
from netkv.scenarios.model import Scenario
from netkv.schemes.nocache import SCHEME as NOCACHE
from netkv.schemes.spec import LabSpec, RackSpec

BOTH = """\
name: both
schemes: [nocache, distnocache]
lab: {servers: 4}
"""


def spine_leaf(layers: int = 2, switches: int = 2) -> TopologySpec:
    return TopologySpec(kind="spine-leaf", layers=layers, switches=switches)


def topologies(scenario: Scenario) -> dict[str, TopologySpec]:
    """The switches of the planned runs, and of their racks, by scheme."""
    found = {}
    for run in run_plan.plan(scenario):
        found[run.scheme] = run.scenario.lab.topology
        assert run.scenario.rack(run.scheme, run.seed).lab.topology == found[run.scheme]
    return found


@pytest.mark.parametrize(
    ("scheme", "written", "expected"),
    [
        ("nocache", None, TopologySpec(kind="rack")),
        ("nocache", {}, TopologySpec(kind="rack")),
        ("nocache", {"kind": "spine-leaf"}, spine_leaf()),
        ("nocache", {"layers": 3}, TopologySpec(kind="rack", layers=3)),
        ("distnocache", None, spine_leaf()),
        ("distnocache", {}, spine_leaf()),
        ("distnocache", {"layers": 3}, spine_leaf(layers=3)),
        ("distnocache", {"switches": 1}, spine_leaf(switches=1)),
        ("distnocache", {"layers": 1, "switches": 4}, spine_leaf(1, 4)),
        ("distnocache", {"kind": "spine-leaf"}, spine_leaf()),
        ("distnocache", {"kind": "rack"}, TopologySpec(kind="rack")),
        ("distnocache", {"kind": "racks", "racks": 3}, TopologySpec(kind="racks", racks=3)),
        # A scheme that is not installed here, of a lab that someone else has brought up.
        ("unknown", {"layers": 3}, TopologySpec(kind="rack", layers=3)),
    ],
)
def test_written_options_win_over_those_of_the_scheme(
    scheme: str, written: dict[str, Any] | None, expected: TopologySpec
) -> None:
    lab = {} if written is None else {"topology": written}
    spec = RackSpec.model_validate({"scheme": scheme, "lab": lab})
    assert spec.lab.topology == expected
    assert RackSpec(scheme=scheme, lab=LabSpec.model_validate(lab)) == spec
    assert RackSpec.model_validate_json(spec.model_dump_json()) == spec


def test_rack_without_a_lab_has_the_switches_of_its_scheme() -> None:
    assert RackSpec(scheme="distnocache").lab == LabSpec(topology=spine_leaf())
    assert RackSpec(scheme="nocache").lab == LabSpec()


def test_lab_of_one_scheme_stays_the_same_with_another() -> None:
    """For example a stored lab."""
    whole = schemes.get("nocache").with_topology(LabSpec())
    assert RackSpec(scheme="distnocache", lab=whole).lab.topology.kind == "rack"
    read = RackSpec(scheme="distnocache", lab=LabSpec.model_validate(whole.model_dump()))
    assert read.lab.topology.kind == "rack"


def test_schemes_of_a_scenario_have_their_own_switches() -> None:
    own = {"nocache": TopologySpec(kind="rack"), "distnocache": spine_leaf()}
    assert topologies(loader.loads(BOTH, "f")) == own
    written = loader.loads(BOTH, "f", ["lab.topology.kind=racks"])
    assert set(topologies(written).values()) == {TopologySpec(kind="racks")}
    part = topologies(loader.loads(BOTH, "f", ["lab.topology.switches=3"]))
    assert part == {
        "nocache": TopologySpec(kind="rack", switches=3),
        "distnocache": spine_leaf(switches=3),
    }


def test_sweep_over_switches_keeps_the_kind_of_each_scheme() -> None:
    runs = run_plan.plan(loader.loads(f"{BOTH}sweep: {{lab.topology.switches: [1, 4]}}\n", "f"))
    assert [(run.scheme, run.scenario.lab.topology.describe()) for run in runs] == [
        ("nocache", "one switch"),
        ("distnocache", "2 layers of 1 switch"),
        ("nocache", "one switch"),
        ("distnocache", "2 layers of 4 switches"),
    ]


def test_random_faults_hit_the_switches_of_each_scheme() -> None:
    more = "duration: 60\nrandom_faults: {every: 0.5, last: 0.2, kinds: [kill]}\n"
    runs = {run.scheme: run.scenario for run in run_plan.plan(loader.loads(BOTH + more, "f"))}
    hit = {
        name: {event.action.goes_down for event in it.events} - {None} for name, it in runs.items()
    }
    assert hit["nocache"] == {"switch", "controller"}
    layers = {"edge-0", "spine-0", "spine-1", "leaf-0", "leaf-1"}
    assert hit["distnocache"] == layers | {"controller"}


@pytest.mark.parametrize("names", [["nocache", "distnocache"], ["distnocache", "nocache"]])
@pytest.mark.parametrize(
    ("node", "scheme"), [("switch", "distnocache"), ("leaf-1", "nocache"), ("lef-1", None)]
)
def test_event_must_be_possible_with_the_switches_of_each_scheme(
    node: str, scheme: str | None, names: list[str]
) -> None:
    head = BOTH.replace("nocache, distnocache", ", ".join(names))
    text = f"{head}events:\n  - {{at: 1, kill: {node}}}\n"
    with pytest.raises(
        UsageError, match=rf"^f:5: .events.0.kill.: there is no node '{node}'"
    ) as it:
        loader.loads(text, "f")
    assert f"That is the lab of '{scheme or names[0]}'; other schemes have other" in str(it.value)
    if node != "switch":
        return
    loader.loads(text, "f", ["lab.topology.kind=rack"])
    with pytest.raises(UsageError, match="there is no node 'switch'") as it:
        loader.loads(text, "f", ["lab.topology.kind=spine-leaf"])
    assert "That is the lab of" not in str(it.value), "all schemes have the same"


def test_chosen_scheme_without_the_node_of_an_event_is_refused() -> None:
    text = BOTH.replace(", distnocache", "") + "events: [{at: 1, kill: switch}]\n"
    scenario = loader.loads(text, "f")
    with pytest.raises(UsageError, match=r"scenario 'both': there is no node 'switch'.*leaf-0"):
        run_plan.only_schemes(scenario, ["distnocache"])


def test_shown_document_is_a_scenario_with_the_same_runs() -> None:
    for changes in ([], ["lab.topology.switches=3"], ["lab.topology.kind=racks"]):
        scenario = loader.loads(BOTH, "f", changes)
        document = scheme_options.document(scenario)
        assert ("kind" in document["lab"]["topology"]) == ("lab.topology.kind=racks" in changes)
        again = Scenario.model_validate(document)
        assert topologies(again) == topologies(scenario) == scheme_options.topologies(scenario)
    alone = loader.loads(BOTH.replace("nocache, ", ""), "f")
    assert scheme_options.document(alone)["lab"]["topology"] == spine_leaf().model_dump()


def test_it_is_the_program_and_the_roles_of_the_single_switch() -> None:
    scheme = schemes.get("distnocache")
    for name in ("programs", "hosts", "traits", "control_plane", "limits"):
        assert getattr(scheme, name) == getattr(NOCACHE, name)


@pytest.mark.parametrize(
    ("written", "option", "found"),
    [("target: bmv2", "target: engine", "bmv2"), ("fabric: veth", "fabric: udp", "veth")],
)
def test_live_layers_need_engine_and_sockets(written: str, option: str, found: str) -> None:
    text = BOTH.replace("nocache, ", "").replace("servers: 4", f"servers: 4, {written}")
    with pytest.raises(UsageError) as it:
        loader.loads(text, "f", to_run=True)
    assert str(it.value) == (
        f"f:3: A live lab with the topology 'spine-leaf' needs 'lab.{option}', not '{found}'."
    )
    loader.loads(text, "f", ["lab.topology.kind=rack"], to_run=True)
