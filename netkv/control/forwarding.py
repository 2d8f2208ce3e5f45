"""The forwarding tables of a switch: the owner of each key, and the port to each host.

Every control plane has one `ForwardingTables`. It creates the table writes of partition and routes,
and tracks the initial writes of the control plane: they are installed when the switch has confirmed
all of them. `TablesOnly` is the base of control planes that only write tables; `ForwardingOnly` is
the control plane of a switch that only forwards.
"""

# Handlers have the parameters of the interface, whether they use them or not.
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
    1. After a (re)start of the switch, the tables are installed when all initial writes are
       confirmed.
    2. A refused write is a fault of the program or the topology: it is noted, not retried, and the
       tables do not count as installed.
    """

    def __init__(self, topology: Topology) -> None:
        """`topology`: the hosts and their ports."""
        self._topology = topology
        self._last_write = 0
        self._pending: set[int] = set()
        self._started = False
        self.refused = 0
        """Number of initial writes that the switch has refused since its last start."""

    def next_write(self) -> int:
        """A new number for a table write."""
        self._last_write += 1
        return self._last_write

    def partition(self) -> Iterator[TableWrite]:
        """An entry for each server, with the range of key hashes that it owns."""
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
        """Send an empty switch its initial writes: partition, routes, and those of the scheme."""
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
        """Whether the switch has confirmed every initial write."""
        return self._started and not self._pending and not self.refused

    def on_written(self, written: TableWritten) -> Iterator[Action]:
        """An initial write is answered; other writes, and those before a restart, are ignored."""
        if written.write not in self._pending:
            return
        self._pending.discard(written.write)
        if not written.ok:
            self.refused += 1
            yield Note("table write refused", {"write": written.write, "error": written.error})
        elif self.installed:
            yield Note("tables ready")


class TablesOnly(ControlPlane):
    """Base of control planes that only send the initial writes (`tables`)."""

    def __init__(self, topology: Topology) -> None:
        """`topology`: the hosts and their ports."""
        self.topology = topology
        self.forwarding = ForwardingTables(topology)

    def ready(self) -> bool:
        """True once the switch has confirmed every initial write."""
        return self.forwarding.installed

    def statistics(self) -> dict[str, int]:
        """`writes_refused`: table writes that the switch has refused."""
        return {"writes_refused": self.forwarding.refused}

    def on_started(self, now: Nanoseconds, saved: bytes | None) -> Iterator[Action]:
        """Fill the tables."""
        yield from self.forwarding.install(self.tables())

    def on_switch_restarted(self, now: Nanoseconds) -> Iterator[Action]:
        """Fill the tables again."""
        yield Note("switch restarted")
        yield from self.forwarding.install(self.tables())

    def on_table_written(self, now: Nanoseconds, written: TableWritten) -> Iterator[Action]:
        """An initial write is confirmed or refused."""
        yield from self.forwarding.on_written(written)


class ForwardingOnly(TablesOnly):
    """The control plane of a switch that sends each request to the owner of its key."""

    def tables(self) -> Iterator[TableWrite]:
        """The partition of the key space, and the routes."""
        yield from self.forwarding.partition()
        yield from self.forwarding.routes()
