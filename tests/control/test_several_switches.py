"""NoCache and NetCache with several switches; only the owner's switch caches a key."""

import pytest

from netkv.control.base import Preload
from netkv.control.cache_parameters import CacheParameters
from netkv.control.forwarding import ForwardingOnly
from netkv.model.messages import Message, Op
from netkv.model.network import Network, rack, racks, spine_leaf
from netkv.model.topology import Topology
from netkv.schemes.netcache.control_plane import NetCache
from netkv.schemes.netcache.options import NetCacheOptions
from tests.control.switched_network import SwitchedNetwork, bundle
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


def nocache(network: Network) -> SwitchedNetwork:
    return filled(SwitchedNetwork(network, bundle("forwarding"), ForwardingOnly))


def netcache(network: Network) -> SwitchedNetwork:
    def control(topology: Topology) -> NetCache:
        options = NetCacheOptions(cache_entries=64, hot_threshold=HOT)
        return NetCache(topology, options, CacheParameters())

    return filled(SwitchedNetwork(network, bundle("netcache"), control, "netcache"))


def filled(switched: SwitchedNetwork) -> SwitchedNetwork:
    for key in KEYS:
        switched.servers[switched.owner(key)].role.store(key, VALUE)
    assert all(control.ready() for control in switched.controls.values())
    return switched


def preloaded(network: Network) -> SwitchedNetwork:
    """NetCache, with all keys preloaded by every controller."""
    switched = netcache(network)
    for name in switched.controls:
        switched.handle_at(name, Preload(tuple(KEYS)))
    switched.settle()
    assert all(control.ready() for control in switched.controls.values())
    return switched


def home(switched: SwitchedNetwork, key: bytes) -> str:
    """The switch of the owner of a key."""
    switch, _ = switched.homes[switched.owner(key)]
    return switch


def served(switched: SwitchedNetwork, server: str) -> list[Op]:
    """The requests that a server has got."""
    requests = (Op.GET, Op.PUT, Op.DELETE)
    return [message.op for message in switched.servers[server].received if message.op in requests]


def clients(switched: SwitchedNetwork) -> list[str]:
    return [at.name for at in switched.network.hosts if not at.is_server]


def sender(client: str) -> int:
    return int(client.split("-")[1])


@pytest.mark.parametrize("build", [nocache, netcache])
@EVERY
def test_every_client_can_access_every_key(network: Network, build: object) -> None:
    assert callable(build)
    switched = build(network)
    for client in clients(switched):
        for number, key in enumerate(KEYS):
            server = switched.owner(key)
            before = len(served(switched, server))
            put = Message(Op.PUT, key, 3 * number, sender(client), length=5, value=b"hello")
            get = Message(Op.GET, key, 3 * number + 1, sender(client))
            delete = Message(Op.DELETE, key, 3 * number + 2, sender(client))
            assert switched.ask(client, put) == [put.reply()]
            assert switched.ask(client, get) == [get.reply(length=5, value=b"hello")]
            assert switched.ask(client, delete) == [delete.reply()]
            assert served(switched, server)[before:] == [Op.PUT, Op.GET, Op.DELETE]


def test_requests_and_replies_pass_every_layer() -> None:
    switched = nocache(NETWORKS["three layers"])
    for key in KEYS:
        switched.ask("client-1", Message(Op.GET, key, 1, 1))
        there, back = switched.path(Op.GET), switched.path(Op.GET_REPLY)
        layers = ["edge", "spine1", "spine2", "leaf"]
        assert [name.split("-")[0] for name in there] == layers
        assert [name.split("-")[0] for name in back] == layers[::-1]
        assert there[-1] == back[0] == home(switched, key)


@EVERY
def test_reads_of_cached_keys_are_answered_by_the_owners_switch(network: Network) -> None:
    switched = preloaded(network)
    for client in clients(switched):
        for key in KEYS:
            get = Message(Op.GET, key, 1, sender(client))
            (reply,) = switched.ask(client, get)
            assert reply.cache_hit
            assert reply.value == VALUE
            assert switched.path(Op.GET)[-1] == home(switched, key)
            # The reply may pass another spine, but takes a shortest path.
            back = switched.path(Op.GET_REPLY)
            assert len(back) == len(switched.path(Op.GET)) - 1
            assert back[-1:] == switched.path(Op.GET)[:1] or not back
    assert not any(served(switched, server) for server in switched.servers)


@EVERY
def test_preloaded_keys_are_cached_at_the_owners_switch_only(network: Network) -> None:
    switched = preloaded(network)
    for name, control in switched.controls.items():
        assert isinstance(control, NetCache)
        assert set(control.cached_keys()) == {key for key in KEYS if home(switched, key) == name}
        elsewhere = len(KEYS) - len(control.cached_keys())
        assert control.statistics().get("preloads_elsewhere", 0) == elsewhere


@EVERY
def test_write_of_a_cached_key_updates_its_entry(
    network: Network,
) -> None:
    switched = preloaded(network)
    for number, key in enumerate(KEYS):
        value = b"new" * (number % 30)
        put = Message(Op.PUT, key, number, 1, length=len(value), value=value)
        assert switched.ask("client-1", put) == [put.reply()]
        for client in clients(switched):
            (reply,) = switched.ask(client, Message(Op.GET, key, number, sender(client)))
            assert (reply.cache_hit, reply.value) == (True, value)
            assert switched.path(Op.GET)[-1] == home(switched, key)


@EVERY
def test_hot_keys_are_reported_and_cached_at_the_owners_switch(
    network: Network,
) -> None:
    switched = netcache(network)
    for key in KEYS[:8]:
        for request in range(2 * HOT):
            switched.ask("client-1", Message(Op.GET, key, request, 1))
        (reply,) = switched.ask("client-1", Message(Op.GET, key, 99, 1))
        assert reply.cache_hit
        assert switched.path(Op.GET)[-1] == home(switched, key)
    for plan in network.switches:
        control = switched.controls[plan.name]
        assert isinstance(control, NetCache)
        assert set(control.cached_keys()) == {
            key for key in KEYS[:8] if home(switched, key) == plan.name
        }
        if not plan.topology.has_servers:
            assert switched.digests[plan.name] == 0
            assert control.deadline() is None
    reports = sum(switched.digests.values())
    elsewhere = sum(
        control.statistics().get("hot_keys_elsewhere", 0) for control in switched.controls.values()
    )
    assert reports - elsewhere == 8


@EVERY
def test_outgrown_is_sent_to_the_nearest_switchs_controller(network: Network) -> None:
    switched = preloaded(network)
    key = KEYS[0]
    large = bytes(200)
    put = Message(Op.PUT, key, 1, 1, length=len(large), value=large)
    assert switched.ask("client-1", put) == [put.reply()]
    assert set(switched.packet_ins(Op.OUTGROWN)) == {home(switched, key)}
    received = switched.servers[switched.owner(key)].received
    assert Op.OUTGROWN_REPLY in [message.op for message in received]
    (reply,) = switched.ask("client-1", Message(Op.GET, key, 1, 1))
    assert not reply.cache_hit
    assert reply.value == large


@pytest.mark.parametrize("build", [nocache, netcache])
@pytest.mark.parametrize("name", ["spine-leaf", "three layers"])
def test_every_key_is_accessible_while_a_spine_is_down(name: str, build: object) -> None:
    assert callable(build)
    network = NETWORKS[name]
    switched = build(network)
    for spine in (plan.name for plan in network.switches if plan.name.startswith("spine")):
        passed: set[str] = set()
        switched.fail(spine)
        for client in clients(switched):
            for key in KEYS:
                (reply,) = switched.ask(client, Message(Op.GET, key, 1, sender(client)))
                assert reply.value == VALUE
                there, back = switched.path(Op.GET), switched.path(Op.GET_REPLY)
                assert back in (there[::-1], there[-2::-1]), "all of the chain, or from the cache"
        switched.restart(spine)
        for key in KEYS:
            switched.ask("client-1", Message(Op.GET, key, 1, 1))
            passed.update(switched.path(Op.GET))
        assert spine in passed, "traffic is spread again"


def test_failed_spine_costs_no_cached_key() -> None:
    switched = preloaded(NETWORKS["spine-leaf"])
    switched.fail("spine-0")
    for number, key in enumerate(KEYS):
        put = Message(Op.PUT, key, number, 1, length=5, value=b"hello")
        assert switched.ask("client-1", put) == [put.reply()]
        (reply,) = switched.ask("client-1", Message(Op.GET, key, number, 1))
        assert (reply.cache_hit, reply.value) == (True, b"hello")


def test_failed_leaf_costs_only_the_keys_of_its_servers() -> None:
    switched = nocache(NETWORKS["spine-leaf"])
    switched.fail("leaf-1")
    for key in KEYS:
        replies = switched.ask("client-1", Message(Op.GET, key, 1, 1))
        assert bool(replies) == (home(switched, key) == "leaf-0")
    switched.restart("leaf-1")
    for key in KEYS:
        assert switched.ask("client-1", Message(Op.GET, key, 1, 1))
