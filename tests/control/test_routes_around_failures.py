"""Routes around switches that are out of service, followed hop by hop through the tables."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Collection, Iterator, Mapping

import pytest

from netkv.model.network import Attachment, Network, lay_out, racks, spine_leaf

SEEDS = pytest.mark.parametrize("seed", range(60))


def ports_of(network: Network) -> dict[str, dict[int, int]]:
    """The route to each address, by switch."""
    return {
        plan.name: {
            host.ip: host.port for host in (*plan.topology.hosts(), *plan.topology.splitters)
        }
        for plan in network.switches
    }


def follow(
    network: Network, routes: Mapping[str, Mapping[int, int]], start: str, ip: int
) -> list[str]:
    """The switches that a frame for `ip` passes from `start` on, as if all of them worked."""
    peers = network.peers()
    passed = [start]
    while (there := peers.get((passed[-1], routes[passed[-1]][ip]))) is not None:
        passed.append(there[0])
        assert len(set(passed)) == len(passed), f"a loop: {passed}"
    return passed


def path(network: Network, start: str, ip: int) -> list[str]:
    return follow(network, ports_of(network), start, ip)


def hosts(network: Network) -> tuple[Attachment, ...]:
    return (*network.hosts, *filter(None, [network.coordinator]))


def reachable(network: Network, goal: str, down: Collection[str]) -> set[str]:
    """The switches with a path to `goal` through switches in service."""
    found, queue = {goal}, deque([goal])
    while queue:
        here = queue.popleft()
        if here in down and here != goal:
            continue
        for link in network.links:
            ends = {link.a, link.b}
            if here in ends:
                (other,) = ends - {here}
                if other not in found:
                    found.add(other)
                    queue.append(other)
    return found


def is_whole(passed: list[str], down: Collection[str]) -> bool:
    return not set(passed[1:-1]) & set(down)


def any_network(draw: random.Random, *, placed: bool) -> Network:
    """Connected switches with any cables between them; `placed`: some have random positions."""
    names = [f"s{number}" for number in range(draw.randint(2, 9))]
    cables = [(name, draw.choice(names[:number])) for number, name in enumerate(names) if number]
    for _ in range(draw.randint(0, 12)):
        a, b = draw.sample(names, 2)
        cables.append((a, b))
    return lay_out(
        names,
        cables,
        draw.choices(names, k=draw.randint(1, 4)),
        draw.choices(names, k=draw.randint(1, 6)),
        draw.choice([None, *names]),
        {name: draw.randint(0, 4) for name in names if placed and draw.random() < 0.7},
    )


def any_spine_leaf(draw: random.Random) -> Network:
    return spine_leaf(
        draw.randint(1, 4),
        draw.randint(1, 4),
        clients=draw.randint(1, 4),
        servers=draw.randint(1, 8),
        client_switches=draw.randint(1, 3),
        coordinator=draw.random() < 0.5,
    )


def failures(draw: random.Random, network: Network) -> set[str]:
    names = [plan.name for plan in network.switches]
    return set(draw.sample(names, draw.randint(0, min(len(names), 5))))


def networks(seed: int) -> Iterator[tuple[Network, set[str]]]:
    draw = random.Random(seed)
    for network in (
        any_network(draw, placed=False),
        any_network(draw, placed=True),
        any_spine_leaf(draw),
    ):
        yield network, failures(draw, network)


@SEEDS
def test_every_host_with_a_path_is_reached_without_loops(seed: int) -> None:
    for network, down in networks(seed):
        new = network.without(down)
        for at in hosts(network):
            connected = reachable(network, at.switch, down)
            for plan in network.switches:
                passed = path(new, plan.name, at.host.ip)
                if plan.name in connected:
                    assert passed[-1] == at.switch
                    assert is_whole(passed, down), (passed, down)
                else:
                    # No other way: the route stays as it was.
                    ip = at.host.ip
                    assert ports_of(new)[plan.name][ip] == ports_of(network)[plan.name][ip]


@SEEDS
def test_frames_whose_chain_is_whole_keep_it(seed: int) -> None:
    draw = random.Random(seed)
    for network in (any_network(draw, placed=False), any_spine_leaf(draw)):
        down = failures(draw, network)
        new = network.without(down)
        for start in {at.switch for at in hosts(network)}:
            for at in hosts(network):
                before = path(network, start, at.host.ip)
                if is_whole(before, down):
                    assert path(new, start, at.host.ip) == before


@SEEDS
def test_requests_and_replies_still_have_one_chain(seed: int) -> None:
    draw = random.Random(seed)
    network = any_spine_leaf(draw)
    down = failures(draw, network)
    new = network.without(down)
    requesters = [at for at in hosts(network) if not at.is_server]
    for server in (at for at in network.hosts if at.is_server):
        for requester in requesters:
            if requester.switch not in reachable(network, server.switch, down):
                continue
            there = path(new, requester.switch, server.host.ip)
            back = path(new, server.switch, requester.host.ip)
            assert back == there[::-1]


@SEEDS
def test_no_frame_loops_while_tables_of_layers_change(seed: int) -> None:
    """Some switches have the new routes and others still the old ones."""
    draw = random.Random(seed)
    network = any_spine_leaf(draw)
    old, new = (ports_of(network.without(failures(draw, network))) for _ in range(2))
    mixed = {name: draw.choice([old, new])[name] for name in old}
    for at in hosts(network):
        for plan in network.switches:
            follow(network, mixed, plan.name, at.host.ip)


@SEEDS
def test_splitters_are_reached_like_the_servers_of_their_rack(seed: int) -> None:
    draw = random.Random(seed)
    network = any_spine_leaf(draw)
    new = network.without(failures(draw, network))
    home = {at.host.index: at.switch for at in network.hosts if at.is_server}
    racks = {plan.topology.rack: plan for plan in network.switches if plan.topology.rack}
    for plan in new.switches:
        for splitter in plan.topology.splitters:
            ports = {
                host.port
                for host in plan.topology.servers
                if home[host.index] == racks[splitter.index].name
            }
            assert ports == {splitter.port}


@SEEDS
def test_routes_depend_only_on_the_switches_that_are_down_now(seed: int) -> None:
    for network, down in networks(seed):
        assert network.without(()) == network
        assert network.without(down).without(()) == network
        assert network.without([network.switches[0].name]).without(down) == network.without(down)


def test_next_switch_of_the_layer_takes_the_place_of_a_failed_one() -> None:
    network = spine_leaf(2, 4, clients=1, servers=8)
    for number, server in enumerate(at for at in network.hosts if at.is_server):
        leaf = server.switch
        assert leaf == f"leaf-{number // 2}"
        spine = number // 2
        ways = [
            path(network.without(down), "edge-0", server.host.ip)
            for down in ((), [f"spine-{spine}"], [f"spine-{spine}", f"spine-{(spine + 1) % 4}"])
        ]
        assert ways == [["edge-0", f"spine-{(spine + step) % 4}", leaf] for step in range(3)]


def test_chain_moves_on_in_both_directions() -> None:
    """A reply that passes another switch goes on at its position, and so must the request."""
    network = spine_leaf(4, 3, clients=1, servers=3).without(["spine2-1"])
    chain = ["edge-0", "spine1-2", "spine2-2", "spine3-1", "leaf-1"]
    assert path(network, "edge-0", network.hosts[2].host.ip) == chain
    assert path(network, "leaf-1", network.hosts[0].host.ip) == chain[::-1]


def test_detour_is_taken_where_no_shortest_path_is_left() -> None:
    cables = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "a")]
    network = lay_out(list("abcde"), cables, ["a"], ["c"])
    assert path(network, "a", network.hosts[1].host.ip) == ["a", "b", "c"]
    assert path(network.without(["b"]), "a", network.hosts[1].host.ip) == ["a", "e", "d", "c"]


@pytest.mark.parametrize("down", [["core"], ["tor-1"], ["core", "tor-0"]])
def test_routes_of_racks_stay_as_they_were(down: list[str]) -> None:
    network = racks(4, clients=2, servers=6)
    assert network.without(down) == network


@pytest.mark.parametrize("down", [["leaf-0"], ["edge-0"], ["spine-0", "spine-1"]])
def test_routes_stay_where_there_is_no_other_way(down: list[str]) -> None:
    network = spine_leaf(2, 2, clients=2, servers=4, coordinator=True)
    assert network.without(down) == network


def test_unknown_switch_is_refused() -> None:
    with pytest.raises(ValueError, match="'spine-7' is no switch of the network; it has edge-0"):
        spine_leaf(2, 2, clients=1, servers=2).without(["leaf-0", "spine-7"])
