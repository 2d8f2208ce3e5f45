"""The control plane of NetCache: it decides which keys the switch caches.

Switch and server shims keep cached values up to date without it (p4/netcache,
docs/wire-format.md). `lifecycle` has the states of one entry, `cache_records` the index of all
entries, `popularity` the statistics. This module passes events to them and chooses the next key
to admit.
"""

# Handlers have the parameters of the interface, whether they use them or not.
# ruff: noqa: ARG002

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from netkv.control.base import (
    Action,
    Digest,
    Event,
    Nanoseconds,
    Note,
    PacketIn,
    SendFrame,
    SetDefault,
    TableWrite,
    TableWritten,
)
from netkv.control.forwarding import ForwardingControlPlane
from netkv.control.message_numbers import MessageNumbers
from netkv.control.messages import (
    CONTROLLER_SENDER,
    MalformedFrameError,
    Op,
    decode,
    encode,
)
from netkv.control.outstanding import Outstanding
from netkv.control.pending_requests import PendingRequests
from netkv.control.table_writes import TableWrites
from netkv.control.topology import KEY_BYTES, Topology
from netkv.schemes.netcache.cache_records import Records
from netkv.schemes.netcache.digests import HOT_KEY, decode_hot_key
from netkv.schemes.netcache.entries import Candidate, State
from netkv.schemes.netcache.lifecycle import LOOKUP, TRIES, Lifecycle
from netkv.schemes.netcache.parameters import NetCacheParameters
from netkv.schemes.netcache.popularity import Popularity

__all__ = ["LOOKUP", "SAMPLING", "TRIES", "NetCache"]

SAMPLING = "NetkvIngress.sampling.settings"


class NetCache(ForwardingControlPlane):
    """Cache management (NetCache, slides "Cache Update" and "Query Statistics").

    Rules, in addition to those of `Lifecycle` and `Popularity`
    -----
    1. The numbers of keys in flight and of waiting keys are limited. The switch reports a key that
       is dropped because of a limit again.
    2. After a restart of the switch every entry is installed again under a new generation.
    3. A new controller begins with an empty switch (`Started`). Its message numbers, generations
       and epochs are above all that earlier controllers used (`MessageNumbers`, `Epochs`).
    4. Only keys of servers that are attached to this switch are cached; reports of other keys are
       ignored. A switch without servers counts no reads and has no epochs.
    """

    digests: ClassVar[tuple[str, ...]] = (HOT_KEY,)

    def __init__(self, topology: Topology, parameters: NetCacheParameters | None = None) -> None:
        """`topology`: the hosts and their ports; `parameters`: None for the defaults."""
        super().__init__(topology)
        self.parameters = parameters or NetCacheParameters()
        self._numbers = MessageNumbers(self.parameters.numbers_per_second)
        self._outstanding = Outstanding(self._numbers, self.parameters.timeouts)
        self._records = Records(self.parameters.capacity, self.parameters.rows)
        self._waiting: OrderedDict[bytes, Candidate] = OrderedDict()
        self._unsettled: set[bytes] = set()  # keys of preloads and restarts, not yet settled
        self._counts: Counter[str] = Counter()
        self._pending = PendingRequests(self._outstanding, TRIES, self._counts)
        self._writes = TableWrites(self.forwarding.next_write)
        self._lifecycle = Lifecycle(
            self._records,
            self._pending,
            self._writes,
            self._numbers,
            server_of=lambda key: topology.owner(key).index,
            decisions=self,
            counts=self._counts,
        )
        self._popularity = Popularity(
            self.parameters, self._records, self._pending, self._lifecycle, self._counts
        )

    # -------------------------------------------------------------------------- queries

    def tables(self) -> Iterator[TableWrite]:
        """Partition, routes and the sampling of reads."""
        yield from self.forwarding.partition()
        yield from self.forwarding.routes()
        share = self.parameters.sample_rate if self.topology.has_servers else 0.0
        yield SetDefault(
            write=self.forwarding.next_write(),
            table=SAMPLING,
            action="NetkvIngress.sampling.configure",
            params={
                "sample_below": round(share * 65_536),
                "hot_threshold": self.parameters.hot_threshold,
            },
        )

    def ready(self) -> bool:
        """True once the tables are in and every preloaded key is cached or given up."""
        return self.forwarding.installed and not self._unsettled

    def deadline(self) -> Nanoseconds | None:
        """When a message is to be sent or repeated, or the epoch ends."""
        times = (self._pending.deadline(), self._popularity.epochs.ends)
        return min((time for time in times if time is not None), default=None)

    def statistics(self) -> dict[str, int]:
        """Gauges of the cache, and counters of its events since the start."""
        return {
            "writes_refused": self.forwarding.refused,
            **self._counts,
            "cached": self._records.cached,
            "in_flight": self._records.in_flight,
            "waiting": len(self._waiting),
            "free_entries": self._records.free_entries,
            "free_cells": self._records.slots.free_cells,
            "messages_repeated": self._outstanding.retries,
            "epoch": self._popularity.epochs.current,
        }

    def cached_keys(self) -> list[bytes]:
        """The keys whose entries are installed, the oldest first."""
        return [record.key for record in self._records if record.state is State.CACHED]

    # -------------------------------------------------------------------------- events

    def handle(self, now: Nanoseconds, event: Event) -> list[Action]:
        """Handle one event; then admit waiting keys, and send the requests that may leave."""
        actions = super().handle(now, event)
        self._admit_waiting()
        actions.extend(self._pending.ready(now))
        return actions

    def on_started(self, now: Nanoseconds, saved: bytes | None) -> Iterator[Action]:
        """Fill the tables; begin above all numbers used before (rule 3)."""
        self._numbers.start(now)
        yield from self.forwarding.install(self.tables())

    def on_switch_restarted(self, now: Nanoseconds) -> Iterator[Action]:
        """Fill the tables again; admit again all keys that had an entry (rule 2)."""
        lost = [Candidate(record.key) for record in self._records]
        for part in (
            self._pending,
            self._writes,
            self._records,
            self._lifecycle,
            self._popularity,
        ):
            part.clear()
        preloads = [candidate for candidate in self._waiting.values() if candidate.count is None]
        self._waiting.clear()
        for candidate in (*lost, *preloads):
            self._waiting[candidate.key] = candidate
        self._unsettled.update(candidate.key for candidate in lost)
        yield Note("switch restarted")
        yield from self.forwarding.install(self.tables())

    def on_table_written(self, now: Nanoseconds, written: TableWritten) -> Iterator[Action]:
        """An initial write or a write to the lookup table is answered."""
        was_installed = self.forwarding.installed
        yield from self.forwarding.on_written(written)
        yield from self._writes.on_written(now, written)
        if self.forwarding.installed and not was_installed and self.topology.has_servers:
            self._popularity.begin_epoch(now)

    def on_preload(self, now: Nanoseconds, keys: tuple[bytes, ...]) -> Iterator[Action]:
        """Cache `keys` in this order, as far as there is room; skip keys of other switches."""
        for key in keys:
            if len(key) != KEY_BYTES:
                raise ValueError(f"Cannot preload {key.hex()}: a key has {KEY_BYTES} bytes.")
            if not self.topology.is_local(key):
                self._counts["preloads_elsewhere"] += 1
            elif key not in self._records and key not in self._unsettled:
                self._unsettled.add(key)
                self._waiting[key] = Candidate(key)
        return iter(())

    def on_digest(self, now: Nanoseconds, digest: Digest) -> Iterator[Action]:
        """Queue a hot key for admission."""
        report = decode_hot_key(digest)
        self._counts["hot_keys_reported"] += 1
        key = report.key
        if not self.topology.is_local(key):
            self._counts["hot_keys_elsewhere"] += 1
        elif key in self._records or key in self._waiting or key in self._popularity:
            pass  # it has an entry, waits for one or contends for one
        elif len(self._waiting) >= self.parameters.max_waiting:
            self._counts["hot_keys_dropped"] += 1
        else:
            self._waiting[key] = Candidate(key, report.count, report.epoch)
        return iter(())

    def on_packet_in(self, now: Nanoseconds, packet: PacketIn) -> Iterator[Action]:
        """A reply to the controller, or OUTGROWN: a value no longer fits its entry."""
        try:
            datagram = decode(packet.frame)
        except MalformedFrameError:
            self._counts["malformed_frames"] += 1
            return
        message = datagram.message
        if message.op is Op.OUTGROWN:
            yield SendFrame(
                encode(
                    message.reply(cache_metadata=message.cache_metadata),
                    destination=datagram.source,
                )
            )
            yield from self._lifecycle.on_outgrown(message)
        elif message.sender == CONTROLLER_SENDER:
            yield from self._pending.on_reply(now, message)
        else:
            self._counts["stray_replies"] += 1

    def on_timer(self, now: Nanoseconds) -> Iterator[Action]:
        """Retransmit or give up requests; begin the next epoch if it is due."""
        yield from self._pending.on_timer(now)
        ends = self._popularity.epochs.ends
        if ends is not None and now >= ends:
            self._popularity.begin_epoch(now)

    # ----------------------------------------------------------------------- admission

    def _admit_waiting(self) -> None:
        """Begin with waiting keys, as many as may be in flight; with none while entries move."""
        while (
            self._waiting
            and self._records.in_flight < self.parameters.max_in_flight
            and not self._lifecycle.moving
            and self.forwarding.installed
        ):
            _, candidate = self._waiting.popitem(last=False)
            if candidate.key in self._records:
                continue
            if candidate.chunks == 0 and self._records.free_entries:
                self._lifecycle.admit(candidate)
            else:
                self._contend(candidate)

    def _contend(self, candidate: Candidate) -> None:
        """The cache is full: let the candidate contend with cached keys, if it may evict one."""
        if candidate.count is None:
            self.settled(candidate, "without_room")
        elif not self._popularity.contend(candidate):
            self.settled(candidate, "hot_keys_dropped")

    def make_room(self, candidate: Candidate) -> Iterator[Action]:
        """No row has room for the candidate: move entries; if that does not help, evict one."""
        movers = () if candidate.moved else self._records.slots.plan_move(candidate.chunks)
        records = [self._records.get(generation) for generation in movers]
        if records and all(record and record.state is State.CACHED for record in records):
            for record in records:
                if record is not None:
                    yield from self._lifecycle.move(record)
            self.put_first(replace(candidate, chunks=0, moved=True))
        else:
            self._contend(candidate)

    def settled(self, candidate: Candidate, reason: str) -> None:
        """The candidate is cached or given up; `reason` is the counter of that outcome."""
        self._counts[reason] += 1
        self._unsettled.discard(candidate.key)

    def put_first(self, candidate: Candidate) -> None:
        """Try the candidate before all others."""
        self._waiting[candidate.key] = candidate
        self._waiting.move_to_end(candidate.key, last=False)
