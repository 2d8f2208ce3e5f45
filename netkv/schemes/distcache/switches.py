"""The tables of DistCache's switches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from netkv import _engine
from netkv.control.base import (
    Action,
    InsertEntry,
    ModifyEntry,
    Nanoseconds,
    Range,
    SetDefault,
    TableWrite,
    TableWritten,
)
from netkv.control.forwarding import ForwardingTables
from netkv.control.table_writes import Done, TableWrites
from netkv.model.network import Tier
from netkv.model.topology import Topology, owner_index
from netkv.schemes.distcache.options import DistCacheOptions

UPPER_COPY = "upper_copy.switches"
LAST, UPPER = 0, 1
"""Layers in the header of a load."""
TIME_UNIT = 1024 * 1000
"""Nanoseconds of a unit of time in p4/distcache/choice.p4."""


def upper_number(key: bytes, switches: int) -> int:
    """The number of the switch with the upper copy of a key, of so many; the hash is that of
    p4/distcache/upper_copy.p4."""
    half = len(key) // 2
    return owner_index(key[half:] + key[:half], switches)


@dataclass(frozen=True, slots=True)
class Role:
    """What a switch does."""

    tier: Tier
    number: int | None = None
    """Its number among those with caches in its layer; None: it has no cache."""
    reports_load: bool = False
    """Whether its answers pass a switch of clients, which takes the load from them."""


class Switch:
    """The tables of a switch.

    Rules
    -----
    1. Above the last layer and at servers, messages about the upper copy of a key are sent towards
       its switch, whatever its state is.
    2. A switch of clients sends reads to an upper copy only while that switch is in service.
    """

    def __init__(
        self,
        name: str,
        topology: Topology,
        role: Role,
        options: DistCacheOptions,
        next_write: Callable[[], int],
    ) -> None:
        self.name = name
        self.role = role
        self.forwarding = ForwardingTables(topology, name, next_write)
        self._options = options
        self._writes = TableWrites(next_write, name)
        self._in_service = [False] * len(topology.first_layer)
        self._leaves: dict[int, int] = {}
        """Address of a server → number of its switch, at a switch of clients."""

    @property
    def is_client_side(self) -> bool:
        """Whether it is a switch of clients."""
        return self.role.tier == "clients"

    @property
    def refused(self) -> int:
        """Number of table writes that the switch has refused."""
        return self.forwarding.refused + self._writes.refused

    def set_leaves(self, leaves: dict[int, int]) -> None:
        """Set the number of the last layer's switch for each server address."""
        self._leaves = leaves

    # ------------------------------------------------------------------ initial tables

    def tables(self) -> Iterator[TableWrite]:
        """The entries of a switch that has started."""
        forwarding = self.forwarding
        yield from forwarding.partition()
        if self.is_client_side:
            yield from self._choice()
        else:
            yield from self._cache()
        for number in range(len(self._in_service)):
            yield self._upper_entry(number, InsertEntry)
        yield from forwarding.routes()

    def _choice(self) -> Iterator[TableWrite]:
        half_life = self._options.load_half_life_ns // TIME_UNIT
        yield self._default("choice.settings", "choice.configure", half_life=half_life)
        for address, number in self._leaves.items():
            yield InsertEntry(
                write=self.forwarding.next_write(),
                table="NetkvIngress.choice.servers",
                match={"address": address},
                action="NetkvIngress.choice.at",
                params={"number": number},
                switch=self.name,
            )

    def _cache(self) -> Iterator[TableWrite]:
        options, role = self._options, self.role
        share = 0.0 if role.number is None else options.counted_share
        yield self._default(
            "sampling.settings",
            "sampling.configure",
            sample_below=round(share * 65_536),
            hot_threshold=options.hot_threshold,
        )
        if role.number is not None and role.reports_load:
            layer = LAST if role.tier == "servers" else UPPER
            yield self._default("load.settings", "load.report", layer=layer, number=role.number)

    def _default(self, table: str, action: str, **params: int) -> SetDefault:
        return SetDefault(
            write=self.forwarding.next_write(),
            table=f"NetkvIngress.{table}",
            action=f"NetkvIngress.{action}",
            params=params,
            switch=self.name,
        )

    # --------------------------------------------------------------------- upper copies

    def _upper_entry(
        self, number: int, kind: type[InsertEntry] | type[ModifyEntry]
    ) -> InsertEntry | ModifyEntry:
        """The entry for the keys of an upper switch."""
        low, high = _engine.partition_range(number, len(self._in_service))
        port = self.forwarding.topology.first_layer[number]
        control = "NetkvIngress.choice" if self.is_client_side else "NetkvIngress"
        params: dict[str, int] = {}
        if port == 0:
            action = f"{control}.upper_copy.here"
        elif self.is_client_side and not self._in_service[number]:
            action = "NoAction"
        else:
            action, params = f"{control}.upper_copy.towards", {"port": port, "number": number}
        return kind(
            write=self.forwarding.next_write(),
            table=f"{control}.{UPPER_COPY}",
            match={"hash": Range(low, high)},
            action=action,
            params=params,
            priority=1,
            switch=self.name,
        )

    def set_service(self, number: int, in_service: bool, done: Done) -> Iterator[Action]:
        """At a switch of clients: whether reads may be sent to an upper switch from now on. `done`
        is called when the switch has confirmed it; at once if it does not run."""
        self._in_service[number] = in_service
        if self.forwarding.started:
            yield self._writes.give(self._upper_entry(number, ModifyEntry), done)

    def change(self, topology: Topology) -> Iterator[Action]:
        """The topology has changed."""
        before = self.forwarding.topology.first_layer
        yield from self.forwarding.change(topology)
        if self.forwarding.started:
            for number, (old, new) in enumerate(zip(before, topology.first_layer, strict=True)):
                if old != new:
                    yield self._writes.give(self._upper_entry(number, ModifyEntry), _nothing)

    # --------------------------------------------------------------------------- events

    def restarted(self) -> Iterator[Action]:
        """The switch is empty: fill its tables."""
        self._writes.clear()
        yield from self.forwarding.install(self.tables())

    def lost(self) -> None:
        """The switch does not run."""
        self._writes.clear()
        self.forwarding.stop()

    def on_written(self, now: Nanoseconds, written: TableWritten) -> Iterator[Action]:
        """A table write is answered; nothing happens if it is of another part."""
        yield from self.forwarding.on_written(written)
        yield from self._writes.on_written(now, written)


def _nothing(_now: Nanoseconds, _ok: bool) -> Sequence[Action]:
    return ()
