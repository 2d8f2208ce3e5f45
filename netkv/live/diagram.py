"""The topology of a lab for a drawing: its nodes in rows, and the links between them.

Everything follows from the specification, so a lab need not be up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from netkv import schemes
from netkv.live import cabling
from netkv.model import layout, nodes
from netkv.model import network as networks
from netkv.model.network import Network
from netkv.model.nodes import Coordinator
from netkv.schemes.spec import LabSpec, RackSpec

Kind = Literal[
    "switch",
    "servers",
    "client",
    "external-client",
    "coordinator",
    "card",
    "client-card",
    "redis",
    "controller",
]


@dataclass(frozen=True)
class DiagramNode:
    """A node and its place."""

    name: str
    kind: Kind
    row: int
    """From the top: clients, their cards, layers of switches, cards of servers, servers, Redis."""
    column: int
    """From the left, in its row."""
    servers: tuple[int, ...] = ()
    """The storage servers in a process of servers, and the one of a card or redis-server."""


@dataclass(frozen=True)
class DiagramLink:
    """A link between two nodes; ports are numbers of switch ports."""

    kind: Literal["host", "cable", "card", "storage", "control"]
    """`host`: a switch and a host, or its card; `cable`: two switches; `card`: a card and its host;
    `storage`: servers and their Redis; `control`: the controller and a switch."""
    a: str
    b: str
    a_port: int | None = None
    b_port: int | None = None

    @property
    def name(self) -> str:
        """Its name in faults and samples: the node at its end, or both switches of a cable."""
        return layout.cable_name(self.a, self.b) if self.kind == "cable" else self.b


@dataclass
class Diagram:
    """Nodes and links."""

    nodes: list[DiagramNode] = field(default_factory=list)
    links: list[DiagramLink] = field(default_factory=list)

    def row(self, row: int, kind: Kind, names: list[str], servers: list[tuple[int, ...]]) -> int:
        """Appends nodes to a row; returns the next row if there are any."""
        first = sum(node.row == row for node in self.nodes)
        for column, (name, of) in enumerate(zip(names, servers, strict=True), start=first):
            self.nodes.append(DiagramNode(name, kind, row, column, of))
        return row + bool(names)


def of_rack(spec: RackSpec) -> Diagram:
    """The diagram of a rack; raises `UsageError` for an invalid topology."""
    lab, scheme = spec.lab, schemes.of(spec)
    external = scheme.external_clients(lab)
    network = cabling.plan(spec, external, scheme.node_kinds)
    switches = dict(zip((it.name for it in network.switches), layout.names(network), strict=True))
    shares = list(nodes.partitions(lab))
    cards = [f"{nodes.Card.NAME}{n}" for n in range(lab.servers)]
    client_cards = [f"{nodes.ClientCard.NAME}0"]
    cards = cards if nodes.Card in scheme.node_kinds else []
    client_cards = client_cards if nodes.ClientCard in scheme.node_kinds else []

    diagram = Diagram()
    diagram.row(0, "client", [nodes.Client.NAME], [()])
    names = [f"{cabling.EXTERNAL}{n + 1}" for n in range(external)]
    diagram.row(0, "external-client", names, [()] * external)
    if scheme.has(Coordinator):
        diagram.row(0, "coordinator", [nodes.Coordinator.NAME], [()])
    row = diagram.row(1, "client-card", client_cards, [()] * len(client_cards))
    for layer in _layers(lab, network):
        row = diagram.row(row, "switch", [switches[it] for it in layer], [()] * len(layer))
    row = diagram.row(row, "card", cards, [(n,) for n in range(len(cards))])
    names = [f"{nodes.Servers.NAME}{n}" for n in range(len(shares))]
    row = diagram.row(row, "servers", names, shares)
    redis = list(nodes.redis_servers(lab))
    row = diagram.row(
        row, "redis", [f"{nodes.RedisServer.NAME}{n}" for n in redis], [(n,) for n in redis]
    )
    diagram.row(row, "controller", [nodes.Controller.NAME], [()])

    _link_hosts(diagram, network, switches, spec, cards, client_cards)
    for link in network.links:
        ends = switches[link.a], switches[link.b]
        diagram.links.append(DiagramLink("cable", *ends, link.a_port, link.b_port))
    for process, share in enumerate(shares):
        for server in share:
            if server in redis:
                servers = f"{nodes.Servers.NAME}{process}"
                end = f"{nodes.RedisServer.NAME}{server}"
                diagram.links.append(DiagramLink("storage", servers, end))
    for name in switches.values():
        diagram.links.append(DiagramLink("control", nodes.Controller.NAME, name))
    return diagram


def _layers(lab: LabSpec, network: Network) -> list[list[str]]:
    """The switches, by layers from the top."""
    topology = lab.topology
    names = [it.name for it in network.switches]
    if topology.kind == "spine-leaf":
        return networks.names_of_layers(topology.layers, topology.switches)
    core = {link.b for link in network.links}
    return [
        part
        for part in ([n for n in names if n in core], [n for n in names if n not in core])
        if part
    ]


def _link_hosts(
    diagram: Diagram,
    network: Network,
    switches: dict[str, str],
    spec: RackSpec,
    cards: list[str],
    client_cards: list[str],
) -> None:
    """Appends the links of hosts, and of the cards before them."""
    at = {it.name: it for it in (*network.hosts, *filter(None, [network.coordinator]))}

    def link(host: str, name: str, before: str | None = None) -> None:
        there = at[host]
        switch, port = switches[there.switch], there.host.port
        diagram.links.append(DiagramLink("host", switch, before or name, port))
        if before is not None:
            diagram.links.append(DiagramLink("card", before, name))

    link("client-1", nodes.Client.NAME, client_cards[0] if client_cards else None)
    first = spec.lab.clients + 1
    externals = [node for node in diagram.nodes if node.kind == "external-client"]
    for number, node in enumerate(externals, start=first):
        link(f"client-{number}", node.name)
    for process, share in enumerate(nodes.partitions(spec.lab)):
        name = f"{nodes.Servers.NAME}{process}"
        # With cards there is one server in each process.
        link(f"server-{share[0]}", name, cards[share[0]] if cards else None)
    if network.coordinator is not None:
        link("coordinator", nodes.Coordinator.NAME)
