"""Networks of one or several switches: cables, ports, and the topology of each switch.

Pure functions turn a description into a `Network`. Rules:

1. Every host and every end of a cable has a port of its own: client i is at port i, server i at
   101 + i, the coordinator at 401; cables to other switches are at 301 and up, in the order of the
   description.
2. A frame takes a shortest path. If several are equally short, the number of the destination host
   selects one. So all frames to a host take one path, and hosts are spread evenly over the paths.
   `spine_leaf` selects by position instead: requests for a server at `leaf-1` pass `spine-1`, and
   its replies do, too. So the requests for a key pass one chain of switches, and its replies pass
   the same chain in reverse.
3. A switch out of service is passed by no frames but those of its own hosts (`Network.without`):
   the next one in its layer takes its place, for requests and replies alike, so rule 2 still holds.
   Frames whose chain is whole keep it. Where there is no other way (the only switch of a layer, the
   core of `racks`), the route stays as it was. A path may be longer than without failures, but
   passes no switch twice (`netkv.model.paths`).
4. Only the first switch rewrites a request: the others find the owner's address in it and route.
   A switch caches keys of its own servers only, so a cache and its server are one cable apart.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, repeat
from typing import Literal, TypeAlias

from netkv.model.link import Link
from netkv.model.paths import Paths
from netkv.model.spreading import spread
from netkv.model.topology import (
    LAST_HOST_PORT,
    Host,
    Topology,
    client_ip,
    coordinator_at,
    mac_of,
    server_ip,
    splitter_ip,
)

MAX_CLIENTS = 80
"""Of the load (64) and external ones (16)."""
MAX_SERVERS = 128

_FIRST_SERVER_PORT = 101
_FIRST_CABLE_PORT = 301
_COORDINATOR_PORT = 401


@dataclass(frozen=True, slots=True)
class Attachment:
    """A host and the switch to which it is attached, at port `host.port`."""

    name: str
    """`client-1`, `server-0` or `coordinator`."""
    host: Host
    switch: str
    is_server: bool


Tier: TypeAlias = Literal["clients", "between", "servers"]
"""Which hosts a switch has. `servers`: servers, and possibly clients; `clients`: clients only;
`between`: none."""


@dataclass(frozen=True, slots=True)
class SwitchPlan:
    """A switch: the topology for its control plane, and its cables."""

    name: str
    topology: Topology
    ports: Mapping[int, str]
    """Port → name of the host or switch at the other end of the cable."""
    tier: Tier


@dataclass(frozen=True, slots=True)
class Network:
    """Switches and hosts, and the cables between them. No two of them have the same name."""

    switches: tuple[SwitchPlan, ...]
    links: tuple[Link, ...]
    """Cables between switches; those of hosts are in `hosts`."""
    hosts: tuple[Attachment, ...]
    """Clients 1, 2, …, then servers 0, 1, …"""
    coordinator: Attachment | None = None
    """The host that splits multiget requests, if there is one; it is not in `hosts`."""
    positions: Mapping[str, int] = field(default_factory=dict)
    """Positions of the switches that are in a layer (rule 2)."""
    first_layer: tuple[str, ...] = ()
    """The switches of the first of several layers, by position."""

    def switch(self, name: str) -> SwitchPlan:
        """The switch of that name; raises KeyError."""
        return {plan.name: plan for plan in self.switches}[name]

    def peers(self) -> dict[tuple[str, int], tuple[str, int]]:
        """(switch, port) → (switch, port) at the other end of the cable, in both directions."""
        forward = {(link.a, link.a_port): (link.b, link.b_port) for link in self.links}
        return forward | {b: a for a, b in forward.items()}

    def without(self, down: Collection[str]) -> "Network":
        """The network with the routes for the time when the switches `down` are out of service
        (rule 3); with none, the routes without failures.

        Raises ValueError for a name that no switch has.
        """
        names = [plan.name for plan in self.switches]
        if unknown := sorted(set(down) - set(names)):
            raise ValueError(
                f"'{unknown[0]}' is no switch of the network; it has {', '.join(names)}."
            )
        paths = Paths(names, self.links, self.positions, down)
        clients, servers = (
            [at.switch for at in self.hosts if at.is_server == is_server]
            for is_server in (False, True)
        )
        racks = {plan.topology.rack: plan.name for plan in self.switches}

        def routed(switch: str, host: Host, at: str) -> Host:
            return host if at == switch else replace(host, port=paths.port(switch, at, host.index))

        def plan(switch: SwitchPlan) -> SwitchPlan:
            name, known = switch.name, switch.topology
            coordinator = known.coordinator
            if coordinator is not None and self.coordinator is not None:
                coordinator = routed(name, coordinator, self.coordinator.switch)
            topology = replace(
                known,
                clients=tuple(map(routed, repeat(name), known.clients, clients)),
                servers=tuple(map(routed, repeat(name), known.servers, servers)),
                coordinator=coordinator,
                splitters=tuple(routed(name, it, racks[it.index]) for it in known.splitters),
                # Nothing is sent from one switch of that layer to another.
                first_layer=known.first_layer
                if name in self.first_layer
                else _towards(paths, name, self.first_layer),
            )
            return replace(switch, topology=topology)

        return replace(self, switches=tuple(map(plan, self.switches)))


# ---------------------------------------------------------------------------- descriptions


def rack(*, clients: int, servers: int, coordinator: bool = False) -> Network:
    """One switch, `tor`, with all hosts."""
    at = "tor" if coordinator else None
    return lay_out(["tor"], [], ["tor"] * clients, ["tor"] * servers, at)


def racks(
    count: int, *, clients: int, servers: int, client_racks: int = 1, coordinator: bool = False
) -> Network:
    """`count` racks, each with a switch (`tor-0`, …), joined by the switch `core`.

    The first `client_racks` have clients only, the others have the servers. With 0 the clients are
    spread over all racks, beside the servers. A single rack is `rack`, without `core`. A
    coordinator is at the switch of client 1.
    """
    if count == 1:
        return rack(clients=clients, servers=servers, coordinator=coordinator)
    if count < 1:
        raise ValueError(f"{count} racks: there must be at least 1.")
    if not 0 <= client_racks < count:
        raise ValueError(
            f"{client_racks} racks for clients only: of {count} racks these can be 0 to "
            f"{count - 1}, since one must have the servers."
        )
    core, *tors = names_of_racks(count)
    return lay_out(
        [core, *tors],
        cables_of_racks(count),
        _spread(clients, tors[:client_racks] or tors),
        _spread(servers, tors[client_racks:]),
        tors[0] if coordinator else None,
    )


def names_of_racks(count: int) -> list[str]:
    """The switches of `racks`, of which there are at least 2."""
    return ["core", *(f"tor-{i}" for i in range(count))]


def cables_of_racks(count: int) -> list[tuple[str, str]]:
    """The cables of `racks`, of which there are at least 2: rack, core."""
    core, *tors = names_of_racks(count)
    return [(tor, core) for tor in tors]


def spine_leaf(
    layers: int,
    switches: int,
    *,
    clients: int,
    servers: int,
    client_switches: int = 1,
    coordinator: bool = False,
) -> Network:
    """`layers` layers of `switches` switches, each joined to all of the next layer.

    Servers are at the last layer (`leaf-0`, …), spread evenly. The layers above are `spine-0`, …
    or, if there are several such layers, `spine1-0`, …, `spine2-0`, …, beginning at the clients.
    Clients are at `client_switches` separate switches (`edge-0`, …), each joined to all of the
    first layer, so that every request passes all layers (Sheng et al., "Toward Distributed
    Write-back Caching in Programmable Switches", section IV-A). A coordinator is at the switch of
    client 1.
    """
    for what, number in (("layers", layers), ("switches in a layer", switches)):
        if number < 1:
            raise ValueError(f"{number} {what}: there must be at least 1.")
    if client_switches < 1:
        raise ValueError(f"{client_switches} switches for clients: there must be at least 1.")
    rows = names_of_layers(layers, switches, client_switches)
    positions = {name: position for row in rows[1:] for position, name in enumerate(row)}
    return lay_out(
        [name for row in rows for name in row],
        cables_of_layers(rows),
        _spread(clients, rows[0]),
        _spread(servers, rows[-1]),
        rows[0][0] if coordinator else None,
        positions,
        rows[1] if layers > 1 else (),
    )


def names_of_layers(layers: int, switches: int, client_switches: int = 1) -> list[list[str]]:
    """The switches of `spine_leaf`: those of the clients, then those of each layer."""
    spines = ["spine"] if layers == 2 else [f"spine{layer}" for layer in range(1, layers)]
    edges = [f"edge-{i}" for i in range(client_switches)]
    return [edges, *([f"{layer}-{i}" for i in range(switches)] for layer in (*spines, "leaf"))]


def cables_of_layers(rows: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """The cables of `spine_leaf` between the switches of `names_of_layers`: upper, lower switch."""
    return [(above, below) for upper, lower in pairwise(rows) for above in upper for below in lower]


def lay_out(
    switches: Sequence[str],
    cables: Sequence[tuple[str, str]],
    clients: Sequence[str],
    servers: Sequence[str],
    coordinator: str | None = None,
    positions: Mapping[str, int] | None = None,
    first_layer: Sequence[str] = (),
) -> Network:
    """Any network: names of switches, cables between them, and the switch of each host.

    `clients`: the switch of client 1, 2, …; `servers`: of server 0, 1, …; `coordinator`: of the
    coordinator, if there is to be one. `positions`: those of the switches that are in layers, each
    joined to all of the next one (rule 2), and `first_layer` the switches of the first of them.
    Several cables between two switches are allowed. Raises ValueError, with the reason, for an
    invalid network.
    """
    others = [] if coordinator is None else [coordinator]
    _check(switches, cables, clients, servers, others)
    links = tuple(_links(cables, others))
    hosts = tuple(_attach(clients, servers))
    splitter = None
    if coordinator is not None:
        splitter = Attachment("coordinator", coordinator_at(_COORDINATOR_PORT), coordinator, False)
    paths = Paths(switches, links, positions or {})
    racks = [name for name in switches if name in servers]
    plans = (_plan(name, paths, hosts, splitter, links, racks, first_layer) for name in switches)
    return Network(tuple(plans), links, hosts, splitter, dict(positions or {}), tuple(first_layer))


def behind_cards(network: Network, shares: Sequence[Sequence[int]]) -> Network:
    """The network with several clients behind one port: all clients of a share (numbers from 1) are
    at the port of its first one. Raises ValueError if they are at different switches."""
    switch = {at.host.index: at.switch for at in network.hosts if not at.is_server}
    for share in shares:
        if len({switch[client] for client in share}) > 1:
            names = ", ".join(str(client) for client in share)
            raise ValueError(f"Clients {names} share a card, but not a switch.")
    return with_ports(
        network, {f"client-{client}": share[0] for share in shares for client in share}
    )


def with_ports(network: Network, numbers: Mapping[str, int]) -> Network:
    """The network with other port numbers for some of its hosts, by name. Hosts of a switch may
    share a port."""
    own = (*network.hosts, *(() if network.coordinator is None else (network.coordinator,)))

    def moved(at: Attachment) -> Attachment:
        return replace(at, host=replace(at.host, port=numbers.get(at.name, at.host.port)))

    def plan(switch: SwitchPlan) -> SwitchPlan:
        here = {at.name: moved(at) for at in own if at.switch == switch.name}

        def seen(name: str, host: Host) -> Host:
            return here[name].host if name in here else host

        topology = switch.topology
        coordinator = topology.coordinator
        topology = replace(
            topology,
            clients=tuple(seen(f"client-{host.index}", host) for host in topology.clients),
            servers=tuple(seen(f"server-{host.index}", host) for host in topology.servers),
            coordinator=coordinator and seen("coordinator", coordinator),
        )
        ports = {port: name for port, name in switch.ports.items() if name not in here}
        for at in here.values():
            ports.setdefault(at.host.port, at.name)
        return replace(switch, topology=topology, ports=ports)

    return replace(
        network,
        switches=tuple(plan(switch) for switch in network.switches),
        hosts=tuple(moved(at) for at in network.hosts),
        coordinator=network.coordinator and moved(network.coordinator),
    )


# --------------------------------------------------------------------------------- helpers


def _spread(hosts: int, switches: Sequence[str]) -> list[str]:
    """The switch of each host."""
    return [switches[place] for place in spread(hosts, len(switches))]


def _check(
    switches: Sequence[str],
    cables: Sequence[tuple[str, str]],
    clients: Sequence[str],
    servers: Sequence[str],
    others: Sequence[str],
) -> None:
    for what, number, most in (
        ("clients", len(clients), MAX_CLIENTS),
        ("servers", len(servers), MAX_SERVERS),
    ):
        if not 1 <= number <= most:
            raise ValueError(f"{number} {what}: a network has 1 to {most}.")
    known = set(switches)
    if len(known) < len(switches):
        twice = next(name for name in switches if switches.count(name) > 1)
        raise ValueError(f"Two switches are called '{twice}'; each needs a name of its own.")
    used = [*(end for cable in cables for end in cable), *clients, *servers, *others]
    for name in used:
        if name not in known:
            raise ValueError(f"'{name}' is no switch of the network; it has {', '.join(switches)}.")
    for a, b in cables:
        if a == b:
            raise ValueError(f"A cable leads from switch '{a}' back to itself.")


def _links(cables: Sequence[tuple[str, str]], with_coordinator: Sequence[str]) -> Iterator[Link]:
    taken: dict[str, int] = {}

    def plug(switch: str) -> int:
        port = taken.get(switch, _FIRST_CABLE_PORT)
        if port == _COORDINATOR_PORT and switch in with_coordinator:
            port += 1
        if port > LAST_HOST_PORT:
            most = LAST_HOST_PORT - _FIRST_CABLE_PORT + 1 - (switch in with_coordinator)
            raise ValueError(f"Switch '{switch}' has room for {most} cables to others, not more.")
        taken[switch] = port + 1
        return port

    for a, b in cables:
        yield Link(a, plug(a), b, plug(b))


def _attach(clients: Sequence[str], servers: Sequence[str]) -> Iterator[Attachment]:
    for index, switch in enumerate(clients, start=1):
        ip = client_ip(index)
        yield Attachment(f"client-{index}", Host(index, ip, mac_of(ip), index), switch, False)
    for index, switch in enumerate(servers):
        ip = server_ip(index)
        host = Host(index, ip, mac_of(ip), _FIRST_SERVER_PORT + index)
        yield Attachment(f"server-{index}", host, switch, True)


def _towards(paths: Paths, switch: str, goals: Sequence[str]) -> tuple[int, ...]:
    """The port of a switch towards each of other switches; 0 for itself."""
    return tuple(
        0 if goal == switch else paths.port(switch, goal, number)
        for number, goal in enumerate(goals)
    )


def _plan(
    name: str,
    paths: Paths,
    hosts: Sequence[Attachment],
    coordinator: Attachment | None,
    links: Sequence[Link],
    racks: Sequence[str],
    first_layer: Sequence[str],
) -> SwitchPlan:
    def from_here(at: Attachment) -> Host:
        port = at.host.port if at.switch == name else paths.port(name, at.switch, at.host.index)
        return replace(at.host, port=port)

    topology = Topology(
        clients=tuple(from_here(at) for at in hosts if not at.is_server),
        servers=tuple(from_here(at) for at in hosts if at.is_server),
        local=frozenset(at.host.index for at in hosts if at.is_server and at.switch == name),
        coordinator=None if coordinator is None else from_here(coordinator),
        rack=racks.index(name) + 1 if name in racks else 0,
        splitters=tuple(
            Host(number, splitter_ip(number), mac_of(splitter_ip(number)), port)
            for number, switch in enumerate(racks, start=1)
            if switch != name
            for port in (paths.port(name, switch, number),)
        ),
        first_layer=_towards(paths, name, first_layer),
    )
    attached = hosts if coordinator is None else (*hosts, coordinator)
    ports = {at.host.port: at.name for at in attached if at.switch == name}
    ports |= {link.a_port: link.b for link in links if link.a == name}
    ports |= {link.b_port: link.a for link in links if link.b == name}
    tier: Tier = "servers" if topology.local else "between"
    if tier == "between" and any(at.switch == name for at in attached):
        tier = "clients"
    return SwitchPlan(name, topology, ports, tier)
