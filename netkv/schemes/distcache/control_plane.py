"""The control plane of DistCache: one for all switches (docs/schemes/distcache.md, "Controller").

Each switch with a cache has one of NetCache's (`netkv.kits.write_through.cache`). This module
passes events to them, fills the tables, and takes upper switches out of service and back.
"""

# Handlers have the parameters of the interface, whether they use them or not.
# ruff: noqa: ARG002

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeAlias

from netkv._engine import Outstanding
from netkv.control.base import (
    Action,
    Digest,
    Nanoseconds,
    NetworkControlPlane,
    PacketIn,
    SendFrame,
    TableWritten,
    earliest,
)
from netkv.control.cache_parameters import CacheParameters
from netkv.control.message_numbers import MessageNumbers
from netkv.control.pending_requests import PendingRequest, PendingRequests, To
from netkv.control.table_writes import TableWrites
from netkv.kits.write_through.cache import Cache
from netkv.kits.write_through.digests import HOT_KEY, decode_hot_key
from netkv.kits.write_through.entries import Record
from netkv.kits.write_through.lifecycle import TRIES
from netkv.model.messages import CONTROLLER_SENDER, MalformedFrameError, Op, decode, encode
from netkv.model.network import Network
from netkv.model.topology import KEY_BYTES, Topology
from netkv.schemes.distcache.options import DistCacheOptions
from netkv.schemes.distcache.restarts import Restarts
from netkv.schemes.distcache.service import UpperService
from netkv.schemes.distcache.switches import Role, Switch, upper_number

_Lost: TypeAlias = Callable[[Nanoseconds, list[Record]], Iterable[Action]]
"""Called with the records of an upper switch that has lost its state."""


@dataclass(frozen=True, slots=True)
class _Cached:
    """The cache of a switch, and its table writes."""

    cache: Cache
    writes: TableWrites


class DistCache(NetworkControlPlane):
    """All switches.

    Rules, in addition to those of the parts
    -----
    1. The last layer reports hot keys. A key is offered to the cache of its last switch and to that
       of its upper switch, which decide each for itself.
    2. A new controller begins with empty switches.
    3. Messages of all caches have numbers of one sequence: a server gets messages of several.
    """

    digests: ClassVar[tuple[str, ...]] = (HOT_KEY,)

    def __init__(
        self, network: Network, options: DistCacheOptions, parameters: CacheParameters
    ) -> None:
        self.options = options
        self.parameters = parameters
        self._counts: Counter[str] = Counter()
        self._table_writes = itertools.count(1)
        self._numbers = MessageNumbers(parameters.numbers_per_second)
        self._outstanding = Outstanding(self._numbers, parameters.timeouts)
        self._pending = PendingRequests(self._outstanding, TRIES, self._counts)
        self._uppers = network.first_layer
        self._topology = network.switches[0].topology
        self._switch_of = {at.host.index: at.switch for at in network.hosts if at.is_server}
        """By server."""
        self._switches = dict(self._make_switches(network))
        self._caches = {
            name: self._make_cache(name)
            for name, switch in self._switches.items()
            if switch.role.number is not None
        }
        self.pending_requests = dict.fromkeys(self._switches, self._pending)
        self.table_writes = {name: it.writes for name, it in self._caches.items()}
        self._service = UpperService([it for it in self._switches.values() if it.is_client_side])
        self._restarts = Restarts()

    def _make_switches(self, network: Network) -> Iterator[tuple[str, Switch]]:
        last = [plan.name for plan in network.switches if plan.tier == "servers"]
        reports = any(plan.tier == "clients" for plan in network.switches)
        leaves = {at.host.ip: last.index(at.switch) for at in network.hosts if at.is_server}
        for plan in network.switches:
            caching = self._uppers if plan.name in self._uppers else last
            number = caching.index(plan.name) if plan.name in caching else None
            role = Role(plan.tier, number, reports)
            switch = Switch(
                plan.name, plan.topology, role, self.options, self._table_writes.__next__
            )
            switch.set_leaves(leaves)
            yield plan.name, switch

    def _make_cache(self, switch: str) -> _Cached:
        upper = switch in self._uppers

        def owner(key: bytes) -> To:
            server = self._topology.owner(key).index
            return To(lane=server, switch=self._switch_of[server], upper=upper)

        writes = TableWrites(self._table_writes.__next__, switch)
        cache = Cache(
            self.options,
            self.parameters,
            self._pending,
            writes,
            self._numbers,
            self._counts,
            owner=owner,
            switch=To(switch=switch),
        )
        return _Cached(cache, writes)

    def _last_of(self, key: bytes) -> str:
        """The switch of the last layer that may cache a key: that of its server."""
        return self._switch_of[self._topology.owner(key).index]

    def _upper_of(self, key: bytes) -> str:
        """The upper switch that may cache a key; empty if there is none."""
        return self._uppers[upper_number(key, len(self._uppers))] if self._uppers else ""

    def _caches_of(self, key: bytes) -> Iterator[Cache]:
        """The caches that may have a key."""
        yield self._caches[self._last_of(key)].cache
        if self._uppers:
            yield self._caches[self._upper_of(key)].cache

    # -------------------------------------------------------------------------- queries

    def ready(self) -> bool:
        """True once all tables are in, and all preloaded keys are cached or given up."""
        tables = all(switch.forwarding.installed for switch in self._switches.values())
        return tables and all(it.cache.settled_all for it in self._caches.values())

    def switch_ready(self, switch: str) -> bool:
        """Whether the switch has its tables."""
        return self._switches[switch].forwarding.installed

    def deadline(self) -> Nanoseconds | None:
        """When a message is to be sent or repeated, or an epoch ends."""
        return earliest(
            self._pending.deadline(), *(it.cache.epoch_ends for it in self._caches.values())
        )

    def statistics(self) -> dict[str, int]:
        """Gauges of the caches, and counters of their events since the start."""
        gauges: Counter[str] = Counter()
        for it in self._caches.values():
            gauges.update(it.cache.gauges())
        refused = sum(switch.refused for switch in self._switches.values())
        refused += sum(it.writes.refused for it in self._caches.values())
        return {
            **self._counts,
            **gauges,
            "writes_refused": refused,
            "messages_repeated": self._outstanding.retries,
        }

    def cached_keys(self) -> list[bytes]:
        """The keys that any switch has cached."""
        parts = (it.cache.cached_keys() for it in self._caches.values())
        return list(dict.fromkeys(itertools.chain(*parts)))

    def cached_count(self) -> int:
        """Number of copies in all switches; a key may have two."""
        return sum(it.cache.records.cached for it in self._caches.values())

    # -------------------------------------------------------------------------- events

    def finish(self, now: Nanoseconds, switch: str, actions: list[Action]) -> list[Action]:
        """Admit waiting keys, and send the messages that may leave."""
        for name, it in self._caches.items():
            if self._switches[name].forwarding.installed:
                it.cache.admit_waiting()
        if self._service.settled:
            actions.extend(self._restarts.answers())
        actions.extend(self._pending.ready(now))
        return actions

    def on_started(self, now: Nanoseconds, saved: bytes | None) -> Iterator[Action]:
        """Begin above all numbers used before."""
        self._numbers.start(now)
        return iter(())

    def on_switch_restarted(self, now: Nanoseconds, switch: str) -> Iterator[Action]:
        """Fill the tables; the cache admits all keys again that had an entry."""
        it = self._switches[switch]
        yield from self._emptied(now, it, lambda _now, _lost: ())
        if it.is_client_side:
            yield from self._service.client_started(now, switch)
        yield from it.restarted()

    def on_switch_lost(self, now: Nanoseconds, switch: str) -> Iterator[Action]:
        """The entries of a switch are gone. A server that waits for an answer of the switch must
        learn that."""
        it = self._switches[switch]
        it.lost()
        yield from self._emptied(now, it, partial(self._abandon, it))

    def _emptied(self, now: Nanoseconds, switch: Switch, then: _Lost) -> Iterator[Action]:
        """A switch has lost its state; call `then` with the records of an upper switch when no read
        is sent to it any more."""
        lost: list[Record] = []
        if (cached := self._caches.get(switch.name)) is not None:
            self._pending.drop(partial(self._concerns, switch))
            lost = cached.cache.restarted()
        if switch.name in self._uppers:
            number = self._uppers.index(switch.name)
            yield from self._service.exclude(now, number, partial(_call, then, lost))

    def _abandon(self, switch: Switch, now: Nanoseconds, lost: list[Record]) -> Iterator[Action]:
        self._caches[switch.name].cache.abandon(lost)
        yield from self._pending.ready(now)

    def _concerns(self, switch: Switch, request: PendingRequest) -> bool:
        """Whether a request of the controller is about the cache of this switch."""
        to = request.to
        if switch.name not in self._uppers:
            return to.switch == switch.name and not to.upper
        own = to.upper and self._upper_of(request.key) == switch.name
        return own or (to.switch == switch.name and not to.upper)

    def on_topology_changed(
        self, now: Nanoseconds, topology: Topology, switch: str
    ) -> Iterator[Action]:
        """Change the entries whose port differs."""
        yield from self._switches[switch].change(topology)

    def on_table_written(self, now: Nanoseconds, written: TableWritten) -> Iterator[Action]:
        """A table write is answered."""
        it = self._switches[written.switch]
        was_installed = it.forwarding.installed
        yield from it.on_written(now, written)
        cached = self._caches.get(it.name)
        if cached is None:
            return
        yield from cached.writes.on_written(now, written)
        if it.forwarding.installed and not was_installed:
            cached.cache.begin_epoch(now)
            if it.name in self._uppers:
                yield from self._service.include(self._uppers.index(it.name))

    def on_preload(self, now: Nanoseconds, keys: tuple[bytes, ...]) -> Iterator[Action]:
        """Cache `keys` in this order, each in both layers, as far as there is room."""
        for key in keys:
            if len(key) != KEY_BYTES:
                raise ValueError(f"Cannot preload {key.hex()}: a key has {KEY_BYTES} bytes.")
            for cache in self._caches_of(key):
                cache.preload(key)
        return iter(())

    def on_hot_keys(self, now: Nanoseconds, keys: tuple[bytes, ...]) -> Iterator[Action]:
        """Offer the keys to their caches, as reported ones (rule 1)."""
        for key in keys:
            self._counts["hot_keys_known"] += 1
            for cache in self._caches_of(key):
                cache.report_known(key)
        return iter(())

    def on_digest(self, now: Nanoseconds, digest: Digest) -> Iterator[Action]:
        """The last layer reports a hot key."""
        report = decode_hot_key(digest)
        self._counts["hot_keys_reported"] += 1
        if self._last_of(report.key) == digest.switch:
            for cache in self._caches_of(report.key):
                cache.report(report)
        else:
            self._counts["hot_keys_elsewhere"] += 1
        return iter(())

    def on_packet_in(self, now: Nanoseconds, packet: PacketIn) -> Iterator[Action]:
        """A reply to the controller, OUTGROWN, or RESTARTED."""
        try:
            datagram = decode(packet.frame)
        except MalformedFrameError:
            self._counts["malformed_frames"] += 1
            return
        message = datagram.message
        if message.op is Op.OUTGROWN:
            reply = message.reply(cache_metadata=message.cache_metadata)
            frame = encode(reply, destination=datagram.source)
            yield SendFrame(frame, switch=packet.switch)
            of = self._upper_of if message.upper else self._last_of
            if (cached := self._caches.get(of(message.key))) is not None:
                yield from cached.cache.on_outgrown(message)
        elif message.op is Op.RESTARTED:
            self._restarts.on_restarted(datagram, packet.switch, self._copies(datagram.source))
        elif message.sender == CONTROLLER_SENDER:
            yield from self._pending.on_reply(now, message)
        else:
            self._counts["stray_replies"] += 1

    def _copies(self, server: int) -> Iterator[tuple[Cache, Record]]:
        """The records of upper caches for keys of the server with this address."""
        for upper in self._uppers:
            cache = self._caches[upper].cache
            for record in list(cache.records):
                if self._topology.owner(record.key).ip == server:
                    yield cache, record

    def on_timer(self, now: Nanoseconds) -> Iterator[Action]:
        """Repeat or give up messages; begin epochs that are due."""
        yield from self._pending.on_timer(now)
        for it in self._caches.values():
            ends = it.cache.epoch_ends
            if ends is not None and now >= ends:
                it.cache.begin_epoch(now)


def _call(then: _Lost, lost: list[Record], now: Nanoseconds) -> Iterable[Action]:
    return then(now, lost)
