"""The state of a client and of the gateway, which commands read and change."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field


@dataclass
class Counters:
    """The counters of INFO."""

    connections: int = 0
    rejected: int = 0
    """Connections that were refused at the limit of clients."""
    commands: int = 0
    errors: int = 0
    hits: int = 0
    misses: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    connected: int = 0
    """Connections that are open."""


@dataclass
class GatewayInfo:
    """Description and counters of the gateway."""

    lab: str
    scheme: str
    host: str
    port: int
    max_clients: int
    counters: Counters = field(default_factory=Counters)
    started: float = field(default_factory=time.monotonic)
    ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))


@dataclass
class Client:
    """One connection, as commands see it."""

    gateway: GatewayInfo
    id: int
    protocol: int = 2
    name: bytes = b""
    library: dict[str, bytes] = field(default_factory=dict)
    """Attributes that CLIENT SETINFO has set."""
    transaction: bool = False
    """It has sent MULTI, which was refused, and not yet EXEC or DISCARD."""
    quits: bool = False
    """It has sent QUIT: the connection closes after the pending replies."""
