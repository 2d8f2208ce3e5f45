"""A switch of a chain: what it has, and its settings."""

# Callbacks have the parameters of their type, whether they use them or not.

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TypeAlias

from netkv.control.base import (
    Action,
    CloneSession,
    InsertEntry,
    Nanoseconds,
    SetDefault,
    TableRead,
    TableWrite,
    TableWritten,
)
from netkv.control.forwarding import ForwardingTables
from netkv.control.pending_requests import To
from netkv.control.table_writes import TableWrites
from netkv.kits.write_back.context import CacheSwitch
from netkv.model.topology import CPU_PORT, SERVICE_IP

SERVERS = "NetkvIngress.chain.servers"
SETTINGS = "NetkvIngress.settings.settings"
INCARNATION = "NetkvEgress.incarnation.current"

Done: TypeAlias = Callable[[Nanoseconds], Iterable[Action]]


def found_incarnation(table: TableRead) -> int:
    """The incarnation of a switch whose table `INCARNATION` was read; 0 if it has none, or no
    records of it."""
    params = table.default.params if table.default is not None else {}
    incarnation = params.get("incarnation", 0)
    return 0 if incarnation == params.get("previous", 0) else incarnation


class Mode(Enum):
    """Modes of a switch (p4/distreach/requests.p4)."""

    CLOSED = 0  # after a start
    OPEN = 1
    HOLD = 2


class Content(Enum):
    """What a switch has, as far as the controller knows."""

    UNKNOWN = auto()  # nothing was heard of it yet
    DOWN = auto()  # it does not run
    EMPTY = auto()  # it runs, and has no record of the chain
    RECORDS = auto()  # it has the records of the chain, or the servers have all of them


@dataclass(frozen=True, slots=True)
class _Wanted:
    sample_below: int
    hot_threshold: int
    epoch: int = 0
    mode: Mode = Mode.CLOSED


class ChainSwitch:
    """A switch of a chain.

    Rules
    -----
    1. A change of the settings takes effect when the switch has confirmed it. At most one write of
       them is under way; the next one contains all later changes.
    2. Settings and incarnation are written in any state of the chain. So their writes are not
       forgotten when a recovery begins, as those of the lookup table are.
    """

    def __init__(
        self,
        name: str,
        forwarding: ForwardingTables,
        next_write: Callable[[], int],
        *,
        ports: Iterable[int],
        servers: Iterable[int],
        sample_below: int,
        hot_threshold: int,
    ) -> None:
        """`ports`: all in use. `servers`: addresses of those of the chain. `sample_below`,
        `hot_threshold`: of the statistics."""
        self.name = name
        self._ports = tuple(sorted(ports))
        self._servers = tuple(servers)
        self.forwarding = forwarding
        self.access = CacheSwitch(To(name, SERVICE_IP, switch=name), TableWrites(next_write, name))
        """For messages, and for writes of the lookup table."""
        self.content = Content.UNKNOWN
        self.lookup: dict[bytes, tuple[int, int]] = {}
        """Key → entry and generation, as a recovery has read them."""
        self._fresh = _Wanted(sample_below, hot_threshold)
        self._writes = TableWrites(next_write, name)
        self._restart()

    @property
    def runs(self) -> bool:
        """Whether the switch runs and has its tables."""
        known = self.content in (Content.EMPTY, Content.RECORDS)
        return known and self.forwarding.installed

    @property
    def refused(self) -> int:
        """Number of table writes that the switch has refused."""
        return self.forwarding.refused + self._writes.refused + self.access.writes.refused

    def _restart(self) -> None:
        self._wanted = self._fresh
        self._written: _Wanted | None = None
        self._under_way = False
        self._when_mode: Done | None = None

    def tables(self) -> Iterator[TableWrite]:
        """Partition, clone sessions, the servers of the chain, and last the routes."""
        forwarding = self.forwarding
        yield from forwarding.partition()
        for port in (*self._ports, CPU_PORT):
            yield CloneSession(forwarding.next_write(), session=port, port=port, switch=self.name)
        for server in self._servers:
            yield InsertEntry(
                write=forwarding.next_write(),
                table=SERVERS,
                match={"address": server},
                action="NetkvIngress.chain.of_this_chain",
                params={},
                switch=self.name,
            )
        yield from forwarding.routes()

    # ---------------------------------------------------------------- state of the switch

    def restarted(self) -> None:
        """The switch is empty."""
        self._forget()
        self.content = Content.EMPTY

    def found(self) -> None:
        """The switch has what an earlier controller has left; its mode is not known."""
        self._forget()
        self.content = Content.RECORDS

    def lost(self) -> None:
        """The switch does not run."""
        self._forget()
        self.content = Content.DOWN

    def _forget(self) -> None:
        self._restart()
        self._writes.clear()
        self.access.writes.clear()
        self.lookup.clear()

    def on_written(self, now: Nanoseconds, written: TableWritten) -> Iterator[Action]:
        """A write is answered; nothing happens if it is of another part."""
        yield from self._writes.on_written(now, written)
        yield from self.access.writes.on_written(now, written)

    # --------------------------------------------------------------------------- settings

    def set_epoch(self, epoch: int) -> None:
        """Set the statistics epoch."""
        self._wanted = replace(self._wanted, epoch=epoch)

    def set_mode(self, mode: Mode, done: Done) -> None:
        """Set the mode, then call `done`. The callback of an earlier change is dropped."""
        self._wanted = replace(self._wanted, mode=mode)
        self._when_mode = done
        if not self._under_way:
            self._written = None  # written also if it is the present mode: for the answer

    def pump(self) -> Iterator[Action]:
        """Write the settings if they have changed."""
        wanted = self._wanted
        if self._under_way or wanted == self._written or not self.runs:
            return
        self._under_way = True

        def written(now: Nanoseconds, ok: bool) -> Iterator[Action]:
            self._under_way = False
            if ok and self._when_mode is not None and wanted.mode is self._wanted.mode:
                done, self._when_mode = self._when_mode, None
                yield from done(now)

        self._written = wanted
        write = SetDefault(
            write=self._writes.next(),
            table=SETTINGS,
            action="NetkvIngress.settings.configure",
            params={
                "sample_below": wanted.sample_below,
                "hot_threshold": wanted.hot_threshold,
                "epoch": wanted.epoch,
                "mode": wanted.mode.value,
            },
            switch=self.name,
        )
        yield self._writes.give(write, written)

    def set_incarnation(
        self, incarnation: int, done: Done, *, position: int, loss: int, previous: int = 0
    ) -> Iterator[Action]:
        """Set the incarnation and the position in the chain (0: it is the head), then call `done`.
        `loss`: the incarnation of the last loss; `previous`: one that continues in this one, or the
        same, which marks a switch that has no records yet."""

        def written(now: Nanoseconds, ok: bool) -> Iterator[Action]:
            if ok:
                yield from done(now)

        write = SetDefault(
            write=self._writes.next(),
            table=INCARNATION,
            action="NetkvEgress.incarnation.set",
            params={
                "incarnation": incarnation,
                "previous": previous,
                "last_loss": loss,
                "position": position,
            },
            switch=self.name,
        )
        yield self._writes.give(write, written)
