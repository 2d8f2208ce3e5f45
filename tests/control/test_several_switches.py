"""NoCache and NetCache with several switches; only the owner's switch caches a key."""

import pytest

from netkv.control.base import Preload
from netkv.control.forwarding import ForwardingOnly
from netkv.model.messages import Message, Op
from netkv.model.network import Network, rack, racks, spine_leaf
from netkv.model.topology import Topology
from netkv.schemes.netcache.control_plane import NetCache
from netkv.schemes.netcache.parameters import NetCacheParameters
from tests.control.fabric import Fabric
from tests.schemes.scripted_rack import key_of

KEYS = [key_of(i) for i in range(40)]
VALUE = bytes(range(100))
HOT = 3

NETWORKS = {
    "rack": rack(clients=2, servers=3),
    "racks": racks(3, clients=2, servers=4),
    "mixed racks": racks(3, clients=3, servers=3, client_racks=0),
    "spine-leaf": spine_leaf(2, 2, clients=2, servers=4),
    "three layers": spine_leaf(3, 2, clients=2, servers=4, client_switches=2),
}
EVERY = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS.keys())


def nocache(network: Network) -> Fabric:
    return filled(Fabric(network, "nocache", ForwardingOnly))


def netcache(network: Network) -> Fabric:
    def control(topology: Topology) -> NetCache:
        return NetCache(topology, NetCacheParameters(capacity=64, hot_threshold=HOT))

    return filled(Fabric(network, "netcache", control, "netcache"))


def filled(fabric: Fabric) -> Fabric:
    for key in KEYS:
        fabric.servers[fabric.owner(key)].role.store(key, VALUE)
    assert all(control.ready() for control in fabric.controls.values())
    return fabric


def preloaded(network: Network) -> Fabric:
    """NetCache, with all keys preloaded by every controller."""
    fabric = netcache(network)
    for name in fabric.controls:
        fabric.handle_at(name, Preload(tuple(KEYS)))
    fabric.settle()
    assert all(control.ready() for control in fabric.controls.values())
    return fabric


def home(fabric: Fabric, key: bytes) -> str:
    """The switch of the owner of a key."""
    switch, _ = fabric.homes[fabric.owner(key)]
    return switch


def served(fabric: Fabric, server: str) -> list[Op]:
    """The requests that a server has got."""
    requests = (Op.GET, Op.PUT, Op.DELETE)
    return [message.op for message in fabric.servers[server].received if message.op in requests]


def clients(fabric: Fabric) -> list[str]:
    return [at.name for at in fabric.network.hosts if not at.is_server]


def sender(client: str) -> int:
    return int(client.split("-")[1])


@pytest.mark.parametrize("build", [nocache, netcache])
@EVERY
def test_every_client_can_access_every_key(network: Network, build: object) -> None:
    assert callable(build)
    fabric = build(network)
    for client in clients(fabric):
        for number, key in enumerate(KEYS):
            server = fabric.owner(key)
            before = len(served(fabric, server))
            put = Message(Op.PUT, key, 3 * number, sender(client), length=5, value=b"hello")
            get = Message(Op.GET, key, 3 * number + 1, sender(client))
            delete = Message(Op.DELETE, key, 3 * number + 2, sender(client))
            assert fabric.ask(client, put) == [put.reply()]
            assert fabric.ask(client, get) == [get.reply(length=5, value=b"hello")]
            assert fabric.ask(client, delete) == [delete.reply()]
            assert served(fabric, server)[before:] == [Op.PUT, Op.GET, Op.DELETE]


def test_requests_and_replies_pass_every_layer() -> None:
    fabric = nocache(NETWORKS["three layers"])
    for key in KEYS:
        fabric.ask("client-1", Message(Op.GET, key, 1, 1))
        there, back = fabric.path(Op.GET), fabric.path(Op.GET_REPLY)
        layers = ["edge", "spine1", "spine2", "leaf"]
        assert [name.split("-")[0] for name in there] == layers
        assert [name.split("-")[0] for name in back] == layers[::-1]
        assert there[-1] == back[0] == home(fabric, key)


@EVERY
def test_reads_of_cached_keys_are_answered_by_the_owners_switch(network: Network) -> None:
    fabric = preloaded(network)
    for client in clients(fabric):
        for key in KEYS:
            get = Message(Op.GET, key, 1, sender(client))
            (reply,) = fabric.ask(client, get)
            assert reply.cache_hit
            assert reply.value == VALUE
            assert fabric.path(Op.GET)[-1] == home(fabric, key)
            # The reply may pass another spine, but takes a shortest path.
            back = fabric.path(Op.GET_REPLY)
            assert len(back) == len(fabric.path(Op.GET)) - 1
            assert back[-1:] == fabric.path(Op.GET)[:1] or not back
    assert not any(served(fabric, server) for server in fabric.servers)


@EVERY
def test_preloaded_keys_are_cached_at_the_owners_switch_only(network: Network) -> None:
    fabric = preloaded(network)
    for name, control in fabric.controls.items():
        assert isinstance(control, NetCache)
        assert set(control.cached_keys()) == {key for key in KEYS if home(fabric, key) == name}
        elsewhere = len(KEYS) - len(control.cached_keys())
        assert control.statistics().get("preloads_elsewhere", 0) == elsewhere


@EVERY
def test_write_of_a_cached_key_updates_its_entry(
    network: Network,
) -> None:
    fabric = preloaded(network)
    for number, key in enumerate(KEYS):
        value = b"new" * (number % 30)
        put = Message(Op.PUT, key, number, 1, length=len(value), value=value)
        assert fabric.ask("client-1", put) == [put.reply()]
        for client in clients(fabric):
            (reply,) = fabric.ask(client, Message(Op.GET, key, number, sender(client)))
            assert (reply.cache_hit, reply.value) == (True, value)
            assert fabric.path(Op.GET)[-1] == home(fabric, key)


@EVERY
def test_hot_keys_are_reported_and_cached_at_the_owners_switch(
    network: Network,
) -> None:
    fabric = netcache(network)
    for key in KEYS[:8]:
        for request in range(2 * HOT):
            fabric.ask("client-1", Message(Op.GET, key, request, 1))
        (reply,) = fabric.ask("client-1", Message(Op.GET, key, 99, 1))
        assert reply.cache_hit
        assert fabric.path(Op.GET)[-1] == home(fabric, key)
    for plan in network.switches:
        control = fabric.controls[plan.name]
        assert isinstance(control, NetCache)
        assert set(control.cached_keys()) == {
            key for key in KEYS[:8] if home(fabric, key) == plan.name
        }
        if not plan.topology.has_servers:
            assert fabric.digests[plan.name] == 0
            assert control.deadline() is None
    reports = sum(fabric.digests.values())
    elsewhere = sum(
        control.statistics().get("hot_keys_elsewhere", 0) for control in fabric.controls.values()
    )
    assert reports - elsewhere == 8


@EVERY
def test_outgrown_is_sent_to_the_nearest_switchs_controller(network: Network) -> None:
    fabric = preloaded(network)
    key = KEYS[0]
    large = bytes(200)
    put = Message(Op.PUT, key, 1, 1, length=len(large), value=large)
    assert fabric.ask("client-1", put) == [put.reply()]
    assert set(fabric.packet_ins(Op.OUTGROWN)) == {home(fabric, key)}
    received = fabric.servers[fabric.owner(key)].received
    assert Op.OUTGROWN_REPLY in [message.op for message in received]
    (reply,) = fabric.ask("client-1", Message(Op.GET, key, 1, 1))
    assert not reply.cache_hit
    assert reply.value == large


@pytest.mark.parametrize("build", [nocache, netcache])
@pytest.mark.parametrize("name", ["spine-leaf", "three layers"])
def test_every_key_is_accessible_while_a_spine_is_down(name: str, build: object) -> None:
    assert callable(build)
    network = NETWORKS[name]
    fabric = build(network)
    for spine in (plan.name for plan in network.switches if plan.name.startswith("spine")):
        passed: set[str] = set()
        fabric.fail(spine)
        for client in clients(fabric):
            for key in KEYS:
                (reply,) = fabric.ask(client, Message(Op.GET, key, 1, sender(client)))
                assert reply.value == VALUE
                there, back = fabric.path(Op.GET), fabric.path(Op.GET_REPLY)
                assert back in (there[::-1], there[-2::-1]), "all of the chain, or from the cache"
        fabric.restart(spine)
        for key in KEYS:
            fabric.ask("client-1", Message(Op.GET, key, 1, 1))
            passed.update(fabric.path(Op.GET))
        assert spine in passed, "traffic is spread again"


def test_failed_spine_costs_no_cached_key() -> None:
    fabric = preloaded(NETWORKS["spine-leaf"])
    fabric.fail("spine-0")
    for number, key in enumerate(KEYS):
        put = Message(Op.PUT, key, number, 1, length=5, value=b"hello")
        assert fabric.ask("client-1", put) == [put.reply()]
        (reply,) = fabric.ask("client-1", Message(Op.GET, key, number, 1))
        assert (reply.cache_hit, reply.value) == (True, b"hello")


def test_failed_leaf_costs_only_the_keys_of_its_servers() -> None:
    fabric = nocache(NETWORKS["spine-leaf"])
    fabric.fail("leaf-1")
    for key in KEYS:
        replies = fabric.ask("client-1", Message(Op.GET, key, 1, 1))
        assert bool(replies) == (home(fabric, key) == "leaf-0")
    fabric.restart("leaf-1")
    for key in KEYS:
        assert fabric.ask("client-1", Message(Op.GET, key, 1, 1))
