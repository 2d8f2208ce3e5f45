"""Who is at which switch port, and which server owns which keys.

Addresses follow docs/wire-format.md; ports come from the lab.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

SERVICE_IP = 0x0A000064
"""10.0.0.100: where clients address requests; the switch finds the owner of the key."""

CONTROLLER_IP = 0x0A000001
"""10.0.0.1."""

COORDINATOR_IP = 0x0A000002
"""10.0.0.2: the host that splits multiget requests in a rack with a coordinator."""

CPU_PORT = 510
"""The switch port of packet-in and packet-out."""

LAST_HOST_PORT = 500
"""Ports 1 to 500 lead to hosts and other switches."""

LAST_RACK = 255
"""The number of a rack has a byte in the header of a split multiget, and 0 is none."""

KEY_BYTES = 16
HASH_SPACE = 1 << 32


def client_ip(index: int) -> int:
    """IPv4 address of client `index` (from 1): 10.1.(index >> 8).(index & 255)."""
    return 0x0A010000 | _host_number("client", index, first=1)


def server_ip(index: int) -> int:
    """IPv4 address of server `index` (from 0): 10.2.(index >> 8).(index & 255)."""
    return 0x0A020000 | _host_number("server", index, first=0)


def splitter_ip(rack: int) -> int:
    """IPv4 address of the switch that splits the requests for a rack (from 1): 10.3.0.rack."""
    if not 1 <= rack <= LAST_RACK:
        raise ValueError(f"Rack {rack} has no address: the numbers are 1 to {LAST_RACK}.")
    return 0x0A030000 | rack


def mac_of(ip: int) -> int:
    """MAC address of the host with this IPv4 address: 02:00 and the address's four bytes."""
    return 0x0200_0000_0000 | ip


def _host_number(kind: str, index: int, first: int) -> int:
    if not first <= index < 1 << 15:
        # Sender numbers of servers are 0x8000 + index, so both kinds have 15 bits.
        raise ValueError(f"{kind} {index} has no address: the numbers are {first} to 32767.")
    return index


@dataclass(frozen=True, slots=True)
class Host:
    """A client, a server, the coordinator (0) or another switch that splits requests (its rack):
    number, addresses and the switch port that leads there."""

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
    """What one switch has to know: every host, and the port that leads towards it.

    `local`: numbers of the servers that are attached to this very switch, or None for all of them.
    Its cache, if the scheme has one, keeps keys of these servers only: between switch and server no
    other switch may see (and miss) a write.
    `rack`: the number of the rack whose switch this is, or 0: one without servers. Racks are those
    switches that have servers, from 1 in the order of the network's description.
    `splitters`: the switches of the other racks, by their addresses 10.3.0.rack.
    """

    clients: tuple[Host, ...]
    servers: tuple[Host, ...]
    local: frozenset[int] | None = None
    coordinator: Host | None = None
    rack: int = 1
    splitters: tuple[Host, ...] = ()

    def __post_init__(self) -> None:
        if not self.servers:
            raise ValueError("A topology needs at least one server: nobody would own a key.")
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
        """The ranges of key hashes, one a server, which cover the hash space without overlap."""
        n = len(self.servers)
        for i, server in enumerate(self.servers):
            low = i * HASH_SPACE // n
            high = (i + 1) * HASH_SPACE // n - 1
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
        return self.local is None or self.owner(key).index in self.local


def owner_index(key: bytes, servers: int) -> int:
    """Which of so many servers owns `key` (16 bytes)."""
    # The largest i with i * HASH_SPACE // n <= hash, without looking at every partition.
    return ((key_hash(key) + 1) * servers - 1) // HASH_SPACE


def key_hash(key: bytes) -> int:
    """The place of a key (16 bytes) in the 32-bit hash space: CRC-32, as the switch computes it."""
    if len(key) != KEY_BYTES:
        raise ValueError(f"A key has {KEY_BYTES} bytes, not {len(key)}.")
    return zlib.crc32(key)
