"""The topology of a switch: its ports and hosts, and the server that owns each key.

The engine (engine/wire) computes addresses and owners of keys; ports come from the lab.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from netkv import _engine
from netkv._engine import (
    CONTROLLER_IP,
    COORDINATOR_IP,
    CPU_PORT,
    KEY_BYTES,
    MAX_CLIENTS,
    SERVICE_IP,
    key_hash,
    mac_of,
    owner_index,
)

__all__ = [
    "CONTROLLER_IP",
    "COORDINATOR_IP",
    "CPU_PORT",
    "KEY_BYTES",
    "LAST_HOST_PORT",
    "LAST_RACK",
    "SERVICE_IP",
    "Host",
    "Partition",
    "Topology",
    "client_ip",
    "coordinator_at",
    "key_hash",
    "mac_of",
    "owner_index",
    "server_ip",
    "splitter_ip",
]

LAST_HOST_PORT = 500
"""Ports 1 to 500 lead to hosts and other switches."""

LAST_RACK = 255
"""A rack's number has one byte in the header of a split multiget; 0 means no rack."""


def client_ip(index: int) -> int:
    """IPv4 address of client `index` (from 1)."""
    return _engine.client_ip(_host_number("client", index, first=1))


def server_ip(index: int) -> int:
    """IPv4 address of server `index` (from 0)."""
    return _engine.server_ip(_host_number("server", index, first=0))


def splitter_ip(rack: int) -> int:
    """IPv4 address of the switch that splits the requests for a rack (from 1)."""
    if not 1 <= rack <= LAST_RACK:
        raise ValueError(f"Rack {rack} has no address: the numbers are 1 to {LAST_RACK}.")
    return _engine.splitter_ip(rack)


def _host_number(kind: str, index: int, first: int) -> int:
    if not first <= index <= MAX_CLIENTS:
        # Sender numbers of clients are the lower half of the range, those of servers the upper.
        numbers = f"{first} to {MAX_CLIENTS}"
        raise ValueError(f"{kind} {index} has no address: the numbers are {numbers}.")
    return index


@dataclass(frozen=True, slots=True)
class Host:
    """A destination: its number, its addresses and the switch port to it.

    It is a client, a server, the coordinator (number 0) or another switch that splits requests
    (number of its rack).
    """

    index: int
    ip: int
    mac: int
    port: int


def coordinator_at(port: int) -> Host:
    """The coordinator, at a switch port."""
    return Host(0, COORDINATOR_IP, mac_of(COORDINATOR_IP), port)


@dataclass(frozen=True, slots=True)
class Partition:
    """The keys whose hash lies in `low` to `high` (both included) belong to `owner`."""

    low: int
    high: int
    owner: Host


@dataclass(frozen=True, slots=True)
class Topology:
    """All hosts as one switch reaches them, each with the port that leads towards it.

    `local`: numbers of the servers that are attached to this switch, or None for all of them. Its
    cache, if the scheme has one, holds keys of these servers only, so that every write to a cached
    key passes this switch.
    `rack`: the number of this switch's rack, or 0 if it has no servers. The switches with servers
    are numbered from 1, in the order of the network's description.
    `splitters`: the switches of the other racks, with their addresses 10.3.0.rack.
    `first_layer`: ports towards the switches of the first of several layers, by position; 0 for
    this switch itself.
    """

    clients: tuple[Host, ...]
    servers: tuple[Host, ...]
    local: frozenset[int] | None = None
    coordinator: Host | None = None
    rack: int = 1
    splitters: tuple[Host, ...] = ()
    first_layer: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.servers:
            raise ValueError("A topology needs at least one server: each key needs an owner.")
        for host in self.hosts():
            if not 1 <= host.port <= LAST_HOST_PORT:
                raise ValueError(
                    f"Host {host.index} is at switch port {host.port}: "
                    f"hosts have ports 1 to {LAST_HOST_PORT}."
                )
        unknown = sorted((self.local or frozenset()) - {host.index for host in self.servers})
        if unknown:
            raise ValueError(
                f"Server {unknown[0]} is said to be attached here, but the {len(self.servers)} "
                f"servers have numbers from 0 to {len(self.servers) - 1}."
            )

    @classmethod
    def of_ports(
        cls,
        client_ports: Sequence[int],
        server_ports: Sequence[int],
        coordinator_port: int | None = None,
    ) -> Self:
        """Clients 1, 2, …, servers 0, 1, … and the coordinator, if any, at the given ports.

        A port may occur several times: the partitions of one shim process share a port.
        """
        clients = ((i, client_ip(i), port) for i, port in enumerate(client_ports, start=1))
        servers = ((i, server_ip(i), port) for i, port in enumerate(server_ports))
        return cls(
            clients=tuple(Host(i, ip, mac_of(ip), port) for i, ip, port in clients),
            servers=tuple(Host(i, ip, mac_of(ip), port) for i, ip, port in servers),
            coordinator=None if coordinator_port is None else coordinator_at(coordinator_port),
        )

    def hosts(self) -> Iterator[Host]:
        """All hosts with an address: clients, servers, and the coordinator, if there is one."""
        yield from self.clients
        yield from self.servers
        if self.coordinator is not None:
            yield self.coordinator

    def local_servers(self) -> Iterator[Host]:
        """The servers that are attached to this switch."""
        for server in self.servers:
            if self.local is None or server.index in self.local:
                yield server

    def partitions(self) -> Iterator[Partition]:
        """A range of key hashes for each server; together they cover the hash space, disjointly."""
        n = len(self.servers)
        for i, server in enumerate(self.servers):
            low, high = _engine.partition_range(i, n)
            yield Partition(low, high, server)

    def owner(self, key: bytes) -> Host:
        """The server that owns `key` (16 bytes)."""
        return self.servers[owner_index(key, len(self.servers))]

    @property
    def has_servers(self) -> bool:
        """Whether any server is attached to this switch."""
        return self.local is None or bool(self.local)

    def is_local(self, key: bytes) -> bool:
        """Whether the owner of `key` (16 bytes) is attached to this switch."""
        local = self.local
        # With all servers here, the owner need not be found; tens of thousands of keys ask for it.
        if local is None or len(local) == len(self.servers):
            return True
        return self.owner(key).index in local
