"""The forwarding tables of a switch: the owner of each key, and the port to each host.

Every control plane has one `ForwardingTables`. It creates the table writes of partition and routes,
tracks the initial writes of the control plane (they are installed when the switch has confirmed all
of them), and changes routes when the topology changes.

`ForwardingControlPlane` is the base of control planes with these tables, `TablesOnly` that of
control planes that only write tables. `ForwardingOnly` is the control plane of a switch that only
forwards.
"""

# Handlers have the parameters of the interface, whether they use them or not.
# ruff: noqa: ARG002

import itertools
from collections.abc import Callable, Iterable, Iterator

from netkv.control.base import (
    Action,
    Entry,
    InsertEntry,
    ModifyEntry,
    Nanoseconds,
    Note,
    Range,
    SwitchControlPlane,
    TableWrite,
    TableWritten,
)
from netkv.model.topology import CONTROLLER_IP, CPU_PORT, Host, Topology

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
    3. A changed topology changes the entries whose port differs, and no others. Writes are carried
       out in order, so the last topology is the one that the switch has in the end, however fast
       topologies follow each other. While initial writes are under way, the changes are some of
       them. Later changes do not affect whether the tables are installed.
    4. Before the first start a changed topology needs no writes. A restarted switch gets the
       routes of the last topology.
    5. If the change of a route is refused, the next topology writes it again.
    """

    def __init__(
        self,
        topology: Topology,
        switch: str = "",
        next_write: Callable[[], int] | None = None,
    ) -> None:
        """`topology`: the hosts and their ports. `switch`: its name in actions. `next_write`: new
        numbers for table writes; None for numbers of its own."""
        self.topology = topology
        """The present one."""
        self.switch = switch
        self._numbers = itertools.count(1)
        self._next_write = next_write
        self._pending: set[int] = set()
        self._started = False
        self._incomplete = False
        """Whether an initial write was refused."""
        self._ports: dict[int, int | None] = {}
        """Address → port of each route sent to the switch; None if it is not known."""
        self._changes: dict[int, int] = {}
        """Write → address of each changed route without an answer; no initial writes."""
        self.refused = 0
        """Number of initial writes and changes of routes that the switch has refused since its last
        start."""

    def next_write(self) -> int:
        """A new number for a table write."""
        return next(self._numbers) if self._next_write is None else self._next_write()

    def partition(self) -> Iterator[TableWrite]:
        """An entry for each server, with the range of key hashes that it owns."""
        for partition in self.topology.partitions():
            yield InsertEntry(
                write=self.next_write(),
                table=PARTITION,
                match={"hash": Range(partition.low, partition.high)},
                action="NetkvIngress.partition.to_owner",
                params={"mac": partition.owner.mac, "address": partition.owner.ip},
                priority=1,
                switch=self.switch,
            )

    def routes(self, others: Iterable[Host] = ()) -> Iterator[TableWrite]:
        """A route to every host, the controller, and `others`."""
        routes = [(host.ip, host.port) for host in (*self.topology.hosts(), *others)]
        for ip, port in [*routes, (CONTROLLER_IP, CPU_PORT)]:
            yield InsertEntry(
                write=self.next_write(),
                table=ROUTE,
                match={"dst": ip},
                action="NetkvIngress.route.forward",
                params={"port": port},
                switch=self.switch,
            )

    def install(self, writes: Iterable[TableWrite]) -> Iterator[Action]:
        """Send an empty switch its initial writes: partition, routes, and those of the scheme."""
        self._started = True
        self._incomplete = False
        self.refused = 0
        self._pending.clear()
        self._ports.clear()
        self._changes.clear()
        yield from self.add(writes)

    def stop(self) -> None:
        """The switch is down: its tables are not installed."""
        self._started = False
        self._pending.clear()
        self._changes.clear()

    def adopt(self, routes: Iterable[Entry]) -> Iterator[Action]:
        """The switch has its initial entries from an earlier controller: change those of `routes`,
        read from the switch, whose port is not that of the present topology."""
        self.stop()
        self._started, self._incomplete = True, False
        self._ports = {}
        for entry in routes:
            address = entry.match["dst"]
            assert isinstance(address, int), "routes match exactly"
            self._ports[address] = entry.params["port"]
        yield from self.change(self.topology)

    def add(self, writes: Iterable[TableWrite]) -> Iterator[Action]:
        """Further initial writes, such as those of preloaded keys."""
        initial = list(writes)
        self._pending.update(write.write for write in initial)
        for write in initial:
            if isinstance(write, InsertEntry | ModifyEntry) and write.table == ROUTE:
                address = write.match["dst"]
                assert isinstance(address, int), "routes match exactly"
                self._ports[address] = write.params["port"]
        yield from initial

    def change(self, topology: Topology) -> Iterator[Action]:
        """The topology has changed: change the routes whose port differs (rules 3 to 5).

        Raises ValueError for a topology with other hosts, or other ports of this switch's servers.
        """
        _check_change(self.topology, topology)
        self.topology = topology
        changed = [
            host
            for host in (*topology.hosts(), *topology.splitters)
            if self._ports.get(host.ip, host.port) != host.port
        ]
        writes = [
            ModifyEntry(
                write=self.next_write(),
                table=ROUTE,
                match={"dst": host.ip},
                action="NetkvIngress.route.forward",
                params={"port": host.port},
                switch=self.switch,
            )
            for host in changed
        ]
        if self._pending:
            yield from self.add(writes)
            return
        for host, write in zip(changed, writes, strict=True):
            self._ports[host.ip] = host.port
            self._changes[write.write] = host.ip
        yield from writes

    @property
    def started(self) -> bool:
        """Whether the switch runs: it gets initial writes, or has them."""
        return self._started

    @property
    def installed(self) -> bool:
        """Whether the switch has confirmed every initial write."""
        return self._started and not self._pending and not self._incomplete

    def awaits(self, written: TableWritten) -> bool:
        """Whether this is the answer to an initial write or a change, since the last restart."""
        return written.write in self._pending or written.write in self._changes

    def on_written(self, written: TableWritten) -> Iterator[Action]:
        """An initial write or a change is answered; other writes, and those before a restart, are
        ignored."""
        changed = self._changes.pop(written.write, None)
        if changed is None and written.write not in self._pending:
            return
        self._pending.discard(written.write)
        if not written.ok:
            self.refused += 1
            if changed is None:
                self._incomplete = True
            else:
                self._ports[changed] = None
            yield Note("table write refused", {"write": written.write, "error": written.error})
        elif changed is None and self.installed:
            yield Note("tables ready")


def _check_change(old: Topology, new: Topology) -> None:
    def fixed(topology: Topology) -> object:
        local = tuple(topology.local_servers())
        addresses = [host.ip for host in (*topology.hosts(), *topology.splitters)]
        return local, addresses, topology.rack

    if fixed(old) != fixed(new):
        raise ValueError(
            "A changed topology may differ only in the ports towards hosts at other switches."
        )


class ForwardingControlPlane(SwitchControlPlane):
    """Base of control planes with forwarding tables: changes of the topology change the routes.

    A subclass installs the tables (`tables`). It learns of the answers to its own writes from
    `on_other_write`, and that the switch is ready to forward from `on_tables_installed`. If it
    writes further entries with ports towards hosts at other switches, it extends
    `on_topology_changed`.
    """

    def __init__(self, topology: Topology) -> None:
        """`topology`: the hosts and their ports."""
        self.forwarding = ForwardingTables(topology)

    @property
    def topology(self) -> Topology:
        """The present one."""
        return self.forwarding.topology

    def on_topology_changed(self, now: Nanoseconds, topology: Topology) -> Iterator[Action]:
        """Change the routes whose port differs."""
        yield from self.forwarding.change(topology)

    def on_table_written(self, now: Nanoseconds, written: TableWritten) -> Iterable[Action]:
        """A write of the forwarding tables, or one of the scheme's own, is answered."""
        forwarding = self.forwarding
        if not forwarding.awaits(written):
            return self.on_other_write(now, written)
        was_installed = forwarding.installed
        actions = list(forwarding.on_written(written))
        if forwarding.installed and not was_installed:
            actions += self.on_tables_installed(now)
        return actions

    def on_other_write(self, now: Nanoseconds, written: TableWritten) -> Iterable[Action]:
        """A write that is neither initial nor of a changed route is answered. By default nothing: a
        scheme that only has initial writes gets such an answer from before a restart."""
        return ()

    def on_tables_installed(self, now: Nanoseconds) -> Iterable[Action]:
        """The switch has confirmed the last initial write, after each (re)start."""
        return ()


class TablesOnly(ForwardingControlPlane):
    """Base of control planes that only send the initial writes (`tables`) and changes of routes."""

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


class ForwardingOnly(TablesOnly):
    """The control plane of a switch that sends each request to the owner of its key."""

    def tables(self) -> Iterator[TableWrite]:
        """The partition of the key space, and the routes."""
        yield from self.forwarding.partition()
        yield from self.forwarding.routes()
