"""Ports of a switch, as `--port` describes them: interfaces and UDP sockets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from netkv.errors import UsageError

Ring = Literal["xdp", "packet", "packet-v3"]
"""How frames of an interface get to the engine and back (docs/extend/bring-your-own-switch.md)."""

MAX_PORT = 510
"""v1model has 9 bits for a port, and the last number drops the packet."""
_ADDRESS = re.compile(r"(\d{1,3}\.){3}\d{1,3}:\d{1,5}")
_FORM = (
    "It looks like 0=veth0, 0=NAMESPACE/veth0, 0=udp:127.0.0.1:7000 or "
    "0=udp:127.0.0.1:7000,127.0.0.1:7100."
)


@dataclass(frozen=True)
class Interface:
    """A port that is an interface of this machine."""

    number: int
    name: str
    """With its network namespace, if it has one: `NAMESPACE/INTERFACE`."""

    def plug(self, ring: Ring) -> tuple[int, str, str]:
        """The port as `_engine.SwitchNode` takes it."""
        return self.number, ring, self.name

    def __str__(self) -> str:
        """`port 0: veth0`."""
        return f"port {self.number}: {self.name}"


@dataclass(frozen=True)
class Datagrams:
    """A port that is a UDP socket: each datagram is a frame."""

    number: int
    bind: str
    """The switch's own end, host:port."""
    peer: str | None
    """The only accepted sender of frames; None: all are accepted, and answers go to the last."""

    def plug(self, ring: Ring) -> tuple[int, str, str]:  # noqa: ARG002  # of interfaces only
        """The port as `_engine.SwitchNode` takes it."""
        return self.number, self.bind, self.peer or "any"

    def __str__(self) -> str:
        """`port 0: udp 127.0.0.1:7000, peer 127.0.0.1:7100`."""
        peer = f", peer {self.peer}" if self.peer else ""
        return f"port {self.number}: udp {self.bind}{peer}"


Port = Interface | Datagrams


def parse(text: str) -> Port:
    """A port as the user writes it: `N=INTERFACE`, `N=udp:ADDRESS[,PEER]`; else `UsageError`."""
    number, equals, place = text.partition("=")
    if not equals or not place or not number.isascii() or not number.isdigit():
        raise UsageError(f"'--port {text}' is not a port of a switch. {_FORM}")
    if int(number) > MAX_PORT:
        raise UsageError(f"'--port {text}': ports have the numbers 0 to {MAX_PORT}.")
    if not place.startswith("udp:"):
        return Interface(int(number), place)
    addresses = place.removeprefix("udp:").split(",")
    if len(addresses) > 2 or not all(_ADDRESS.fullmatch(address) for address in addresses):
        raise UsageError(f"'--port {text}' is not a UDP port of a switch. {_FORM}")
    return Datagrams(int(number), addresses[0], addresses[1] if len(addresses) == 2 else None)


def parse_all(texts: Sequence[str], cpu_port: int) -> list[Port]:
    """All ports of a switch. Raises `UsageError` for none at all, and for a number given twice."""
    if not texts:
        raise UsageError(f"A switch needs a port, given as --port. {_FORM}")
    ports = [parse(text) for text in texts]
    for number, uses in _by_number(ports).items():
        if number == cpu_port:
            raise UsageError(
                f"Port {number} is the CPU port, which leads to the controller; choose another "
                f"number for {uses[0]}, or another --cpu-port."
            )
        if len(uses) > 1:
            raise UsageError(f"Port {number} is given {len(uses)} times.")
    return ports


def _by_number(ports: Iterable[Port]) -> dict[int, list[Port]]:
    found: dict[int, list[Port]] = {}
    for port in ports:
        found.setdefault(port.number, []).append(port)
    return found
