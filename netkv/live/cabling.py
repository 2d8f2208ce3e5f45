"""The cables of a rack: addresses and switch ports of its nodes.

A cable is a pair of UDP sockets: the switch's end of the port and the peer's end, on loopback if
both are on one machine. In the fabric `veth` it is a pair of interfaces, except for external
clients, which need no privileges.
A card is between the switch and a server process, or the process of the clients: one cable to each.
All clients of the load share switch port 1, external clients (programs that use the rack,
`netkv.client`) have ports from 2 on, the servers of one process share port 100 + its index, and the
coordinator, if the scheme has one, is at port 90; the switch finds the port of a host from its IP
address (docs/internals/wire-format.md). Cables to other switches are at ports from 301 on, and
which switch has which host is determined by the topology (`netkv.model.network`). A switch that
runs elsewhere has the ports that the lab's file names.
A process becomes an external client by binding the peer's end of its cable; this lasts until it
ends.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, TypeAlias

from netkv import _engine, schemes
from netkv.live import addresses, target
from netkv.live.addresses import Addresses
from netkv.live.cable import Cable, SwitchCabling
from netkv.live.veth import Host, VethFabric
from netkv.model import layout, topology
from netkv.model.network import Network, SwitchPlan, with_ports
from netkv.model.nodes import Card, Client, ClientCard, Coordinator, Node, Servers, partitions
from netkv.model.scheme_options import CoordinatorOptions
from netkv.rack.load import keyspace, load_config
from netkv.schemes.scheme import Scheme
from netkv.schemes.spec import RackSpec

Kinds: TypeAlias = Collection[type[Node]]
CLIENT_PORT = 1
FIRST_EXTERNAL_PORT = 2
COORDINATOR_PORT = 90
FIRST_SERVER_PORT = 100
EXTERNAL = "external-"
"""Begins the names of external clients' places, from 1, for the ports of a switch elsewhere."""

SINKS = (_engine.NETKV_PORT, _engine.MULTIGET_PORT)
"""UDP ports of requests for one key and for several. The nodes handle these frames; the network
stacks of the hosts must not answer them."""
RING = "packet"
"""The ring of interfaces. With `packet` a frame reaches both the node and the network stack of its
namespace, which other programs use; with `xdp` it reaches only the node."""


@dataclass(frozen=True)
class Cabling:
    """All addresses of a rack; they do not change when nodes restart."""

    network: Network
    switches: tuple[SwitchCabling, ...]
    client: Cable
    servers: tuple[Cable, ...]
    """One for each server process."""
    partitions: tuple[tuple[int, ...], ...]
    """Indices of the servers in each server process."""
    external_clients: tuple[Cable, ...] = ()
    """One for each program that may use the rack."""
    coordinator: Cable | None = None
    cards: tuple[Cable, ...] = ()
    """With a card before each server process, the cables between them: `switch` is the card's end,
    and those of `servers` lead to the cards."""
    client_card: Cable | None = None
    """With a card before the clients of the load, the cable between them; that of `client` leads to
    the card."""

    def switch(self, name: str) -> SwitchCabling:
        """The addresses of the switch of that name."""
        return next(switch for switch in self.switches if switch.name == name)


def hosts(spec: RackSpec, kinds: Kinds = ()) -> list[Host]:
    """The hosts of the fabric `veth`: a namespace for each process that takes part in the load.

    Each has the address of the first client or server in it.
    """
    addresses = {Client.NAME: topology.client_ip(1)}
    for index, share in enumerate(partitions(spec.lab)):
        addresses[f"{Servers.NAME}{index}"] = topology.server_ip(share[0])
    if Coordinator in kinds:
        addresses[Coordinator.NAME] = topology.COORDINATOR_IP
    numbers = port_numbers(spec, 0, kinds)
    return [_host(name, numbers[name], address) for name, address in addresses.items()]


def _host(name: str, port: int, address: int) -> Host:
    mac = topology.mac_of(address).to_bytes(6, "big").hex(":")
    return Host(name, port, f"{IPv4Address(address)}/8", mac)


def port_numbers(spec: RackSpec, external_clients: int, kinds: Kinds) -> dict[str, int]:
    """The switch port of each node, by its name: clients, servers, and the coordinator.

    Raises `UsageError` for a node without a port, if the switch is one that runs elsewhere.
    """
    wanted = {Client.NAME: CLIENT_PORT}
    wanted |= {f"{EXTERNAL}{n + 1}": FIRST_EXTERNAL_PORT + n for n in range(external_clients)}
    processes = len(partitions(spec.lab))
    wanted |= {f"{Servers.NAME}{n}": FIRST_SERVER_PORT + n for n in range(processes)}
    if Coordinator in kinds:
        wanted[Coordinator.NAME] = COORDINATOR_PORT
    return target.port_numbers(spec.lab, wanted)


def plan(spec: RackSpec, external_clients: int, kinds: Kinds) -> Network:
    """Switches and hosts of a rack, with the ports of its cables: hosts of a process share one.

    Raises `UsageError` for an invalid topology, and for a node without a port, if the switch is one
    that runs elsewhere.
    """
    lab = spec.lab
    network = layout.of_lab(
        lab, clients=lab.clients + external_clients, coordinator=Coordinator in kinds
    )
    numbers = port_numbers(spec, external_clients, kinds)
    ports = {f"client-{n + 1}": numbers[Client.NAME] for n in range(lab.clients)}
    for n in range(external_clients):
        ports[f"client-{lab.clients + n + 1}"] = numbers[f"{EXTERNAL}{n + 1}"]
    for index, share in enumerate(partitions(lab)):
        ports |= {f"server-{server}": numbers[f"{Servers.NAME}{index}"] for server in share}
    if Coordinator in kinds:
        ports["coordinator"] = numbers[Coordinator.NAME]
    return with_ports(network, ports)


def plug(
    spec: RackSpec,
    external_clients: int = 0,
    kinds: Kinds = (),
    fabric: VethFabric | None = None,
    free: Addresses | None = None,
) -> Cabling:
    """Chooses free addresses, with cables for `external_clients` external clients.

    `kinds`: the kinds of nodes that not all racks have; no cards with a `fabric`. With a `fabric`
    of the `hosts` of the rack, which has one switch, the other cables are its interfaces. `free`
    has as many addresses as `needed`; None: of this machine. Raises `UsageError` as `plan`.
    """
    network = plan(spec, external_clients, kinds)
    names = dict(zip((each.name for each in network.switches), layout.names(network), strict=True))
    shares = partitions(spec.lab)
    if free is None:
        free = addresses.here(needed(spec, external_clients, kinds))
    at = {
        each.name: (each.host.port, names[each.switch])
        for each in (*network.hosts, *filter(None, [network.coordinator]))
    }

    def cable(host: str, node: str, fabric: VethFabric | None = fabric) -> Cable:
        port, switch = at[host]
        # At a switch elsewhere, a node on another machine has an interface of its own.
        own = target.interface(spec.lab, node)
        if own is not None and (ring := free.machine_of(node).ring) is not None:
            return Cable(port, "", own, ring, at=switch)
        udp = Cable(port, *free.cable(switch, node), at=switch)
        return udp if fabric is None else _through(fabric, udp)

    def to_card(outer: Cable, behind: str) -> Cable:
        return Cable(outer.port, *free.cable(behind, behind))

    def switch(each: SwitchPlan) -> SwitchCabling:
        name = names[each.name]
        reached, bound = free.p4runtime(name)
        return SwitchCabling(
            name=name,
            topology=each.topology,
            ports=tuple(ends[name]),
            p4runtime=target.elsewhere(spec.lab) or reached,
            p4runtime_bind=bound,
            tier=each.tier,
        )

    client = cable("client-1", Client.NAME)
    first = spec.lab.clients + 1
    external = tuple(
        cable(f"client-{first + n}", f"{EXTERNAL}{n + 1}", fabric=None)
        for n in range(external_clients)
    )
    own = [f"{Servers.NAME}{index}" for index in range(len(shares))]
    servers = tuple(
        cable(f"server-{share[0]}", node) for share, node in zip(shares, own, strict=True)
    )
    coordinator = cable("coordinator", Coordinator.NAME) if Coordinator in kinds else None
    ends: dict[str, list[tuple[int, str, str]]] = {name: [] for name in names.values()}
    for each in (client, *external, *servers, *filter(None, [coordinator])):
        if each.switch:
            ends[each.at].append((each.port, *each.switch_end))
    for link in network.links:
        a, b = free.cable(names[link.a], names[link.b])
        ends[names[link.a]].append((link.a_port, a, b))
        ends[names[link.b]].append((link.b_port, b, a))
    return Cabling(
        network=network,
        switches=tuple(map(switch, network.switches)),
        client=client,
        external_clients=external,
        servers=servers,
        cards=tuple(map(to_card, servers, own)) if Card in kinds else (),
        client_card=to_card(client, Client.NAME) if ClientCard in kinds else None,
        partitions=shares,
        coordinator=coordinator,
    )


def needed(spec: RackSpec, external_clients: int = 0, kinds: Kinds = ()) -> int:
    """How many addresses `plug` takes, at most."""
    network = plan(spec, external_clients, kinds)
    processes = len(partitions(spec.lab))
    behind = processes if Card in kinds else int(ClientCard in kinds)
    ends = 1 + external_clients + processes + int(Coordinator in kinds) + behind
    return 2 * (ends + len(network.links)) + len(network.switches)


def _through(fabric: VethFabric, cable: Cable) -> Cable:
    """The cable as interfaces of the fabric."""
    (name,) = (host.name for host in fabric.hosts if host.port == cable.port)
    return Cable(cable.port, fabric.port(cable.port), fabric.interface(name), RING)


def server_config(
    spec: RackSpec,
    cabling: Cabling,
    index: int,
    role: str,
    data: Path,
    stores: list[dict[str, Any]],
    slow: float,
) -> dict[str, Any]:
    """Configuration of the `index`-th server node; `data`: directory for the files of its store.

    `stores`: locations of its servers' records in Redis, if it is the back end. `slow`: divisor of
    its service rate.
    """
    size = spec.workload.value_size
    return {
        "backend": spec.lab.backend,
        "data": data,
        "stores": stores,
        "store_timeout": spec.lab.redis.timeout,
        "slow": slow,
        **(cabling.cards or cabling.servers)[index].peer_end,
        "role": role,
        "partitions": list(cabling.partitions[index]),
        "keyspace": keyspace(spec, schemes.of(spec)),
        "keys": spec.workload.keys,
        "value_size": size if isinstance(size, int) else size.model_dump(),
        "seed": spec.seed,
        "service_rate": spec.lab.service_rate,
        "queue_limit": spec.lab.queue_limit,
    }


def coordinator_config(spec: RackSpec, cabling: Cabling) -> dict[str, Any]:
    """Configuration of the coordinator node."""
    cable = cabling.coordinator
    options = CoordinatorOptions.of(spec.lab)
    assert cable is not None
    return {
        **cable.peer_end,
        "workers": options.coordinator_workers,
        "limit": options.coordinator_queue,
        "keyspace": keyspace(spec, schemes.of(spec)),
        "deadline_s": spec.deadline,
        "retry_s": spec.retry,
    }


def client_config(spec: RackSpec, cabling: Cabling, scheme: Scheme) -> dict[str, Any]:
    """Configuration of the load generator."""
    return {
        **(cabling.client_card or cabling.client).peer_end,
        **load_config(spec, scheme),
    }


def external_client_configs(spec: RackSpec, cabling: Cabling, role: str) -> list[dict[str, Any]]:
    """Configurations of the external clients (`_engine.Session`)."""
    return [
        {
            "bind": cable.peer,
            "peer": cable.switch,
            "role": role,
            "client": number,
            "deadline_s": spec.deadline,
            "retry_s": spec.retry,
            "keyspace": keyspace(spec, schemes.of(spec)),
        }
        for number, cable in enumerate(cabling.external_clients, start=spec.lab.clients + 1)
    ]
