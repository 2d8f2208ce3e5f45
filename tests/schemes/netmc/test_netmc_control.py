"""NetMC's control plane: the effect of its table writes with one rack and with several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from netkv.control.base import (
    Action,
    InsertEntry,
    MulticastGroup,
    Note,
    Started,
    SwitchRestarted,
    TableWrite,
    TableWritten,
)
from netkv.control.forwarding import ForwardingOnly
from netkv.errors import MisfitError
from netkv.model import layout
from netkv.model.network import Network, rack, racks, spine_leaf
from netkv.model.spec import WorkloadSpec
from netkv.model.topology import COORDINATOR_IP, Topology, client_ip, server_ip, splitter_ip
from netkv.schemes import checks, netmc
from netkv.schemes.netmc.control_plane import LOOP_PORT, NetMc
from netkv.schemes.spec import LabSpec
from tests.schemes.netmc.programs import multiget
from tests.schemes.netmc.programs.multiget import Multiget
from tests.schemes.netmc.programs.netmc_switch import NetMcSwitch

NETWORKS = {
    "rack": rack(clients=2, servers=5, coordinator=True),
    "32 servers": rack(clients=1, servers=32),
    "racks": racks(3, clients=2, servers=7, coordinator=True),
    "mixed racks": racks(3, clients=4, servers=9, client_racks=0),
    "spine-leaf": spine_leaf(2, 3, clients=2, servers=12, coordinator=True),
}
EVERY = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS.keys())


class SwitchedNetwork:
    """A network of switches that forwards frames hop by hop and records those at hosts."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.fields = max(len(plan.topology.local or ()) for plan in network.switches)
        self.switches = {
            plan.name: NetMcSwitch(self.fields).fill(plan.topology) for plan in network.switches
        }

    def send(self, host: str, frame: bytes) -> dict[str, list[bytes]]:
        """The frames that arrive at each host."""
        peers = self.network.peers()
        others = [self.network.coordinator] if self.network.coordinator else []
        at = next(each for each in (*self.network.hosts, *others) if each.name == host)
        under_way = [(at.switch, at.host.port, frame)]
        arrived: dict[str, list[bytes]] = {}
        hops = 0
        while under_way:
            hops += 1
            assert hops < 100, "a loop"
            switch, port, data = under_way.pop(0)
            for out, left in self.switches[switch].engine.process(port, data):
                if (switch, out) in peers:
                    under_way.append((*peers[switch, out], left))
                else:
                    arrived.setdefault(self.network.switch(switch).ports[out], []).append(left)
        return arrived


def racks_of(network: Network) -> Iterator[tuple[int, str, list[int]]]:
    """Number, switch and servers of each rack."""
    for plan in network.switches:
        if plan.topology.rack:
            yield plan.topology.rack, plan.name, sorted(plan.topology.local or ())


@EVERY
def test_a_request_is_split_by_the_switch_of_its_rack_only(network: Network) -> None:
    switched = SwitchedNetwork(network)
    clients = [at for at in network.hosts if not at.is_server]
    for number, switch, servers in racks_of(network):
        groups = tuple((server, 1) for server in servers[:16])
        whole = replace(multiget.request(groups), rack=number)
        for client in clients:
            before = recirculated(switched)
            frame = whole.frame(switched.fields, client.host.ip, splitter_ip(number))
            assert switched.send(client.name, frame) == {
                f"server-{server}": [sub.frame(switched.fields, client.host.ip, server_ip(server))]
                for server, sub in multiget.sub_requests(groups, whole)
            }
            after = recirculated(switched)
            assert {name for name in after if after[name] != before[name]} == (
                {switch} if len(groups) > 1 else set()
            )


def recirculated(switched: SwitchedNetwork) -> dict[str, int]:
    return {name: it.engine.statistics()["recirculated"] for name, it in switched.switches.items()}


@EVERY
def test_requests_for_servers_of_other_racks_are_dropped(network: Network) -> None:
    switched = SwitchedNetwork(network)
    numbers = [number for number, _, _ in racks_of(network)]
    for number, switch, servers in racks_of(network):
        for other in {each for _, _, found in racks_of(network) for each in found} - set(servers):
            whole = replace(multiget.request(((other, 1),)), rack=number)
            frame = whole.frame(switched.fields, client_ip(1), splitter_ip(number))
            assert switched.send("client-1", frame) == {}
            assert switched.switches[switch].drops()[8] > 0
    for unknown in (0, max(numbers) + 1, 255):
        whole = replace(multiget.request(((0, 1),)), rack=unknown)
        frame = whole.frame(switched.fields, client_ip(1), splitter_ip(unknown or 255))
        assert switched.send("client-1", frame) == {}


@EVERY
def test_racks_are_numbered_in_the_order_of_their_switches(
    network: Network,
) -> None:
    found = list(racks_of(network))
    assert [number for number, _, _ in found] == list(range(1, len(found) + 1))
    assert all(plan.topology.has_servers == bool(plan.topology.rack) for plan in network.switches)
    for plan in network.switches:
        assert {host.index for host in plan.topology.splitters} == (
            {number for number, _, _ in found} - {plan.topology.rack}
        )


@EVERY
def test_replies_and_single_requests_are_routed_to_every_host(network: Network) -> None:
    switched = SwitchedNetwork(network)
    whole = replace(multiget.request(((0, 1),)), rack=0)
    servers = [at for at in network.hosts if at.is_server]
    others = [at for at in network.hosts if not at.is_server]
    if network.coordinator is not None:
        others.append(network.coordinator)
    for server in servers:
        for other in others:
            for start, goal in ((server, other), (other, server)):
                frame = whole.frame(switched.fields, start.host.ip, goal.host.ip)
                assert switched.send(start.name, frame) == {goal.name: [frame]}


def test_nocache_has_a_route_to_the_coordinator() -> None:
    topology = Topology.of_ports([1], [2, 3], coordinator_port=401)
    routes = [
        (write.match["dst"], write.params["port"])
        for write in ForwardingOnly(topology).tables()
        if isinstance(write, InsertEntry) and write.table == "NetkvIngress.route.ipv4"
    ]
    assert (COORDINATOR_IP, 401) in routes
    without = ForwardingOnly(Topology.of_ports([1], [2, 3])).tables()
    assert all(write.match.get("dst") != COORDINATOR_IP for write in without)  # type: ignore[union-attr]


# -------------------------------------------------------------- start and restart of one switch


class Driver:
    """A control plane and its switch."""

    def __init__(self, servers: int = 5) -> None:
        self.topology = Topology.of_ports([1], [11 + server for server in range(servers)])
        self.switch = NetMcSwitch(8)
        self.control = NetMc(self.topology, 8)
        self.notes: list[Note] = []
        self.now = 0

    def handle(self, event: Started | SwitchRestarted, steps: int | None = None) -> int:
        """Pass an event to the control plane and carry out its first `steps` writes, or all.

        Return the number of all writes."""
        writes = self._writes(self.control.handle(self.now, event))
        for write in writes[:steps]:
            self.switch.write([write])
            self.answer(TableWritten(write.write, True))
        return len(writes)

    def answer(self, written: TableWritten) -> None:
        assert not self._writes(self.control.handle(self.now, written))

    def _writes(self, actions: list[Action]) -> list[TableWrite]:
        """The table writes among the actions; the others are notes."""
        notes = [action for action in actions if isinstance(action, Note)]
        writes = [action for action in actions if isinstance(action, TableWrite)]
        assert len(notes) + len(writes) == len(actions)
        self.notes += notes
        return writes

    def ask(self, groups: tuple[tuple[int, int], ...]) -> set[int]:
        """The ports at which sub-requests leave."""
        return {port for port, _ in self.switch.ask(multiget.request(groups))}


ALL = tuple((server, 2) for server in range(5))


def test_restarted_switch_drops_requests_until_tables_are_ready() -> None:
    driver = Driver()
    driver.handle(Started())
    assert driver.control.ready()
    assert driver.ask(ALL) == {11, 12, 13, 14, 15}
    driver.switch.restart()
    assert driver.ask(ALL) == set()
    driver.handle(SwitchRestarted())
    assert driver.control.ready()
    assert driver.ask(ALL) == {11, 12, 13, 14, 15}
    assert driver.notes == [Note("tables ready"), Note("switch restarted"), Note("tables ready")]


def test_requests_are_split_only_when_all_tables_are_written() -> None:
    writes = Driver().handle(Started(), steps=0)
    for steps in range(writes + 1):
        driver = Driver()
        driver.handle(Started(), steps)
        assert driver.ask(ALL) == ({11, 12, 13, 14, 15} if steps == writes else set())
        assert driver.control.ready() is (steps == writes)
        assert driver.switch.engine.statistics()["unknown_multicast_groups"] == 0


def test_controller_is_not_ready_after_a_refused_write() -> None:
    control = NetMc(Topology.of_ports([1], [2]), 8)
    writes = [each for each in control.handle(0, Started()) if isinstance(each, TableWrite)]
    group = next(write for write in writes if isinstance(write, MulticastGroup))
    assert group.ports == (2, LOOP_PORT)
    for write in writes:
        notes = control.handle(0, TableWritten(write.write, write is not group, "no room"))
    assert not control.ready()
    assert control.statistics() == {"writes_refused": 1}
    assert Note("tables ready") not in notes


def test_a_new_controller_writes_the_same_tables() -> None:
    one, other = Driver(), Driver()
    assert list(one.control.tables()) == list(other.control.tables())


@pytest.mark.parametrize(
    ("servers", "topology", "fields"),
    [
        (1, {}, 1),
        (32, {}, 32),
        (7, {"kind": "racks", "racks": 3}, 4),
        (12, {"kind": "spine-leaf", "switches": 3}, 4),
    ],
)
def test_header_has_a_field_for_each_server_of_a_rack(
    servers: int, topology: dict[str, object], fields: int
) -> None:
    lab = LabSpec.model_validate({"servers": servers, "topology": topology})
    assert netmc.srv_fields(lab) == fields
    network = layout.of_lab(lab, clients=1, coordinator=False)
    assert max(len(plan.topology.local or ()) for plan in network.switches) == fields
    checks.check(netmc.SCHEME, lab, WorkloadSpec())


def test_racks_too_large_for_the_header_are_refused() -> None:
    with pytest.raises(MisfitError, match="room for 32 servers in the header"):
        checks.check(netmc.SCHEME, LabSpec(servers=33), WorkloadSpec())
    for fields in (0, 33):
        with pytest.raises(ValueError, match="1 to 32 SRV fields"):
            NetMc(Topology.of_ports([1], [2]), fields)
    with pytest.raises(ValueError, match="compiled with NETMC_SERVERS=3"):
        NetMc(Topology.of_ports([1], [2, 3, 4]), 2)


def test_a_request_of_one_key_is_not_recirculated() -> None:
    driver = Driver()
    driver.handle(Started())
    for op in (multiget.GET, multiget.PUT, multiget.DELETE, multiget.MGET):
        whole: Multiget = multiget.request(((4, 1),), op)
        ((port, frame),) = driver.switch.ask(whole)
        assert port == 15
        sub = replace(whole, keyidx=0)
        assert frame == sub.frame(8, client_ip(1), server_ip(4))
    assert driver.switch.engine.statistics()["recirculated"] == 0
