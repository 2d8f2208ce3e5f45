"""Packet tests for the P4 programs, as STF files that netkv's engine and bmv2 both run.

The expected frames follow from docs/internals/wire-format.md and are encoded by the engine's codec,
without a switch. The table entries are those that the control planes write.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from netkv.control.base import (
    CloneSession,
    InsertEntry,
    MatchValue,
    MulticastGroup,
    Range,
    SetDefault,
    TableWrite,
)
from netkv.model import messages
from netkv.model.messages import Message
from netkv.model.topology import CONTROLLER_IP, CPU_PORT, SERVICE_IP, Topology, client_ip, server_ip
from tests.checksums import with_udp_checksum

CLIENT_1, CLIENT_2 = client_ip(1), client_ip(2)
SERVERS = tuple(server_ip(i) for i in range(3))
PORT_1, PORT_2 = 1, 2
SERVER_PORTS = (3, 4, 4)
"""Servers 1 and 2 share a port, as the partitions of one shim process do."""

TOPOLOGY = Topology.of_ports([PORT_1, PORT_2], SERVER_PORTS)

EDGES = {
    0: ("000000000000000000000000f2cc0c16", "00000000000000000000000052644f0a"),
    1: ("00000000000000000000000013623ed1", "000000000000000000000000f39bfaf5"),
    2: ("00000000000000000000000071971843", "00000000000000000000000090392a84"),
}
"""Keys whose CRC-32 is the first and the last of each server's range."""


def encode(message: Message, source: int = CONTROLLER_IP, destination: int = SERVICE_IP) -> bytes:
    """A frame without a UDP checksum; `test_udp_checksums.py` runs all of them with one, too."""
    return with_udp_checksum(messages.encode(message, source, destination), 0)


@dataclass
class Stf:
    """The lines of an STF file."""

    lines: list[str] = field(default_factory=list)
    nodes: int = 0
    """Number of nodes of the replication engine; each multicast group has one."""

    def comment(self, text: str) -> None:
        """A comment above the next lines."""
        self.lines += ["", f"# {text}"]

    def write(self, writes: Iterable[TableWrite]) -> None:
        """Fill tables."""
        for write in writes:
            match write:
                case InsertEntry(_, table, match, action, params, priority):
                    keys = " ".join(f"{name}:{_value(value)}" for name, value in match.items())
                    head = f"{table} {priority}" if priority else table
                    self.lines.append(f"add {head} {keys} {action}({_arguments(params)})")
                case SetDefault(_, table, action, params):
                    self.lines.append(f"setdefault {table} {action}({_arguments(params)})")
                case CloneSession(_, session, port):
                    self.lines.append(f"mirroring_add {session} {port}")
                case MulticastGroup(_, group, ports):
                    self.lines += [
                        f"mc_mgrp_create {group}",
                        f"mc_node_create 0 {' '.join(map(str, ports))}",
                        f"mc_node_associate {group} {self.nodes}",
                    ]
                    self.nodes += 1
                case _:
                    raise TypeError(f"STF has no command for {write}.")

    def packet(self, port: int, frame: bytes) -> None:
        """Send a frame into the switch."""
        self.lines.append(f"packet {port} {frame.hex()}")

    def expect(self, port: int, frame: bytes) -> None:
        """Expect exactly this frame."""
        self.lines.append(f"expect {port} {frame.hex()} $")

    def register(self, name: str, index: int, value: int) -> None:
        """Set a cell of a register."""
        self.lines.append(f"register_write {name} {index} 0x{value:x}")

    def request(self, message: Message) -> Message:
        """A client's request as this program's clients send it."""
        return message

    def client_sends(self, message: Message, client: int = 1) -> None:
        """A client's request for the service."""
        self.packet(client, encode(message, client_ip(client), SERVICE_IP))

    def server_receives(self, message: Message, client: int = 1, server: int | None = None) -> None:
        """The request arrives at `server`, by default the owner of its key, as `message`."""
        server = TOPOLOGY.owner(message.key).index if server is None else server
        self.expect(SERVER_PORTS[server], encode(message, client_ip(client), SERVERS[server]))

    def switch_answers(self, message: Message, client: int = 1) -> None:
        """The switch answers the client itself."""
        self.expect(client, encode(message, SERVICE_IP, client_ip(client)))

    def server_sends(self, message: Message, server: int = 0) -> None:
        """A server's message for the switch."""
        self.packet(SERVER_PORTS[server], encode(message, SERVERS[server], SERVICE_IP))

    def switch_answers_server(self, message: Message, server: int = 0) -> None:
        """The switch's answer to a server."""
        self.expect(SERVER_PORTS[server], encode(message, SERVICE_IP, SERVERS[server]))

    def controller_sends(self, message: Message) -> None:
        """A packet-out that runs through the pipeline."""
        self.packet(CPU_PORT, packet_out(0) + encode(message))

    def controller_receives(
        self, message: Message, source: int = SERVICE_IP, port: int = 510
    ) -> None:
        """A packet-in, for a frame that arrived at `port`."""
        self.expect(CPU_PORT, packet_in(port) + encode(message, source, 0x0A000001))

    def text(self, about: str) -> str:
        """The whole file."""
        head = [f"# {about}", "# Written by tests/p4programs/write.py; expectations by the codec."]
        return "\n".join([*head, *self.lines]) + "\n"


def packet_out(egress_port: int) -> bytes:
    """The packet-out header."""
    return (egress_port << 7).to_bytes(2)


def packet_in(ingress_port: int) -> bytes:
    """The packet-in header."""
    return (ingress_port << 7).to_bytes(2)


def _value(value: MatchValue) -> str:
    if isinstance(value, Range):
        return f"0x{value.low:x}->0x{value.high:x}"
    return f"0x{value:x}"


def _arguments(params: object) -> str:
    assert isinstance(params, dict)
    return ", ".join(f"{name}:0x{value:x}" for name, value in params.items())
