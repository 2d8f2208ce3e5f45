"""NoCache: requests go to the owner of their key. The control plane fills two tables, once."""

# Handlers take what the interface gives, needed or not.
# ruff: noqa: ARG002

from collections.abc import Iterable, Iterator
from typing import ClassVar

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


class NoCache(ControlPlane):
    """Partition and routes (p4/nocache), the base of the schemes with a cache.

    Rules
    -----
    1. A switch that has (re)started gets every entry before it is reported ready.
    2. A refused write is a fault of the program or the topology: it is noted, not retried, and the
       switch is not ready.
    """

    name: ClassVar[str] = "nocache"

    def __init__(self, topology: Topology) -> None:
        """`topology`: the hosts at the switch."""
        self.topology = topology
        self._writes = 0
        self._initial: set[int] = set()
        self._refused = 0
        self._started = False

    def tables(self) -> Iterator[TableWrite]:
        """The partition of the key space, and the routes."""
        for partition in self.topology.partitions():
            yield InsertEntry(
                write=self._next_write(),
                table=PARTITION,
                match={"hash": Range(partition.low, partition.high)},
                action="NetkvIngress.partition.to_owner",
                params={"mac": partition.owner.mac, "address": partition.owner.ip},
                priority=1,
            )
        yield from self.routes()

    def routes(self, others: Iterable[Host] = ()) -> Iterator[TableWrite]:
        """A route to every host, the controller, and `others`."""
        routes = [(host.ip, host.port) for host in (*self.topology.hosts(), *others)]
        for ip, port in [*routes, (CONTROLLER_IP, CPU_PORT)]:
            yield InsertEntry(
                write=self._next_write(),
                table=ROUTE,
                match={"dst": ip},
                action="NetkvIngress.route.forward",
                params={"port": port},
            )

    def ready(self) -> bool:
        """True once every initial entry is in."""
        return self.tables_in()

    def tables_in(self) -> bool:
        """Whether the switch has taken every initial entry."""
        return self._started and not self._initial and not self._refused

    def statistics(self) -> dict[str, int]:
        """`writes_refused`: table entries that the switch did not take."""
        return {"writes_refused": self._refused}

    def on_started(self, now: Nanoseconds, saved: bytes | None) -> Iterator[Action]:
        """Fill the tables."""
        yield from self._fill()

    def _fill(self) -> Iterator[Action]:
        self._started = True
        self._refused = 0
        writes = list(self.tables())
        self._initial = {write.write for write in writes}
        yield from writes

    def on_switch_restarted(self, now: Nanoseconds) -> Iterator[Action]:
        """Fill the tables again."""
        yield Note("switch restarted")
        yield from self._fill()

    def on_table_written(self, now: Nanoseconds, written: TableWritten) -> Iterator[Action]:
        """An initial entry is in, or refused. Writes of a former life of the switch are unknown."""
        if written.write not in self._initial:
            return
        self._initial.discard(written.write)
        if not written.ok:
            self._refused += 1
            yield Note("table write refused", {"write": written.write, "error": written.error})
        elif not self._initial and not self._refused:
            yield Note("tables ready")

    def _next_write(self) -> int:
        self._writes += 1
        return self._writes
