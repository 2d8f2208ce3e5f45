"""Which switches are in service, and what the control planes and users are told about it."""

from __future__ import annotations

import pytest

from netkv.model.network import Network, rack, racks, spine_leaf, with_ports
from netkv.model.topology import Topology
from netkv.rack.rerouting import Rerouting

NETWORK = spine_leaf(2, 2, clients=2, servers=4)


class Watched(Rerouting):
    """Records changes and notes in their order."""

    def __init__(self, network: Network = NETWORK) -> None:
        self.changed: dict[str, Topology] = {}
        self.notes: list[str] = []
        self.order: list[str] = []
        super().__init__(network, self._record, self._note)

    def _record(self, switch: str, topology: Topology) -> None:
        self.order.append("change")
        self.changed[switch] = topology

    def _note(self, text: str) -> None:
        self.order.append("note")
        self.notes.append(text)


def test_switches_whose_routes_differ_get_their_topology() -> None:
    rerouting = Watched()
    rerouting.set_service("spine-0", False)
    down = NETWORK.without(["spine-0"])
    assert set(rerouting.changed) == {"edge-0", "leaf-0"}
    for switch, topology in rerouting.changed.items():
        assert topology == down.switch(switch).topology == rerouting.topology(switch)
    assert rerouting.out_of_service == {"spine-0"}
    rerouting.set_service("spine-0", True)
    for switch, topology in rerouting.changed.items():
        assert topology == NETWORK.switch(switch).topology
    assert rerouting.out_of_service == frozenset()


def test_each_change_is_noted_once_before_it_takes_effect() -> None:
    rerouting = Watched()
    for in_service in (True, False, False, True, True):
        rerouting.set_service("spine-1", in_service)
    assert rerouting.notes == [
        "spine-1 is out of service: routes of 2 other switches change",
        "spine-1 is in service again: routes of 2 other switches change",
    ]
    assert rerouting.order == ["note", "change", "change"] * 2


@pytest.mark.parametrize(
    ("network", "switch"),
    [
        (NETWORK, "leaf-1"),
        (NETWORK, "edge-0"),
        (racks(3, clients=1, servers=2), "core"),
        (rack(clients=1, servers=2), "switch"),
    ],
)
def test_failure_without_another_way_is_not_noted(network: Network, switch: str) -> None:
    rerouting = Watched(network)
    rerouting.set_service(switch, False)
    assert rerouting.out_of_service == {switch}
    rerouting.set_service(switch, True)
    assert rerouting.order == []


def test_switch_out_of_service_gets_routes_around_the_others() -> None:
    rerouting = Watched()
    rerouting.set_service("leaf-0", False)
    rerouting.set_service("spine-0", False)
    clients = rerouting.topology("leaf-0").clients
    assert {host.port for host in clients} == {302}
    assert rerouting.changed["leaf-0"] == rerouting.topology("leaf-0")


def test_ports_of_own_hosts_stay_as_the_lab_has_them() -> None:
    ports = {"client-1": 1, "client-2": 1, "server-0": 100, "server-1": 100}
    rerouting = Watched(with_ports(NETWORK, ports))
    rerouting.set_service("spine-0", False)
    assert [host.port for host in rerouting.topology("edge-0").clients] == [1, 1]
    assert [host.port for host in rerouting.topology("leaf-0").servers[:2]] == [100, 100]


def test_unknown_switch_is_refused() -> None:
    with pytest.raises(KeyError, match="spine-7"):
        Watched().set_service("spine-7", False)
