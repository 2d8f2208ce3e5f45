"""The objects that all parts of the control plane share."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from netkv.control.base import DeleteEntry, InsertEntry, ModifyEntry, TableWrite
from netkv.control.cache_index import CacheIndex
from netkv.control.message_numbers import MessageNumbers, wire
from netkv.control.pending_requests import PendingRequests, To
from netkv.control.table_writes import Done, TableWrites
from netkv.kits.write_back.entries import Entry
from netkv.kits.write_back.parameters import WriteBackParameters
from netkv.model.scheme_options import SwitchCache
from netkv.model.topology import Host, Topology

LOOKUP = "NetkvIngress.lookup.cache"


@dataclass(frozen=True, slots=True)
class CacheSwitch:
    """A switch with the entries of the cache, and its lookup table."""

    to: To
    writes: TableWrites

    def insert(self, entry: Entry, done: Done) -> TableWrite:
        """Insert the lookup entry, in all ingress pipelines."""
        return self.writes.give(self._insert(entry), done)

    def _insert(self, entry: Entry) -> InsertEntry:
        return InsertEntry(
            write=self.writes.next(),
            table=LOOKUP,
            match={"key": int.from_bytes(entry.key)},
            action="NetkvIngress.lookup.cached",
            params={"entry": entry.entry, "generation": entry.generation},
            switch=self.writes.switch,
        )

    def modify(self, entry: Entry, done: Done) -> TableWrite:
        """Give the key of a lookup entry another entry or generation."""
        insert = self._insert(entry)
        write = ModifyEntry(insert.write, LOOKUP, insert.match, insert.action, insert.params)
        return self.writes.give(replace(write, switch=self.writes.switch), done)

    def delete(self, key: bytes, done: Done) -> TableWrite:
        """Delete the lookup entry of a key, in all ingress pipelines."""
        match = {"key": int.from_bytes(key)}
        write = DeleteEntry(self.writes.next(), LOOKUP, match, switch=self.writes.switch)
        return self.writes.give(write, done)


@dataclass(frozen=True, slots=True)
class Context:
    """Options, cache index, requests, table writes, message numbers and counters."""

    options: SwitchCache
    parameters: WriteBackParameters
    topology: Topology
    index: CacheIndex[Entry]
    pending: PendingRequests
    switches: tuple[CacheSwitch, ...]
    """The switches that cache the same records: one, or a chain in the order of its requests."""
    numbers: MessageNumbers
    counts: Counter[str]
    observe_incarnation: Callable[[int], bool]
    """Called with each incarnation that a record or reply carries. Returns whether it is above all
    known ones; then an operation is due."""

    @property
    def last(self) -> CacheSwitch:
        """The switch next to the servers, which counts requests."""
        return self.switches[-1]

    def owner(self, key: bytes) -> To:
        """The receiver for messages about a key: the switch forwards them to its owner."""
        return _owner(self.topology.owner(key), self.last.to.switch)

    def generation(self) -> int:
        """A new generation.

        It is a message number. The first message that carries it has a later number, so the clock
        has reached the generation before any receiver gets it.
        """
        return wire(self.numbers.take())


def to_owner(server: Host) -> To:
    """A server, reached at the service address: the switch forwards messages about its keys."""
    return To(f"server {server.index}", lane=server.index)


@lru_cache(maxsize=4096)
def _owner(server: Host, switch: str) -> To:
    return replace(to_owner(server), switch=switch)


def to_server(server: Host) -> To:
    """A server, reached at its own address."""
    return To(f"server {server.index}", server.ip, server.index)


def to_client(address: int) -> To:
    """The first client of a process. Clients have no deduplication window."""
    return To(f"client {address & 0x7FFF}", address)
