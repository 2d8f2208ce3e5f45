"""Networks: ports of cables, routes, racks, coordinator, and refused descriptions."""

from collections import Counter

import pytest

from netkv.model.network import Network, lay_out, rack, racks, spine_leaf, with_ports
from netkv.model.topology import key_hash
from tests.schemes.scripted_rack import key_of

NETWORKS = {
    "rack": rack(clients=64, servers=128),
    "small rack": rack(clients=1, servers=1),
    "one of racks": racks(1, clients=2, servers=3),
    "racks": racks(4, clients=5, servers=10),
    "mixed racks": racks(3, clients=4, servers=8, client_racks=0),
    "fewer hosts than racks": racks(8, clients=1, servers=2, client_racks=3),
    "no spine": spine_leaf(1, 4, clients=3, servers=8),
    "spine-leaf": spine_leaf(2, 4, clients=8, servers=16),
    "one switch a layer": spine_leaf(2, 1, clients=1, servers=4),
    "three layers": spine_leaf(3, 3, clients=4, servers=128, client_switches=2),
    "five layers": spine_leaf(5, 8, clients=64, servers=100),
    "ring": lay_out(
        ["a", "b", "c", "d"],
        [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "b")],
        ["a", "c"],
        ["b", "d", "d"],
    ),
}
EVERY = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS.keys())


def path(network: Network, start: str, ip: int) -> list[str]:
    """The switches that a frame for `ip` passes from `start` on, then the host's name."""
    peers = network.peers()
    at = {host.host.ip: host for host in network.hosts}[ip]
    passed = [start]
    while True:
        topology = network.switch(passed[-1]).topology
        hosts = (*topology.clients, *topology.servers)
        port = next(host.port for host in hosts if host.ip == ip)
        there = peers.get((passed[-1], port))
        if there is None:
            assert network.switch(passed[-1]).ports[port] == at.name
            return [*passed, at.name]
        passed.append(there[0])
        assert len(passed) <= len(network.switches), f"a loop: {passed}"


@EVERY
def test_every_host_is_reached_from_every_switch(network: Network) -> None:
    for switch in network.switches:
        for host in network.hosts:
            assert path(network, switch.name, host.host.ip)[-1] == host.name


COORDINATED = {
    "rack": rack(clients=2, servers=5, coordinator=True),
    "racks": racks(3, clients=2, servers=4, coordinator=True),
    "spine-leaf": spine_leaf(2, 4, clients=2, servers=8, coordinator=True),
    "room for one cable more": spine_leaf(2, 199, clients=1, servers=1, coordinator=True),
}


@pytest.mark.parametrize("network", COORDINATED.values(), ids=COORDINATED.keys())
def test_the_coordinator_has_port_401_at_the_switch_of_client_1(network: Network) -> None:
    at = network.coordinator
    assert at is not None
    assert (at.name, at.host.port, at.host.ip) == ("coordinator", 401, 0x0A000002)
    assert at.switch == network.hosts[0].switch
    assert network.switch(at.switch).ports[401] == "coordinator"
    peers = network.peers()
    for plan in network.switches:
        here, hops = plan, 0
        while here.name != at.switch:
            assert here.topology.coordinator is not None
            here = network.switch(peers[here.name, here.topology.coordinator.port][0])
            hops += 1
            assert hops <= 4
        assert here.topology.coordinator == at.host
    ends = [(link.a, link.a_port) for link in network.links]
    ends += [(link.b, link.b_port) for link in network.links]
    assert (at.switch, 401) not in ends
    assert len(set(ends)) == len(ends)


def test_coordinator_does_not_change_other_hosts() -> None:
    with_one, without = (racks(3, clients=2, servers=4, coordinator=each) for each in (True, False))
    assert (with_one.hosts, with_one.links) == (without.hosts, without.links)
    assert without.coordinator is None
    for plan, other in zip(with_one.switches, without.switches, strict=True):
        assert plan.topology.clients == other.topology.clients
        assert plan.topology.servers == other.topology.servers
        assert other.topology.coordinator is None


@EVERY
def test_no_port_has_two_cables_or_is_the_cpu_port(network: Network) -> None:
    ends = Counter(
        [(host.switch, host.host.port) for host in network.hosts]
        + [(link.a, link.a_port) for link in network.links]
        + [(link.b, link.b_port) for link in network.links]
    )
    assert set(ends.values()) == {1}
    assert all(1 <= port <= 500 for _, port in ends)
    assert set(ends) == {(plan.name, port) for plan in network.switches for port in plan.ports}


@EVERY
def test_every_server_is_local_to_exactly_one_switch(network: Network) -> None:
    homes = {host.host.index: host.switch for host in network.hosts if host.is_server}
    for plan in network.switches:
        assert plan.topology.local is not None
        assert set(plan.topology.local) == {at for at, name in homes.items() if name == plan.name}
        assert plan.topology.has_servers == (plan.name in homes.values())


@EVERY
def test_all_switches_agree_on_the_owner_of_a_key(network: Network) -> None:
    keys = [key_of(i) for i in range(200)]
    for key in keys:
        owners = {plan.topology.owner(key).ip for plan in network.switches}
        assert len(owners) == 1
        assert [plan.topology.is_local(key) for plan in network.switches].count(True) == 1


@EVERY
def test_names_are_unique(network: Network) -> None:
    names = [*(plan.name for plan in network.switches), *(host.name for host in network.hosts)]
    assert len(set(names)) == len(names)


def test_a_request_passes_one_switch_of_every_layer() -> None:
    network = spine_leaf(3, 2, clients=1, servers=4)
    for host in network.hosts[1:]:
        passed = path(network, "edge-0", host.host.ip)
        layers = [name.split("-")[0] for name in passed]
        assert layers == ["edge", "spine1", "spine2", "leaf", "server"]


@pytest.mark.parametrize(("layers", "width"), [(2, 2), (2, 4), (3, 3), (5, 2)])
def test_requests_and_replies_of_a_server_have_one_chain(layers: int, width: int) -> None:
    network = spine_leaf(layers, width, clients=3, servers=9)
    place_of = {name: name.split("-")[1] for name in (plan.name for plan in network.switches)}
    client = next(at for at in network.hosts if not at.is_server)
    for at in (at for at in network.hosts if at.is_server):
        there = path(network, "edge-0", at.host.ip)[1:-1]
        assert {place_of[name] for name in there} == {place_of[at.switch]}
        back = path(network, at.switch, client.host.ip)[:-2]
        assert back == there[::-1]


def test_hosts_of_a_switch_may_share_a_port() -> None:
    ports = {"client-1": 1, "client-2": 1, "server-0": 100, "server-1": 100, "coordinator": 90}
    network = with_ports(racks(3, clients=2, servers=3, coordinator=True), ports)
    at = {
        host.name: host.host.port for host in (*network.hosts, *filter(None, [network.coordinator]))
    }
    assert at == {**ports, "server-2": 103}
    tor = network.switch("tor-0")
    assert tor.ports == {1: "client-1", 90: "coordinator", 301: "core"}
    assert [host.port for host in tor.topology.clients] == [1, 1]
    assert {host.port for host in tor.topology.servers} == {301}, "as before"
    assert network.switch("tor-1").ports == {100: "server-0", 301: "core"}


def test_racks_are_connected_by_the_core() -> None:
    network = racks(3, clients=2, servers=4)
    hosts = network.hosts
    assert path(network, "tor-0", hosts[2].host.ip) == [
        "tor-0",
        "core",
        "tor-1",
        "server-0",
    ]
    assert path(network, "tor-2", hosts[0].host.ip) == [
        "tor-2",
        "core",
        "tor-0",
        "client-1",
    ]


def test_servers_and_clients_are_spread_evenly() -> None:
    at = Counter(host.switch for host in spine_leaf(2, 4, clients=8, servers=18).hosts)
    assert at == {"edge-0": 8, "leaf-0": 5, "leaf-1": 4, "leaf-2": 5, "leaf-3": 4}
    at = Counter(host.switch for host in racks(3, clients=3, servers=6, client_racks=0).hosts)
    assert at == {"tor-0": 3, "tor-1": 3, "tor-2": 3}


def test_servers_are_spread_evenly_over_spines() -> None:
    network = spine_leaf(2, 4, clients=1, servers=16)
    spines = Counter(path(network, "edge-0", host.host.ip)[1] for host in network.hosts[1:])
    assert spines == dict.fromkeys(("spine-0", "spine-1", "spine-2", "spine-3"), 4)


def test_same_description_gives_the_same_network() -> None:
    again = spine_leaf(2, 4, clients=8, servers=16)
    assert again == NETWORKS["spine-leaf"]


@pytest.mark.parametrize("servers", [1, 2, 3, 7, 128])
def test_owner_is_the_server_whose_partition_has_the_hash(servers: int) -> None:
    topology = rack(clients=1, servers=servers).switches[0].topology
    for number in range(500):
        key = key_of(number)
        (owner,) = (p.owner for p in topology.partitions() if p.low <= key_hash(key) <= p.high)
        assert topology.owner(key) == owner


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: rack(clients=0, servers=1), "0 clients: a network has 1 to 80"),
        (lambda: rack(clients=81, servers=1), "81 clients"),
        (lambda: rack(clients=1, servers=0), "0 servers"),
        (lambda: rack(clients=1, servers=129), "129 servers"),
        (lambda: racks(0, clients=1, servers=1), "0 racks"),
        (lambda: racks(3, clients=1, servers=1, client_racks=3), "3 racks for clients only"),
        (lambda: spine_leaf(0, 1, clients=1, servers=1), "0 layers"),
        (lambda: spine_leaf(1, 0, clients=1, servers=1), "0 switches in a layer"),
        (lambda: spine_leaf(1, 1, clients=1, servers=1, client_switches=0), "0 switches for"),
        (lambda: spine_leaf(2, 201, clients=1, servers=1), "room for 200 cables"),
        (lambda: spine_leaf(2, 200, clients=1, servers=1, coordinator=True), "room for 199 cables"),
        (lambda: lay_out(["a"], [], ["a"], ["a"], "b"), "'b' is no switch"),
        (lambda: lay_out(["a"], [], ["b"], ["a"]), "'b' is no switch"),
        (lambda: lay_out(["a", "a"], [], ["a"], ["a"]), "Two switches are called 'a'"),
        (lambda: lay_out(["a"], [("a", "a")], ["a"], ["a"]), "back to itself"),
        (lambda: lay_out(["a", "b"], [], ["a"], ["b"]), "No cables lead from switch 'a'"),
    ],
)
def test_impossible_network_is_refused_with_a_reason(build: object, reason: str) -> None:
    assert callable(build)
    with pytest.raises(ValueError, match=reason):
        build()
