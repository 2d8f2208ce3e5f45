"""The cables of a rack: addresses and switch ports of its nodes.

A cable is a pair of UDP sockets on loopback: the switch's end of the port and the peer's end. In
the fabric `veth` it is a pair of interfaces, except for external clients, which need no privileges.
A card is between the switch and a server process: one cable to each.
All clients of the load share switch port 1, external clients (programs that use the rack,
`netkv.client`) have ports from 2 on, the servers of one process share port 100 + its index, and the
coordinator, if the scheme has one, is at port 90; the switch finds the port of a host from its IP
address (docs/wire-format.md). A switch that runs elsewhere has the ports that the lab's file names.
A process becomes an external client by binding the peer's end of its cable; this lasts until it
ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from netkv import _engine
from netkv.control import topology
from netkv.lab import ports, target
from netkv.lab.spec import RackSpec
from netkv.lab.veth import Host, VethFabric
from netkv.rack.nodes import Client, Coordinator, Servers, partitions
from netkv.schemes.options import CoordinatorOptions

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
class Cable:
    """One switch port and its two addresses."""

    port: int
    switch: str
    """`127.0.0.1:P`, bound by the switch; or its interface."""
    peer: str
    """`127.0.0.1:Q`, bound by the node at the other end; or its interface."""
    ring: str | None = None
    """The ring of the interfaces; None for UDP sockets."""

    @property
    def switch_end(self) -> list[str]:
        """The switch's end, as in `_engine.SwitchNode`: bind and peer, or ring and interface."""
        return [self.switch, self.peer] if self.ring is None else [self.ring, self.switch]

    @property
    def peer_end(self) -> dict[str, str]:
        """The node's end, as in configurations of nodes."""
        if self.ring is None:
            return {"bind": self.peer, "peer": self.switch}
        return {"bind": self.ring, "peer": self.peer}


@dataclass(frozen=True)
class Cabling:
    """All addresses of a rack; they do not change when nodes restart."""

    client: Cable
    servers: tuple[Cable, ...]
    """One for each server process."""
    partitions: tuple[tuple[int, ...], ...]
    """Indices of the servers in each server process."""
    p4runtime: str
    """Address of the switch's P4Runtime server."""
    external_clients: tuple[Cable, ...] = ()
    """One for each program that may use the rack."""
    coordinator: Cable | None = None
    cards: tuple[Cable, ...] = ()
    """With a card before each server process, the cables between them: `switch` is the card's end,
    and those of `servers` lead to the cards."""

    @property
    def cables(self) -> tuple[Cable, ...]:
        """All cables of the switch."""
        others = () if self.coordinator is None else (self.coordinator,)
        return (self.client, *self.external_clients, *self.servers, *others)

    def server_port(self, server: int) -> int:
        """The switch port that leads to a server."""
        for cable, partition in zip(self.servers, self.partitions, strict=True):
            if server in partition:
                return cable.port
        raise KeyError(server)


def hosts(spec: RackSpec, coordinated: bool = False) -> list[Host]:
    """The hosts of the fabric `veth`: a namespace for each process that takes part in the load.

    Each has the address of the first client or server in it.
    """
    addresses = {Client.NAME: topology.client_ip(1)}
    for index, share in enumerate(partitions(spec.lab)):
        addresses[f"{Servers.NAME}{index}"] = topology.server_ip(share[0])
    if coordinated:
        addresses[Coordinator.NAME] = topology.COORDINATOR_IP
    numbers = port_numbers(spec, 0, coordinated)
    return [_host(name, numbers[name], address) for name, address in addresses.items()]


def _host(name: str, port: int, address: int) -> Host:
    mac = topology.mac_of(address).to_bytes(6, "big").hex(":")
    return Host(name, port, f"{IPv4Address(address)}/8", mac)


def port_numbers(spec: RackSpec, external_clients: int, coordinated: bool) -> dict[str, int]:
    """The switch port of each node, by its name: clients, servers, and the coordinator.

    Raises `UsageError` for a node without a port, if the switch is one that runs elsewhere.
    """
    wanted = {Client.NAME: CLIENT_PORT}
    wanted |= {f"{EXTERNAL}{n + 1}": FIRST_EXTERNAL_PORT + n for n in range(external_clients)}
    processes = len(partitions(spec.lab))
    wanted |= {f"{Servers.NAME}{n}": FIRST_SERVER_PORT + n for n in range(processes)}
    if coordinated:
        wanted[Coordinator.NAME] = COORDINATOR_PORT
    return target.port_numbers(spec.lab, wanted)


def plug(
    spec: RackSpec,
    external_clients: int = 0,
    coordinated: bool = False,
    fabric: VethFabric | None = None,
    cards: bool = False,
) -> Cabling:
    """Chooses free addresses, with cables for `external_clients` external clients.

    `cards`: a card is before each server process; not with a `fabric`. With a `fabric` of the
    `hosts` of the rack the other cables are its interfaces. Raises `UsageError` for a node without
    a port, if the switch is one that runs elsewhere.
    """
    cabling = _plug(spec, external_clients, coordinated, cards)
    if fabric is None:
        return cabling
    by_port = {host.port: host for host in fabric.hosts}

    def through(cable: Cable) -> Cable:
        name = by_port[cable.port].name
        return Cable(cable.port, fabric.port(cable.port), fabric.interface(name), RING)

    return replace(
        cabling,
        client=through(cabling.client),
        servers=tuple(map(through, cabling.servers)),
        coordinator=None if cabling.coordinator is None else through(cabling.coordinator),
    )


def _plug(spec: RackSpec, external_clients: int, coordinated: bool, cards: bool) -> Cabling:
    shares = partitions(spec.lab)
    numbers = port_numbers(spec, external_clients, coordinated)
    behind = len(shares) if cards else 0
    count = 2 * (len(numbers) + behind) + 1
    *free, p4runtime = (f"127.0.0.1:{port}" for port in ports.free_ports(count))
    pairs = list(zip(free[::2], free[1::2], strict=True))
    cables = [Cable(number, *pairs.pop()) for number in numbers.values()]
    servers = 1 + external_clients
    return Cabling(
        client=cables[0],
        external_clients=tuple(cables[1:servers]),
        servers=tuple(cables[servers : servers + len(shares)]),
        cards=tuple(
            Cable(cable.port, *pair)
            for cable, pair in zip(cables[servers : servers + behind], pairs, strict=True)
        ),
        partitions=shares,
        p4runtime=target.elsewhere(spec.lab) or p4runtime,
        coordinator=cables[-1] if coordinated else None,
    )


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
        "data": str(data),
        "stores": stores,
        "store_timeout": spec.lab.redis.timeout,
        "slow": slow,
        **(cabling.cards or cabling.servers)[index].peer_end,
        "role": role,
        "partitions": list(cabling.partitions[index]),
        "servers": spec.lab.servers,
        "keys": spec.workload.keys,
        "value_size": size if isinstance(size, int) else size.model_dump(),
        "seed": spec.seed,
        "service_rate": spec.lab.service_rate,
        "queue_limit": spec.lab.queue_limit,
        "key_size": spec.workload.key_size,
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
        "servers": spec.lab.servers,
        "key_size": spec.workload.key_size,
        "deadline_s": spec.deadline,
        "retry_s": spec.retry,
    }


def client_config(spec: RackSpec, cabling: Cabling, role: str) -> dict[str, Any]:
    """Configuration of the load generator, whose clients have the role `role`."""
    return {
        **cabling.client.peer_end,
        **load_config(spec, role),
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
            "servers": spec.lab.servers,
            "key_size": spec.workload.key_size,
        }
        for number, cable in enumerate(cabling.external_clients, start=spec.lab.clients + 1)
    ]


def load_config(spec: RackSpec, role: str) -> dict[str, Any]:
    """Configuration of the load, live and simulated."""
    return {
        "role": role,
        "clients": spec.lab.clients,
        "seed": spec.seed,
        "deadline_s": spec.deadline,
        "retry_s": spec.retry,
        "servers": spec.lab.servers,
        "workload": spec.workload.model_dump(mode="json"),
        "verify": True,
    }
