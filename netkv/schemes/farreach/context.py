"""What the parts of the control plane have in common."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from netkv.control.cache_index import CacheIndex
from netkv.control.message_numbers import MessageNumbers, wire
from netkv.control.topology import Host, Topology
from netkv.schemes.farreach.entries import Entry
from netkv.schemes.farreach.parameters import FarReachParameters
from netkv.schemes.farreach.pending_requests import PendingRequests, To
from netkv.schemes.farreach.table_writes import Writes


@dataclass(frozen=True, slots=True)
class Shared:
    """The cache, the ways to switch and hosts, and what is counted."""

    parameters: FarReachParameters
    topology: Topology
    places: CacheIndex[Entry]
    questions: PendingRequests
    writes: Writes
    numbers: MessageNumbers
    counts: Counter[str]
    heard_life: Callable[[int], None]
    """Tells of a life that somebody has a record of."""

    def owner(self, key: bytes) -> To:
        """The server of a key: the switch leads messages about the key to it."""
        return to_owner(self.topology.owner(key))

    def generation(self) -> int:
        """A generation never given before.

        From the line of the messages: the first that carries it comes after it, so the clock
        reaches the generation before anybody hears of it.
        """
        return wire(self.numbers.take())


def to_owner(server: Host) -> To:
    """A server, as the owner of keys."""
    return To(f"server {server.index}", lane=server.index)


def to_server(server: Host) -> To:
    """A server, at its own address."""
    return To(f"server {server.index}", server.ip, server.index)


def to_client(address: int) -> To:
    """The first client of a process; nobody there remembers message numbers."""
    return To(f"client {address & 0x7FFF}", address)
