"""Switches, hosts and cables of a rack, for both drivers.

Networks need the engine, which takes time to load: those who only list nodes do not load it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from netkv.errors import UsageError
from netkv.model.nodes import (
    Card,
    Client,
    ClientCard,
    Controller,
    Coordinator,
    Node,
    RedisServer,
    Servers,
    Switch,
    client_shares,
    partitions,
    redis_servers,
)

if TYPE_CHECKING:
    from netkv.model.hardware import GenericLab, TopologySpec
    from netkv.model.network import Network


def of_lab(lab: GenericLab, *, clients: int, coordinator: bool) -> Network:
    """The network of a lab with so many clients; raises `UsageError` for an invalid topology."""
    from netkv.model import network

    topology = lab.topology
    hosts = {"clients": clients, "servers": lab.servers}
    try:
        match topology.kind:
            case "rack":
                return network.rack(**hosts, coordinator=coordinator)
            case "racks":
                return network.racks(topology.racks, **hosts, coordinator=coordinator)
            case "spine-leaf":
                return network.spine_leaf(
                    topology.layers, topology.switches, **hosts, coordinator=coordinator
                )
    except ValueError as error:
        raise UsageError(f"This topology is invalid: {error}") from error


def names(network: Network) -> tuple[str, ...]:
    """Names of the switches as nodes: `switch` if there is one."""
    plans = network.switches
    return (Switch.NAME,) if len(plans) == 1 else tuple(plan.name for plan in plans)


def cable_name(a: str, b: str) -> str:
    """Name of the cable between two switches, in the order of the network's links."""
    return f"{a}:{b}"


def switches(lab: GenericLab) -> list[str]:
    """Names of the switches of a lab, as `names` of its network."""
    topology = lab.topology
    if _has_one_switch(topology):
        return [Switch.NAME]
    from netkv.model import network

    if topology.kind == "racks":
        return network.names_of_racks(topology.racks)
    layers = network.names_of_layers(topology.layers, topology.switches)
    return [name for layer in layers for name in layer]


def cables(lab: GenericLab) -> list[str]:
    """Names of the cables between the switches of a lab."""
    topology = lab.topology
    if _has_one_switch(topology):
        return []
    from netkv.model import network

    if topology.kind == "racks":
        ends = network.cables_of_racks(topology.racks)
    else:
        layers = network.names_of_layers(topology.layers, topology.switches)
        ends = network.cables_of_layers(layers)
    return [cable_name(a, b) for a, b in ends]


def nodes_of(lab: GenericLab, kinds: Collection[type[Node]] = ()) -> dict[str, type[Node]]:
    """The nodes of a rack, by name.

    `kinds`: its kinds of nodes that not all schemes have.
    """
    optional: dict[str, type[Node]] = (
        {Coordinator.NAME: Coordinator} if Coordinator in kinds else {}
    )
    cards = lab.servers if Card in kinds else 0
    in_clients = len(client_shares(lab)) if ClientCard in kinds else 0
    return {
        **dict.fromkeys(switches(lab), Switch),
        **{f"{Servers.NAME}{process}": Servers for process in range(len(partitions(lab)))},
        **optional,
        **{f"{Card.NAME}{server}": Card for server in range(cards)},
        **{f"{ClientCard.NAME}{card}": ClientCard for card in range(in_clients)},
        Client.NAME: Client,
        Controller.NAME: Controller,
        **{f"{RedisServer.NAME}{server}": RedisServer for server in redis_servers(lab)},
    }


def _has_one_switch(topology: TopologySpec) -> bool:
    return topology.kind == "rack" or (topology.kind == "racks" and topology.racks == 1)
