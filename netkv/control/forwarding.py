"""Forwarding tables: which server owns a key, and which port leads to a host.

Every control plane has one `ForwardingTables`. It gives the table writes of partition and routes,
and keeps account of the initial writes of the control plane: a switch is ready when it has taken
all of them. `TablesOnly` is the base of control planes that do nothing else; `ForwardingOnly` is
the one whose switch only forwards.
"""

# Handlers take what the interface gives, needed or not.
# ruff: noqa: ARG002

from collections.abc import Iterable, Iterator

from netkv.control.base import (
    Action,
    ControlPlane,
    InsertEntry,
    Nanoseconds,
    Note,
    Range,
    TableWrite,
    TableWritten,
)
from netkv.control.topology import CONTROLLER_IP, CPU_PORT, Host, Topology

PARTITION = "NetkvIngress.partition.owner"
ROUTE = "NetkvIngress.route.ipv4"


class ForwardingTables:
    """Partition and routes of a switch, and the state of the initial table writes.

    Rules
    -----
    1. A switch that has (re)started gets every initial entry before it counts as installed.
    2. A refused write is a fault of the program or the topology: it is noted, not retried, and the
       tables do not count as installed.
    """

    def __init__(self, topology: Topology) -> None:
        """`topology`: the hosts at the switch."""
        self._topology = topology
        self._last_write = 0
        self._pending: set[int] = set()
        self._started = False
        self.refused = 0
        """Initial writes that the switch has refused since its last start."""

    def next_write(self) -> int:
        """A number for a table write, each once."""
        self._last_write += 1
        return self._last_write

    def partition(self) -> Iterator[TableWrite]:
        """An entry for each server: the key hashes that it owns."""
        for partition in self._topology.partitions():
            yield InsertEntry(
                write=self.next_write(),
                table=PARTITION,
                match={"hash": Range(partition.low, partition.high)},
                action="NetkvIngress.partition.to_owner",
                params={"mac": partition.owner.mac, "address": partition.owner.ip},
                priority=1,
            )

    def routes(self, others: Iterable[Host] = ()) -> Iterator[TableWrite]:
        """A route to every host, the controller, and `others`."""
        routes = [(host.ip, host.port) for host in (*self._topology.hosts(), *others)]
        for ip, port in [*routes, (CONTROLLER_IP, CPU_PORT)]:
            yield InsertEntry(
                write=self.next_write(),
                table=ROUTE,
                match={"dst": ip},
                action="NetkvIngress.route.forward",
                params={"port": port},
            )

    def install(self, writes: Iterable[TableWrite]) -> Iterator[Action]:
        """Give an empty switch its initial writes: partition, routes, and those of the scheme."""
        self._started = True
        self.refused = 0
        self._pending.clear()
        yield from self.add(writes)

    def add(self, writes: Iterable[TableWrite]) -> Iterator[Action]:
        """Further initial writes, such as those of preloaded keys."""
        initial = list(writes)
        self._pending.update(write.write for write in initial)
        yield from initial

    @property
    def installed(self) -> bool:
        """Whether the switch has taken every initial write."""
        return self._started and not self._pending and not self.refused

    def on_written(self, written: TableWritten) -> Iterator[Action]:
        """An initial write is answered; nothing happens if it is none of these.

        Writes from before a restart of the switch are none.
        """
        if written.write not in self._pending:
            return
        self._pending.discard(written.write)
        if not written.ok:
            self.refused += 1
            yield Note("table write refused", {"write": written.write, "error": written.error})
        elif self.installed:
            yield Note("tables ready")


class TablesOnly(ControlPlane):
    """Base of control planes that are done when the initial writes (`tables`) are."""

    def __init__(self, topology: Topology) -> None:
        """`topology`: the hosts at the switch."""
        self.topology = topology
        self.forwarding = ForwardingTables(topology)

    def ready(self) -> bool:
        """True once every initial entry is in."""
        return self.forwarding.installed

    def statistics(self) -> dict[str, int]:
        """`writes_refused`: table entries that the switch did not take."""
        return {"writes_refused": self.forwarding.refused}

    def on_started(self, now: Nanoseconds, saved: bytes | None) -> Iterator[Action]:
        """Fill the tables."""
        yield from self.forwarding.install(self.tables())

    def on_switch_restarted(self, now: Nanoseconds) -> Iterator[Action]:
        """Fill the tables again."""
        yield Note("switch restarted")
        yield from self.forwarding.install(self.tables())

    def on_table_written(self, now: Nanoseconds, written: TableWritten) -> Iterator[Action]:
        """An initial entry is in, or refused."""
        yield from self.forwarding.on_written(written)


class ForwardingOnly(TablesOnly):
    """The control plane of a switch that sends each request to the owner of its key."""

    def tables(self) -> Iterator[TableWrite]:
        """The partition of the key space, and the routes."""
        yield from self.forwarding.partition()
        yield from self.forwarding.routes()
