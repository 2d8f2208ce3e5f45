"""Live and simulated racks have the nodes that scenarios name."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv import schemes
from netkv.errors import UsageError
from netkv.live.rack import LiveRack
from netkv.model import layout, nodes
from netkv.model.spec import WorkloadSpec
from netkv.rack.base import Rack
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.rack import SimRack

SCHEMES = [scheme.name for scheme in schemes.all_schemes()]


def assert_has(rack: Rack, expected: dict[str, type[nodes.Node]]) -> None:
    assert [node.name for node in rack.nodes] == list(expected)
    for node in rack.nodes:
        assert isinstance(node, expected[node.name])
        assert nodes.kind_of(node.name) is expected[node.name]
        assert rack.node(node.name) is node


@pytest.mark.parametrize("scheme", SCHEMES)
def test_both_drivers_have_the_nodes_of_the_lab(scheme: str, tmp_path: Path) -> None:
    kinds = schemes.get(scheme).node_kinds
    # A card is before a process of one server.
    processes = 4 if nodes.Card in kinds else 2
    lab = LabSpec(servers=4, server_processes=processes, profile="farreach-testbed")
    # A load that every scheme takes.
    spec = RackSpec(scheme=scheme, lab=lab, workload=WorkloadSpec(keys=1000, value_size=32))
    expected = layout.nodes_of(spec.lab, kinds)
    assert_has(LiveRack(spec, tmp_path), expected)
    assert_has(SimRack(spec), expected)


@pytest.mark.parametrize(
    "topology",
    [
        {"kind": "racks", "racks": 1},
        {"kind": "racks", "racks": 4},
        {"kind": "spine-leaf", "layers": 1, "switches": 3},
        {"kind": "spine-leaf", "layers": 2, "switches": 2},
        {"kind": "spine-leaf", "layers": 3, "switches": 2},
    ],
    ids=str,
)
def test_both_drivers_have_the_switches_of_the_topology(
    topology: dict[str, object], tmp_path: Path
) -> None:
    lab = LabSpec.model_validate({"servers": 7, "server_processes": 3, "topology": topology})
    expected = layout.nodes_of(lab)
    spec = RackSpec(scheme="nocache", lab=lab)
    assert_has(LiveRack(spec, tmp_path), expected)
    assert_has(SimRack(spec), expected)


@pytest.mark.parametrize("processes", [1, 2, 3, 7, 128])
@pytest.mark.parametrize("switches", [1, 2, 3, 16])
def test_servers_of_a_process_are_at_one_switch(switches: int, processes: int) -> None:
    topology = {"kind": "spine-leaf", "switches": switches}
    lab = LabSpec.model_validate(
        {"servers": 7, "server_processes": processes, "topology": topology}
    )
    network = layout.of_lab(lab, clients=1, coordinator=False)
    at = {host.host.index: host.switch for host in network.hosts if host.is_server}
    shares = nodes.partitions(lab)
    assert sorted(server for share in shares for server in share) == list(range(7))
    assert all(len({at[server] for server in share}) == 1 for share in shares)
    assert len(shares) >= min(processes, 7, len(set(at.values())))


def test_redis_servers_are_nodes_of_a_live_rack(tmp_path: Path) -> None:
    lab = LabSpec(servers=2, backend="redis")
    expected = layout.nodes_of(lab)
    assert list(expected)[-2:] == ["redis-0", "redis-1"]
    assert_has(LiveRack(RackSpec(scheme="nocache", lab=lab), tmp_path), expected)


def racks(directory: Path) -> list[Rack]:
    spec = RackSpec(scheme="nocache", lab=LabSpec(profile="farreach-testbed"))
    return [LiveRack(spec, directory), SimRack(spec)]


def test_operation_on_the_wrong_kind_of_node_is_refused(tmp_path: Path) -> None:
    for rack in racks(tmp_path):
        with pytest.raises(UsageError, match="no link 'switch'"):
            rack.link("switch")
        with pytest.raises(UsageError, match="no server process 'client'"):
            rack.server_process("client")
        with pytest.raises(UsageError, match="no node 'coordinator'"):
            rack.node("coordinator")


def test_spine_is_a_switch() -> None:
    assert nodes.kind_of("spine-0") is nodes.Switch
