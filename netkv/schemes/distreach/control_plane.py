"""The control plane of DistReach: one for all switches (docs/schemes/distreach.md, "Controller").

`chain` has the control of one chain. This module passes events to the chains, and fills the
forwarding tables of all switches.
"""

# Handlers have the parameters of the interface, whether they use them or not.
# ruff: noqa: ARG002

import itertools
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass

from netkv.control.base import (
    Action,
    Nanoseconds,
    NetworkControlPlane,
    Note,
    PacketIn,
    ReadTable,
    ResetSwitch,
    Saved,
    TableRead,
    TableWrite,
    TableWritten,
    earliest,
)
from netkv.control.chains import chain_of
from netkv.control.forwarding import ROUTE, ForwardingTables
from netkv.kits.write_back.loading import read_loaded
from netkv.kits.write_back.parameters import WriteBackParameters
from netkv.model.messages import MalformedFrameError, decode
from netkv.model.network import Network
from netkv.model.topology import CONTROLLER_IP, KEY_BYTES, Topology
from netkv.schemes.distreach.chain import Chain
from netkv.schemes.distreach.chain_switch import INCARNATION, ChainSwitch, found_incarnation
from netkv.schemes.distreach.incarnations import Incarnations, SavedError
from netkv.schemes.distreach.options import DistReachOptions


@dataclass(slots=True)
class _Plain:
    """A switch in no chain, which only routes."""

    name: str
    forwarding: ForwardingTables

    def tables(self) -> Iterator[TableWrite]:
        """Partition, and last the routes."""
        yield from self.forwarding.partition()
        yield from self.forwarding.routes()


class DistReach(NetworkControlPlane):
    """Chains of switches, and the switches of clients.

    Rules, in addition to those of the parts
    -----
    1. A switch that an earlier controller has set up keeps its state. It is set up if it has the
       last route of its initial entries and, in a chain, an incarnation that is not marked as one
       without records (`ChainSwitch.set_incarnation`). Any other is emptied.
    2. A switch of a chain is in service for other switches when its chain serves.
    """

    keeps_switches = True

    def __init__(
        self, network: Network, options: DistReachOptions, parameters: WriteBackParameters
    ) -> None:
        self.options = options
        self.parameters = parameters
        self._counts: Counter[str] = Counter()
        self._numbers = itertools.count(1)
        self._incarnations = Incarnations()
        self._switches: dict[str, ChainSwitch | _Plain] = {}
        self._chains: dict[str, Chain] = {}
        """By the name of each of their switches."""
        self._of_server: dict[int, Chain] = {}
        self._found: dict[str, dict[int, TableRead | None]] = {}
        """By switch: the tables that are read to learn what it has."""
        for plan in network.switches:
            if plan.topology.has_servers:
                self._add_chain(network, plan.name)
        for plan in network.switches:
            if plan.name not in self._switches:
                forwarding = self._forwarding(plan.name, plan.topology)
                self._switches[plan.name] = _Plain(plan.name, forwarding)
        self._topology = network.switches[0].topology
        self._all = tuple(dict.fromkeys(self._chains.values()))
        self.pending_requests = {
            name: requests for it in self._all for name, requests in it.pending_requests.items()
        }
        self.table_writes = {
            name: writes for it in self._all for name, writes in it.table_writes.items()
        }

    def _add_chain(self, network: Network, tail: str) -> None:
        plans = chain_of(network, tail)
        servers = tuple(plans[-1].topology.local_servers())
        below = round(self.options.counted_share * 65_536)
        switches = [
            ChainSwitch(
                plan.name,
                self._forwarding(plan.name, plan.topology),
                self._next,
                ports=plan.ports,
                servers=[server.ip for server in servers],
                sample_below=below,
                hot_threshold=self.options.hot_threshold,
            )
            for plan in plans
        ]
        chain = Chain(
            switches,
            plans[-1].topology,
            self.options,
            self.parameters,
            self._incarnations,
            self._next,
            self._counts,
        )
        for switch in switches:
            self._switches[switch.name] = switch
            self._chains[switch.name] = chain
        for server in servers:
            self._of_server[server.index] = chain

    def _forwarding(self, switch: str, topology: Topology) -> ForwardingTables:
        return ForwardingTables(topology, switch, self._next)

    def _next(self) -> int:
        return next(self._numbers)

    # -------------------------------------------------------------------------- queries

    def ready(self) -> bool:
        """True once all switches have their tables, and all chains serve and have their keys."""
        tables = all(switch.forwarding.installed for switch in self._switches.values())
        return tables and all(chain.ready() for chain in self._all)

    def switch_ready(self, switch: str) -> bool:
        """Whether the switch has its tables and its chain, if it is in one, serves."""
        chain = self._chains.get(switch)
        installed = self._switches[switch].forwarding.installed
        return installed and (chain is None or chain.recovery.is_open)

    def deadline(self) -> Nanoseconds | None:
        """The earliest of all chains, and of a save that is to be repeated."""
        return earliest(self._incarnations.deadline(), *(chain.deadline() for chain in self._all))

    def statistics(self) -> dict[str, int]:
        """Gauges of the caches, and counters of their events since the start."""
        gauges: Counter[str] = Counter()
        for chain in self._all:
            gauges.update(chain.gauges())
        refused = sum(
            it.refused if isinstance(it, ChainSwitch) else it.forwarding.refused
            for it in self._switches.values()
        )
        return {
            **self._counts,
            **gauges,
            "writes_refused": refused,
            "incarnation": self._incarnations.last,
            "saves": self._incarnations.count,
        }

    def tolerates(self, switch: str, kept: Container[str]) -> bool:
        """Whether no acknowledged write is lost if a switch fails now (`Chain.tolerates`)."""
        chain = self._chains.get(switch)
        return chain is None or chain.tolerates(switch, kept)

    def cached_count(self) -> int:
        """Number of keys that all switches of their chain have cached."""
        return sum(chain.cached_count for chain in self._all)

    def cached_keys(self) -> list[bytes]:
        """The keys that whole chains have cached."""
        return [key for chain in self._all for key in chain.cached_keys()]

    def limit_in_flight(self, keys: int) -> None:
        """Admissions and evictions under way in each chain."""
        for chain in self._all:
            chain.limit_in_flight(keys)

    # -------------------------------------------------------------------------- events

    def finish(self, now: Nanoseconds, switch: str, actions: list[Action]) -> list[Action]:
        """Begin operations that are due, and send requests."""
        chain = self._chains.get(switch)
        for each in self._all if chain is None else (chain,):
            actions.extend(each.pump(now))
        actions.extend(self._incarnations.pump(now))
        return actions

    def on_started(self, now: Nanoseconds, saved: bytes | None) -> Iterator[Action]:
        """The first event: continue after an earlier controller, if there was one."""
        for chain in self._all:
            chain.started(now)
        if saved is None:
            return
        for chain in self._all:
            chain.recovery.continue_after()
        try:
            self._incarnations.restore(saved)
        except SavedError as error:
            yield Note("saved state is refused", {"because": str(error)})

    def on_switch_restarted(self, now: Nanoseconds, switch: str) -> Iterator[Action]:
        """A switch is empty: fill its tables; its chain recovers."""
        self._found.pop(switch, None)
        it = self._switches[switch]
        if isinstance(it, ChainSwitch):
            it.restarted()
        yield from it.forwarding.install(it.tables())
        if (chain := self._chains.get(switch)) is not None:
            yield from chain.changed(now)

    def on_switch_found(self, now: Nanoseconds, switch: str) -> Iterator[Action]:
        """A switch runs with what an earlier controller has left: read what that is."""
        tables = [ROUTE, INCARNATION] if switch in self._chains else [ROUTE]
        reads = [ReadTable(self._next(), table, switch) for table in tables]
        self._found[switch] = dict.fromkeys(read.read for read in reads)
        yield from reads

    def on_switch_lost(self, now: Nanoseconds, switch: str) -> Iterator[Action]:
        """A switch does not run: its chain recovers without it."""
        self._found.pop(switch, None)
        it = self._switches[switch]
        it.forwarding.stop()
        if isinstance(it, ChainSwitch):
            it.lost()
            yield from self._chains[switch].changed(now)

    def on_topology_changed(
        self, now: Nanoseconds, topology: Topology, switch: str
    ) -> Iterator[Action]:
        """Change the routes whose port differs."""
        yield from self._switches[switch].forwarding.change(topology)

    def on_table_written(self, now: Nanoseconds, written: TableWritten) -> Iterator[Action]:
        """A table write is answered."""
        it = self._switches[written.switch]
        yield from it.forwarding.on_written(written)
        if isinstance(it, ChainSwitch):
            yield from it.on_written(now, written)

    def on_table_read(self, now: Nanoseconds, read: TableRead) -> Iterator[Action]:
        """A table of a found switch, or of a recovery."""
        found = self._found.get(read.switch)
        if found is not None and read.read in found:
            found[read.read] = read
            if None not in found.values():
                del self._found[read.switch]
                answers = [answer for answer in found.values() if answer is not None]
                yield from self._on_found(now, read.switch, answers)
        elif (chain := self._chains.get(read.switch)) is not None:
            yield from chain.on_read(now, read)

    def _on_found(
        self, now: Nanoseconds, switch: str, answers: list[TableRead]
    ) -> Iterator[Action]:
        """It is known what a found switch has (rule 1)."""
        routes, *others = answers
        whole = any(it.match["dst"] == CONTROLLER_IP for it in routes.entries)
        incarnations = [found_incarnation(table) for table in others]
        it = self._switches[switch]
        if not whole or any(each.error for each in answers) or incarnations == [0]:
            yield ResetSwitch(switch)
            return
        yield from it.forwarding.adopt(routes.entries)
        if isinstance(it, ChainSwitch):
            self._incarnations.go_above(incarnations[0])
            it.found()
            yield from self._chains[switch].changed(now)

    def on_saved(self, now: Nanoseconds, saved: Saved) -> Iterator[Action]:
        """A save is answered."""
        yield from self._incarnations.on_saved(now, saved)

    def on_preload(self, now: Nanoseconds, keys: tuple[bytes, ...]) -> Iterator[Action]:
        """Cache `keys` in this order, each in the chain of its server, as far as there is room."""
        of_chain: dict[Chain, list[bytes]] = {}
        for key in keys:
            if len(key) != KEY_BYTES:
                raise ValueError(f"Cannot preload {key.hex()}: a key has {KEY_BYTES} bytes.")
            chain = self._of_server[self._topology.owner(key).index]
            of_chain.setdefault(chain, []).append(key)
        for chain, local in of_chain.items():
            chain.preload(local)
        return iter(())

    def on_hot_keys(self, now: Nanoseconds, keys: tuple[bytes, ...]) -> Iterator[Action]:
        """Queue the keys for admission to their chains."""
        self._counts["hot_keys_known"] += len(keys)
        for key in keys:
            self._of_server[self._topology.owner(key).index].report((key,))
        return iter(())

    def on_packet_in(self, now: Nanoseconds, packet: PacketIn) -> Iterator[Action]:
        """A frame of a switch or a server."""
        chain = self._chains.get(packet.switch)
        if chain is None:
            return
        loaded = read_loaded(packet.frame)
        if loaded is not None:
            yield from chain.on_loaded(now, loaded)
            return
        try:
            datagram = decode(packet.frame)
        except MalformedFrameError:
            self._counts["malformed_frames"] += 1
            return
        yield from chain.on_message(now, packet.switch, datagram)

    def on_timer(self, now: Nanoseconds) -> Iterator[Action]:
        """Repeat or give up requests; begin epochs that are due."""
        for chain in self._all:
            yield from chain.on_timer(now)
