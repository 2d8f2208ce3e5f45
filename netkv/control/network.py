"""Racks of several switches: which cable goes into which port, and what each switch must know.

Pure functions from a description to a `Network`. Rules:

1. Every host and every end of a cable has a port of its own: client i is at port i, server i at
   101 + i, cables to other switches are at 301 and up, in the order of the description.
2. A frame takes a shortest path. Where several are equally long, the number of the host it goes to
   picks one, so all frames to a host take one way and hosts are spread evenly over the ways.
3. No switch but the first rewrites a request: the others find the owner's address in it and route.
   A switch caches keys of its own servers only, so between a cache and a server lies one cable.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from netkv.control.topology import LAST_HOST_PORT, Host, Topology, client_ip, mac_of, server_ip

MOST_CLIENTS = 64
MOST_SERVERS = 128

_FIRST_SERVER_PORT = 101
_FIRST_CABLE_PORT = 301


@dataclass(frozen=True, slots=True)
class Attachment:
    """A host and the switch it hangs at. `host.port` is the port of that switch."""

    name: str
    """`client-1` or `server-0`."""
    host: Host
    switch: str
    is_server: bool


@dataclass(frozen=True, slots=True)
class Link:
    """A cable between port `a_port` of switch `a` and port `b_port` of switch `b`."""

    a: str
    a_port: int
    b: str
    b_port: int


@dataclass(frozen=True, slots=True)
class SwitchPlan:
    """A switch: what its control plane must know, and what is plugged into it."""

    name: str
    topology: Topology
    ports: Mapping[int, str]
    """Port → name of the host or switch at the other end of the cable."""


@dataclass(frozen=True, slots=True)
class Network:
    """Switches and hosts, and the cables between them. Names are unique over both."""

    switches: tuple[SwitchPlan, ...]
    links: tuple[Link, ...]
    """Between switches; the cables of hosts are in `hosts`."""
    hosts: tuple[Attachment, ...]
    """Clients 1, 2, …, then servers 0, 1, …"""

    def switch(self, name: str) -> SwitchPlan:
        """The switch of that name; raises KeyError."""
        return {plan.name: plan for plan in self.switches}[name]

    def peers(self) -> dict[tuple[str, int], tuple[str, int]]:
        """(switch, port) → (switch, port) at the other end of the cable, in both directions."""
        there = {(link.a, link.a_port): (link.b, link.b_port) for link in self.links}
        return there | {b: a for a, b in there.items()}


# ---------------------------------------------------------------------------- descriptions


def rack(*, clients: int, servers: int) -> Network:
    """One switch, `tor`, with all hosts."""
    return lay_out(["tor"], [], ["tor"] * clients, ["tor"] * servers)


def racks(count: int, *, clients: int, servers: int, client_racks: int = 1) -> Network:
    """`count` racks, each with a switch (`tor-0`, …), joined by the switch `core`.

    The first `client_racks` have clients only, the others have the servers. With 0 the clients are
    spread over all racks, beside the servers. One rack alone is `rack`.
    """
    if count == 1:
        return rack(clients=clients, servers=servers)
    if count < 1:
        raise ValueError(f"{count} racks: there must be at least 1.")
    if not 0 <= client_racks < count:
        raise ValueError(
            f"{client_racks} racks for clients only: of {count} racks these can be 0 to "
            f"{count - 1}, since one must have the servers."
        )
    tors = [f"tor-{i}" for i in range(count)]
    return lay_out(
        ["core", *tors],
        [(tor, "core") for tor in tors],
        _spread(clients, tors[:client_racks] or tors),
        _spread(servers, tors[client_racks:]),
    )


def spine_leaf(
    layers: int, switches: int, *, clients: int, servers: int, client_switches: int = 1
) -> Network:
    """`layers` layers of `switches` switches, each joined to all of the next layer.

    Servers are at the last layer (`leaf-0`, …), spread evenly. The layers above are `spine-0`, …
    or, if there are several, `spine1-0`, …, `spine2-0`, …, from the clients on. Clients are at
    `client_switches` switches of their own (`edge-0`, …), each joined to all of the first layer,
    so that every request passes all layers (DistReach, section IV-A).
    """
    for what, number in (("layers", layers), ("switches in a layer", switches)):
        if number < 1:
            raise ValueError(f"{number} {what}: there must be at least 1.")
    if client_switches < 1:
        raise ValueError(f"{client_switches} switches for clients: there must be at least 1.")
    rows = [[f"edge-{i}" for i in range(client_switches)]]
    for layer in range(1, layers):
        spine = "spine" if layers == 2 else f"spine{layer}"
        rows.append([f"{spine}-{i}" for i in range(switches)])
    rows.append([f"leaf-{i}" for i in range(switches)])
    cables = [
        (above, below) for upper, lower in pairwise(rows) for above in upper for below in lower
    ]
    return lay_out(
        [name for row in rows for name in row],
        cables,
        _spread(clients, rows[0]),
        _spread(servers, rows[-1]),
    )


def lay_out(
    switches: Sequence[str],
    cables: Sequence[tuple[str, str]],
    clients: Sequence[str],
    servers: Sequence[str],
) -> Network:
    """Any network: names of switches, cables between them, and the switch of each host.

    `clients`: the switch of client 1, 2, …; `servers`: of server 0, 1, … Several cables between two
    switches are allowed. Raises ValueError for a network that cannot be, with what is wrong in it.
    """
    _check(switches, cables, clients, servers)
    links = tuple(_links(cables))
    hosts = tuple(_attach(clients, servers))
    ways = _Ways(switches, links)
    return Network(tuple(_plan(name, ways, hosts, links) for name in switches), links, hosts)


# ---------------------------------------------------------------------------------- inside


def _spread(hosts: int, switches: Sequence[str]) -> list[str]:
    """A switch for each host: neighbours together, numbers at most one apart."""
    return [switches[i * len(switches) // hosts] for i in range(hosts)]


def _check(
    switches: Sequence[str],
    cables: Sequence[tuple[str, str]],
    clients: Sequence[str],
    servers: Sequence[str],
) -> None:
    for what, number, most in (
        ("clients", len(clients), MOST_CLIENTS),
        ("servers", len(servers), MOST_SERVERS),
    ):
        if not 1 <= number <= most:
            raise ValueError(f"{number} {what}: a network has 1 to {most}.")
    known = set(switches)
    if len(known) < len(switches):
        twice = next(name for name in switches if switches.count(name) > 1)
        raise ValueError(f"Two switches are called '{twice}'; each needs a name of its own.")
    used = [*(end for cable in cables for end in cable), *clients, *servers]
    for name in used:
        if name not in known:
            raise ValueError(f"'{name}' is no switch of the network; it has {', '.join(switches)}.")
    for a, b in cables:
        if a == b:
            raise ValueError(f"A cable leads from switch '{a}' back to itself.")


def _links(cables: Sequence[tuple[str, str]]) -> Iterator[Link]:
    taken: dict[str, int] = {}

    def plug(switch: str) -> int:
        port = taken.get(switch, _FIRST_CABLE_PORT)
        if port > LAST_HOST_PORT:
            most = LAST_HOST_PORT - _FIRST_CABLE_PORT + 1
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


def _plan(
    name: str, ways: "_Ways", hosts: Sequence[Attachment], links: Sequence[Link]
) -> SwitchPlan:
    seen = [(at, Host(at.host.index, at.host.ip, at.host.mac, ways.port(name, at))) for at in hosts]
    topology = Topology(
        clients=tuple(host for at, host in seen if not at.is_server),
        servers=tuple(host for at, host in seen if at.is_server),
        local=frozenset(at.host.index for at in hosts if at.is_server and at.switch == name),
    )
    ports = {at.host.port: at.name for at in hosts if at.switch == name}
    ports |= {link.a_port: link.b for link in links if link.a == name}
    ports |= {link.b_port: link.a for link in links if link.b == name}
    return SwitchPlan(name, topology, ports)


class _Ways:
    """Shortest paths between switches."""

    def __init__(self, switches: Sequence[str], links: Sequence[Link]) -> None:
        self._cables: dict[str, list[tuple[int, str]]] = {name: [] for name in switches}
        for link in links:
            self._cables[link.a].append((link.a_port, link.b))
            self._cables[link.b].append((link.b_port, link.a))
        self._distances: dict[str, dict[str, int]] = {}

    def port(self, switch: str, to: Attachment) -> int:
        """The port of `switch` that leads towards a host (rule 2)."""
        if switch == to.switch:
            return to.host.port
        distance = self._to(to.switch)
        if switch not in distance:
            raise ValueError(f"No cables lead from switch '{switch}' to {to.name}.")
        nearer = [
            port for port, other in self._cables[switch] if distance[other] < distance[switch]
        ]
        return nearer[to.host.index % len(nearer)]

    def _to(self, goal: str) -> dict[str, int]:
        """How many cables lie between each switch and `goal`."""
        distance = self._distances.get(goal)
        if distance is None:
            distance = self._distances[goal] = {goal: 0}
            queue = deque([goal])
            while queue:
                here = queue.popleft()
                for _, other in self._cables[here]:
                    if other not in distance:
                        distance[other] = distance[here] + 1
                        queue.append(other)
        return distance
