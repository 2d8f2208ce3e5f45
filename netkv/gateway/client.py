"""State of a client and of the gateway that commands read and change."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field


@dataclass
class Counters:
    """What INFO counts."""

    connections: int = 0
    rejected: int = 0
    """Connections beyond the most that there may be."""
    commands: int = 0
    errors: int = 0
    hits: int = 0
    misses: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    connected: int = 0
    """Now."""


@dataclass
class About:
    """What the gateway is."""

    lab: str
    scheme: str
    host: str
    port: int
    most_clients: int
    counters: Counters = field(default_factory=Counters)
    started: float = field(default_factory=time.monotonic)
    ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))


@dataclass
class Client:
    """One connection, as commands see it."""

    about: About
    id: int
    protocol: int = 2
    name: bytes = b""
    library: dict[str, bytes] = field(default_factory=dict)
    """What CLIENT SETINFO has set."""
    transaction: bool = False
    """It has sent MULTI, which was refused."""
    quits: bool = False
    """The connection ends when everything is answered."""
