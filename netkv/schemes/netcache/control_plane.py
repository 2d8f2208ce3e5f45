"""The control plane of NetCache: it decides which keys the switch caches.

Switch and servers keep cached values up to date without it (p4/netcache, docs/schemes/netcache.md).
In the kit `netkv.kits.write_through`, `cache` chooses the keys, `lifecycle` has the states of one
entry, `cache_records` the index of all entries, `popularity` the statistics. This module fills the
tables and passes events to the cache.
"""

# Handlers have the parameters of the interface, whether they use them or not.
# ruff: noqa: ARG002

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import ClassVar

from netkv._engine import Outstanding
from netkv.control.base import (
    Action,
    Digest,
    Nanoseconds,
    Note,
    PacketIn,
    SendFrame,
    SetDefault,
    TableWrite,
    TableWritten,
    earlier,
)
from netkv.control.cache_parameters import CacheParameters
from netkv.control.forwarding import ForwardingControlPlane
from netkv.control.message_numbers import MessageNumbers
from netkv.control.pending_requests import PendingRequests, To
from netkv.control.table_writes import TableWrites
from netkv.kits.write_through.cache import Cache
from netkv.kits.write_through.digests import HOT_KEY, decode_hot_key
from netkv.kits.write_through.lifecycle import LOOKUP, TRIES
from netkv.model.messages import CONTROLLER_SENDER, MalformedFrameError, Op, decode, encode
from netkv.model.topology import KEY_BYTES, Topology, owner_index
from netkv.schemes.netcache.options import NetCacheOptions

__all__ = ["LOOKUP", "SAMPLING", "TRIES", "NetCache"]

SAMPLING = "NetkvIngress.sampling.settings"


class NetCache(ForwardingControlPlane):
    """The control plane of one switch.

    Rules, in addition to those of `Cache`
    -----
    1. A new controller begins with an empty switch (`Started`). Its message numbers, generations
       and epochs are above all that earlier controllers used (`MessageNumbers`, `Epochs`).
    2. Only keys of servers that are attached to this switch are cached; reports of other keys are
       ignored. A switch without servers counts no reads and has no epochs.
    """

    digests: ClassVar[tuple[str, ...]] = (HOT_KEY,)

    def __init__(
        self, topology: Topology, options: NetCacheOptions, parameters: CacheParameters
    ) -> None:
        """`topology`: the hosts and their ports."""
        super().__init__(topology)
        self.options = options
        self.parameters = parameters
        self._numbers = MessageNumbers(parameters.numbers_per_second)
        self._outstanding = Outstanding(self._numbers, parameters.timeouts)
        self._counts: Counter[str] = Counter()
        self._pending = PendingRequests(self._outstanding, TRIES, self._counts)
        self._writes = TableWrites(self.forwarding.next_write)
        self.pending_requests = {"": self._pending}
        self.table_writes = {"": self._writes}
        owners = [To(lane=server.index) for server in topology.servers]
        self.cache = Cache(
            options,
            parameters,
            self._pending,
            self._writes,
            self._numbers,
            self._counts,
            owner=lambda key: owners[owner_index(key, len(owners))],
            switch=To(),
        )

    # -------------------------------------------------------------------------- queries

    def tables(self) -> Iterator[TableWrite]:
        """Partition, routes and the sampling of reads."""
        yield from self.forwarding.partition()
        yield from self.forwarding.routes()
        share = self.options.counted_share if self.topology.has_servers else 0.0
        yield SetDefault(
            write=self.forwarding.next_write(),
            table=SAMPLING,
            action="NetkvIngress.sampling.configure",
            params={
                "sample_below": round(share * 65_536),
                "hot_threshold": self.options.hot_threshold,
            },
        )

    def ready(self) -> bool:
        """True once the tables are in and every preloaded key is cached or given up."""
        return self.forwarding.installed and self.cache.settled_all

    def deadline(self) -> Nanoseconds | None:
        """When a message is to be sent or repeated, or the epoch ends."""
        return earlier(self._pending.deadline(), self.cache.epoch_ends)

    def statistics(self) -> dict[str, int]:
        """Gauges of the cache, and counters of its events since the start."""
        return {
            "writes_refused": self.forwarding.refused,
            **self._counts,
            **self.cache.gauges(),
            "messages_repeated": self._outstanding.retries,
            "epoch": self.cache.epoch,
        }

    def cached_count(self) -> int:
        """Number of installed entries."""
        return self.cache.records.cached

    def cached_keys(self) -> list[bytes]:
        """The keys whose entries are installed, the oldest first."""
        return self.cache.cached_keys()

    # -------------------------------------------------------------------------- events

    def finish(self, now: Nanoseconds, switch: str, actions: list[Action]) -> list[Action]:
        """Admit waiting keys, and send the requests that may leave."""
        if self.forwarding.installed:
            self.cache.admit_waiting()
        actions.extend(self._pending.ready(now))
        return actions

    def on_started(self, now: Nanoseconds, saved: bytes | None) -> Iterator[Action]:
        """Fill the tables; begin above all numbers used before (rule 1)."""
        self._numbers.start(now)
        yield from self.forwarding.install(self.tables())

    def on_switch_restarted(self, now: Nanoseconds) -> Iterator[Action]:
        """Fill the tables again; the cache admits all keys again that had an entry."""
        self._pending.clear()
        self.cache.restarted()
        yield Note("switch restarted")
        yield from self.forwarding.install(self.tables())

    def on_other_write(self, now: Nanoseconds, written: TableWritten) -> Iterable[Action]:
        """A write to the lookup table is answered."""
        return self._writes.on_written(now, written)

    def on_tables_installed(self, now: Nanoseconds) -> Iterable[Action]:
        """The switch forwards: begin an epoch, if it counts reads (rule 2)."""
        if self.topology.has_servers:
            self.cache.begin_epoch(now)
        return ()

    def on_preload(self, now: Nanoseconds, keys: tuple[bytes, ...]) -> Iterator[Action]:
        """Cache `keys` in this order, as far as there is room; skip keys of other switches."""
        for key in keys:
            if len(key) != KEY_BYTES:
                raise ValueError(f"Cannot preload {key.hex()}: a key has {KEY_BYTES} bytes.")
            if self.topology.is_local(key):
                self.cache.preload(key)
            else:
                self._counts["preloads_elsewhere"] += 1
        return iter(())

    def on_hot_keys(self, now: Nanoseconds, keys: tuple[bytes, ...]) -> Iterator[Action]:
        """Queue the keys of this switch for admission."""
        for key in keys:
            if self.topology.is_local(key):
                self._counts["hot_keys_known"] += 1
                self.cache.report_known(key)
        return iter(())

    def on_digest(self, now: Nanoseconds, digest: Digest) -> Iterator[Action]:
        """Queue a hot key for admission."""
        report = decode_hot_key(digest)
        self._counts["hot_keys_reported"] += 1
        if self.topology.is_local(report.key):
            self.cache.report(report)
        else:
            self._counts["hot_keys_elsewhere"] += 1
        return iter(())

    def on_packet_in(self, now: Nanoseconds, packet: PacketIn) -> Iterable[Action]:
        """A reply to the controller, or OUTGROWN: a value no longer fits its entry."""
        try:
            datagram = decode(packet.frame)
        except MalformedFrameError:
            self._counts["malformed_frames"] += 1
            return ()
        message = datagram.message
        if message.op is Op.OUTGROWN:
            reply = message.reply(cache_metadata=message.cache_metadata)
            send = SendFrame(encode(reply, destination=datagram.source))
            return (send, *self.cache.on_outgrown(message))
        if message.sender == CONTROLLER_SENDER:
            return self._pending.on_reply(now, message)
        self._counts["stray_replies"] += 1
        return ()

    def on_timer(self, now: Nanoseconds) -> Iterator[Action]:
        """Retransmit or give up requests; begin the next epoch if it is due."""
        yield from self._pending.on_timer(now)
        ends = self.cache.epoch_ends
        if ends is not None and now >= ends:
            self.cache.begin_epoch(now)
