"""`TopologyChanged`: which entries a control plane changes, and what the switch has in the end."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pytest

from netkv.control.base import (
    Action,
    ControlPlane,
    InsertEntry,
    ModifyEntry,
    Note,
    Started,
    SwitchControlPlane,
    SwitchRestarted,
    TableWrite,
    TableWritten,
    TopologyChanged,
)
from netkv.control.cache_parameters import CacheParameters
from netkv.control.forwarding import ROUTE, ForwardingOnly
from netkv.model.network import Network, rack, spine_leaf
from netkv.model.topology import Topology
from netkv.schemes.farreach.control_plane import FarReach
from netkv.schemes.farreach.options import FarReachOptions
from netkv.schemes.farreach.parameters import FarReachParameters
from netkv.schemes.netcache.control_plane import NetCache
from netkv.schemes.netcache.options import NetCacheOptions
from netkv.schemes.netmc.control_plane import NetMc

NETWORK = spine_leaf(2, 3, clients=2, servers=6, coordinator=True)
DOWN = NETWORK.without(["spine-0"])
PLANES: dict[str, Callable[[Topology], ControlPlane]] = {
    "forwarding only": ForwardingOnly,
    "netcache": lambda topology: NetCache(topology, NetCacheOptions(), CacheParameters()),
    "farreach": lambda topology: FarReach(topology, FarReachOptions(), FarReachParameters()),
    "netmc": lambda topology: NetMc(topology, 4),
}
EVERY = pytest.mark.parametrize("make", PLANES.values(), ids=PLANES.keys())


class Switch:
    """The routes of a switch, and writes that are on their way to it, in order."""

    def __init__(self, control: ControlPlane) -> None:
        self.control = control
        self.routes: dict[int, int] = {}
        self.notes: list[str] = []
        self.sent: list[TableWrite] = []
        self.refuse: Callable[[TableWrite], bool] = lambda _: False
        self._under_way: list[TableWrite] = []

    def handle(self, *events: object) -> list[TableWrite]:
        """Passes events to the control plane; returns the writes that it sends at once."""
        before = len(self.sent)
        for event in events:
            self._take(self.control.handle(0, event))  # type: ignore[arg-type]
        return self.sent[before:]

    def restart(self) -> None:
        """The switch has lost its tables; nothing under way reaches it."""
        self._under_way.clear()
        self.routes.clear()
        self.handle(SwitchRestarted())

    def settle(self, writes: int | None = None) -> None:
        """Carries out so many writes, or all."""
        while self._under_way and writes != 0:
            write = self._under_way.pop(0)
            refused = self.refuse(write)
            if isinstance(write, InsertEntry | ModifyEntry) and write.table == ROUTE:
                address = write.match["dst"]
                assert isinstance(address, int)
                assert (address in self.routes) == isinstance(write, ModifyEntry)
                if not refused:
                    self.routes[address] = write.params["port"]
            self.handle(TableWritten(write.write, not refused, "no room" if refused else ""))
            writes = None if writes is None else writes - 1

    def _take(self, actions: Iterable[Action]) -> None:
        for action in actions:
            if isinstance(action, Note):
                self.notes.append(action.describe())
            elif isinstance(action, TableWrite):
                self.sent.append(action)
                self._under_way.append(action)


def topology(network: Network, switch: str = "edge-0") -> Topology:
    return network.switch(switch).topology


def started(make: Callable[[Topology], ControlPlane], switch: str = "edge-0") -> Switch:
    under_test = Switch(make(topology(NETWORK, switch)))
    under_test.handle(Started())
    under_test.settle()
    return under_test


def has_routes_of(switch: Switch, expected: Topology) -> bool:
    ports = {host.ip: host.port for host in (*expected.hosts(), *expected.splitters)}
    common = ports.keys() & switch.routes.keys()
    return len(common) >= len(list(expected.hosts())) and all(
        switch.routes[ip] == ports[ip] for ip in common
    )


@EVERY
@pytest.mark.parametrize("name", [plan.name for plan in NETWORK.switches])
def test_exactly_the_routes_whose_port_differs_are_modified(
    make: Callable[[Topology], ControlPlane], name: str
) -> None:
    switch = started(make, name)
    old, new = dict(switch.routes), topology(DOWN, name)
    writes = switch.handle(TopologyChanged(new))
    assert all(isinstance(write, ModifyEntry) and write.table == ROUTE for write in writes)
    switch.settle()
    assert has_routes_of(switch, new)
    assert len(writes) == sum(switch.routes[ip] != port for ip, port in old.items())
    if name.startswith("spine"):
        assert not writes
    elif name in ("edge-0", "leaf-0"):
        assert writes


def test_routes_to_other_splitters_change_too() -> None:
    switch = started(PLANES["netmc"])
    switch.handle(TopologyChanged(topology(DOWN)))
    switch.settle()
    splitters = topology(DOWN).splitters
    assert {splitter.port for splitter in splitters} == {302, 303}
    assert all(switch.routes[splitter.ip] == splitter.port for splitter in splitters)


@EVERY
def test_same_topology_again_writes_nothing(make: Callable[[Topology], ControlPlane]) -> None:
    switch = started(make)
    assert switch.handle(TopologyChanged(topology(NETWORK))) == []
    assert switch.handle(TopologyChanged(topology(DOWN)))
    assert switch.handle(TopologyChanged(topology(DOWN))) == []


@EVERY
@pytest.mark.parametrize("seed", range(20))
def test_last_topology_is_installed_whenever_it_comes(
    make: Callable[[Topology], ControlPlane], seed: int
) -> None:
    """Before the start, among initial writes, twice, around restarts: the last one counts."""
    draw = random.Random(seed)
    names = [plan.name for plan in NETWORK.switches if plan.name.startswith("spine")]
    switch, last = Switch(make(topology(NETWORK))), NETWORK
    if draw.random() < 0.5:
        last = NETWORK.without([draw.choice(names)])
        assert switch.handle(TopologyChanged(topology(last))) == []
    switch.handle(Started())
    for _ in range(draw.randint(1, 12)):
        match draw.randint(0, 3):
            case 0:
                switch.settle(draw.randint(0, 20))
            case 1:
                switch.restart()
            case _:
                last = NETWORK.without(draw.sample(names, draw.randint(0, 2)))
                switch.handle(*[TopologyChanged(topology(last))] * draw.randint(1, 2))
    switch.settle()
    assert has_routes_of(switch, topology(last))
    assert not any("refused" in note for note in switch.notes)
    switch.restart()
    switch.settle()
    assert has_routes_of(switch, topology(last))


def test_change_among_initial_writes_delays_readiness() -> None:
    switch = Switch(ForwardingOnly(topology(NETWORK)))
    initial = switch.handle(Started())
    changes = switch.handle(TopologyChanged(topology(DOWN)))
    switch.settle(len(initial))
    assert not switch.control.ready()
    switch.settle(len(changes))
    assert switch.control.ready()
    assert switch.notes == ["tables ready"]


def test_later_changes_do_not_affect_readiness() -> None:
    switch = started(PLANES["netcache"], "leaf-0")
    control = switch.control
    assert isinstance(control, NetCache)
    epoch = control.statistics()["epoch"]
    assert switch.handle(TopologyChanged(topology(DOWN, "leaf-0")))
    assert control.ready()
    switch.settle()
    assert control.ready()
    assert control.statistics()["epoch"] == epoch, "no new epoch begins"


def test_refused_change_is_noted_and_repeated_with_the_next_topology() -> None:
    switch = started(ForwardingOnly)
    changes = switch.handle(TopologyChanged(topology(DOWN)))
    switch.refuse = lambda write: write.write == changes[0].write
    switch.settle()
    assert f"table write refused (write {changes[0].write}, error no room)" in switch.notes
    assert switch.control.statistics()["writes_refused"] == 1
    assert switch.control.ready()
    assert not has_routes_of(switch, topology(DOWN))
    (again,) = switch.handle(TopologyChanged(topology(DOWN)))
    assert isinstance(again, ModifyEntry)
    assert isinstance(changes[0], ModifyEntry)
    assert (again.match, again.params) == (changes[0].match, changes[0].params)
    switch.settle()
    assert has_routes_of(switch, topology(DOWN))


def test_refused_initial_write_still_prevents_readiness() -> None:
    switch = Switch(ForwardingOnly(topology(NETWORK)))
    first, *_ = switch.handle(Started())
    switch.handle(TopologyChanged(topology(DOWN)))
    switch.refuse = lambda write: write is first
    switch.settle()
    assert not switch.control.ready()


@pytest.mark.parametrize(
    "other",
    [
        topology(spine_leaf(2, 3, clients=2, servers=5, coordinator=True), "leaf-0"),
        topology(spine_leaf(2, 3, clients=2, servers=6), "leaf-0"),
        topology(NETWORK, "leaf-1"),
        replace(topology(NETWORK, "leaf-0"), rack=2),
        rack(clients=2, servers=6).switches[0].topology,
    ],
    ids=["fewer servers", "no coordinator", "another switch", "another rack", "another network"],
)
def test_topology_with_other_hosts_is_refused(other: Topology) -> None:
    switch = started(ForwardingOnly, "leaf-0")
    with pytest.raises(ValueError, match="may differ only in the ports towards hosts at other"):
        switch.handle(TopologyChanged(other))


def test_control_plane_without_forwarding_tables_ignores_topologies() -> None:
    class Plain(SwitchControlPlane):
        def tables(self) -> Iterator[TableWrite]:
            return iter(())

        def ready(self) -> bool:
            return True

    assert Plain().handle(0, TopologyChanged(topology(DOWN))) == []
