"""The objects that all parts of the control plane share."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from netkv.control.cache_index import CacheIndex
from netkv.control.message_numbers import MessageNumbers, wire
from netkv.control.pending_requests import PendingRequests, To
from netkv.control.table_writes import TableWrites
from netkv.control.topology import Host, Topology
from netkv.schemes.farreach.entries import Entry
from netkv.schemes.farreach.parameters import FarReachParameters


@dataclass(frozen=True, slots=True)
class Context:
    """Cache index, requests, table writes, message numbers and counters."""

    parameters: FarReachParameters
    topology: Topology
    index: CacheIndex[Entry]
    pending: PendingRequests
    writes: TableWrites
    numbers: MessageNumbers
    counts: Counter[str]
    observe_incarnation: Callable[[int], None]
    """Called with each incarnation that a record or reply carries."""

    def owner(self, key: bytes) -> To:
        """The receiver for messages about a key: the switch forwards them to its owner."""
        return to_owner(self.topology.owner(key))

    def generation(self) -> int:
        """A new generation.

        It is a message number. The first message that carries it has a later number, so the clock
        has reached the generation before any receiver gets it.
        """
        return wire(self.numbers.take())


def to_owner(server: Host) -> To:
    """A server, reached at the service address: the switch forwards messages about its keys."""
    return To(f"server {server.index}", lane=server.index)


def to_server(server: Host) -> To:
    """A server, reached at its own address."""
    return To(f"server {server.index}", server.ip, server.index)


def to_client(address: int) -> To:
    """The first client of a process. Clients have no deduplication window."""
    return To(f"client {address & 0x7FFF}", address)
