"""NetMC's control plane: the effect of its table writes with one rack and with several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from netkv.control.base import (
    MILLISECOND,
    InsertEntry,
    MulticastGroup,
    Note,
    Started,
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
from tests.control.switched_network import INSTANT, SwitchedNetwork
from tests.schemes.netmc.programs import multiget
from tests.schemes.netmc.programs.multiget import Multiget
from tests.schemes.netmc.programs.netmc_switch import bundle, drops
from tests.schemes.scripted_rack import MICROSECOND, Hop, ScriptedRack, Switch

NETWORKS = {
    "rack": rack(clients=2, servers=5, coordinator=True),
    "32 servers": rack(clients=1, servers=32),
    "racks": racks(3, clients=2, servers=7, coordinator=True),
    "mixed racks": racks(3, clients=4, servers=9, client_racks=0),
    "spine-leaf": spine_leaf(2, 3, clients=2, servers=12, coordinator=True),
}
EVERY = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS.keys())


class MultigetNetwork(SwitchedNetwork):
    """A network of switches that split requests. Hosts only record what arrives."""

    def __init__(self, network: Network) -> None:
        self.fields = max(len(plan.topology.local or ()) for plan in network.switches)
        self.arrived: dict[str, list[bytes]] = {}
        super().__init__(network, bundle(self.fields), lambda it: NetMc(it, self.fields))

    def add_hosts(self) -> None:
        if other := self.network.coordinator:
            self.homes[other.name] = other.switch, other.host.port
        self.hosts = {name: partial(self._arrive, name) for name in self.homes}

    def _arrive(self, host: str, frame: bytes) -> None:
        self.arrived.setdefault(host, []).append(frame)

    def on_left(self, cause: Hop, hop: Hop) -> None:  # noqa: ARG002 (parameters of the driver)
        assert len(self.hops) < 100, "a loop"

    def arrivals(self, host: str, frame: bytes) -> dict[str, list[bytes]]:
        """The frames that arrive at each host after one of `host`."""
        self.arrived = {}
        self.hops.clear()
        self.send(host, frame)
        self.settle()
        return self.arrived


def racks_of(network: Network) -> Iterator[tuple[int, str, list[int]]]:
    """Number, switch and servers of each rack."""
    for plan in network.switches:
        if plan.topology.rack:
            yield plan.topology.rack, plan.name, sorted(plan.topology.local or ())


@EVERY
def test_a_request_is_split_by_the_switch_of_its_rack_only(network: Network) -> None:
    switched = MultigetNetwork(network)
    clients = [at for at in network.hosts if not at.is_server]
    for number, switch, servers in racks_of(network):
        groups = tuple((server, 1) for server in servers[:16])
        whole = replace(multiget.request(groups), rack=number)
        for client in clients:
            before = recirculated(switched)
            frame = whole.frame(switched.fields, client.host.ip, splitter_ip(number))
            assert switched.arrivals(client.name, frame) == {
                f"server-{server}": [sub.frame(switched.fields, client.host.ip, server_ip(server))]
                for server, sub in multiget.sub_requests(groups, whole)
            }
            after = recirculated(switched)
            assert {name for name in after if after[name] != before[name]} == (
                {switch} if len(groups) > 1 else set()
            )


def recirculated(switched: MultigetNetwork) -> dict[str, int]:
    return {name: it.engine.statistics()["recirculated"] for name, it in switched.switches.items()}


@EVERY
def test_requests_for_servers_of_other_racks_are_dropped(network: Network) -> None:
    switched = MultigetNetwork(network)
    numbers = [number for number, _, _ in racks_of(network)]
    for number, switch, servers in racks_of(network):
        for other in {each for _, _, found in racks_of(network) for each in found} - set(servers):
            whole = replace(multiget.request(((other, 1),)), rack=number)
            frame = whole.frame(switched.fields, client_ip(1), splitter_ip(number))
            assert switched.arrivals("client-1", frame) == {}
            assert drops(switched.switches[switch].engine, switched.fields)[8] > 0
    for unknown in (0, max(numbers) + 1, 255):
        whole = replace(multiget.request(((0, 1),)), rack=unknown)
        frame = whole.frame(switched.fields, client_ip(1), splitter_ip(unknown or 255))
        assert switched.arrivals("client-1", frame) == {}


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
    switched = MultigetNetwork(network)
    whole = replace(multiget.request(((0, 1),)), rack=0)
    servers = [at for at in network.hosts if at.is_server]
    others = [at for at in network.hosts if not at.is_server]
    if network.coordinator is not None:
        others.append(network.coordinator)
    for server in servers:
        for other in others:
            for start, goal in ((server, other), (other, server)):
                frame = whole.frame(switched.fields, start.host.ip, goal.host.ip)
                assert switched.arrivals(start.name, frame) == {goal.name: [frame]}


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


ALL = tuple((server, 2) for server in range(5))
PORTS = {101, 102, 103, 104, 105}


class NetMcRack(ScriptedRack[Switch]):
    """A control plane and its switch."""

    net = channel = INSTANT
    pipeline_time = MICROSECOND

    def __init__(self) -> None:
        self.set_up(rack(clients=1, servers=5), lambda plan: Switch(plan, bundle()), seed=0)
        self.control: NetMc = NetMc(self.topology, 8)
        self.answered: list[tuple[set[int], bool]] = []
        """After each table write: where sub-requests left, and whether the controller was ready."""

    def apply(self, switch: Switch, write: TableWrite, pipeline: int) -> str:
        error = super().apply(switch, write, pipeline)
        self.answered.append((self.ask(ALL), self.control.ready()))
        return error

    def ask(self, groups: tuple[tuple[int, int], ...]) -> set[int]:
        """The ports at which sub-requests leave."""
        return {port for port, _ in self.split(multiget.request(groups))}

    def split(self, whole: Multiget) -> list[tuple[int, bytes]]:
        """The frames that leave the switch after a request."""
        return self.switch.process(1, whole.frame(8, client_ip(1), splitter_ip(1)))

    def start(self) -> NetMcRack:
        """Start the controller; the tables are filled."""
        self.start_controller()
        self.run(MILLISECOND)
        return self


def test_restarted_switch_drops_requests_until_tables_are_ready() -> None:
    driver = NetMcRack().start()
    assert driver.control.ready()
    assert driver.ask(ALL) == PORTS
    driver.stop_switch(driver.switch, noticed=False)
    driver.start_switch(driver.switch)
    assert driver.ask(ALL) == set()
    driver.run(MILLISECOND)
    assert driver.control.ready()
    assert driver.ask(ALL) == PORTS
    assert driver.notes == [Note("tables ready"), Note("switch restarted"), Note("tables ready")]


def test_requests_are_split_only_when_all_tables_are_written() -> None:
    driver = NetMcRack().start()
    writes = len(list(driver.control.tables()))
    assert driver.answered == [(set(), False)] * (writes - 1) + [(PORTS, False)]
    assert driver.control.ready()
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
    one, other = NetMcRack(), NetMcRack()
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
    driver = NetMcRack().start()
    before = driver.switch.engine.statistics()["recirculated"]
    for op in (multiget.GET, multiget.PUT, multiget.DELETE, multiget.MGET):
        whole: Multiget = multiget.request(((4, 1),), op)
        ((port, frame),) = driver.split(whole)
        assert port == 105
        sub = replace(whole, keyidx=0)
        assert frame == sub.frame(8, client_ip(1), server_ip(4))
    assert driver.switch.engine.statistics()["recirculated"] == before
