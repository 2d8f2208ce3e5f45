"""The control plane of FarReach (docs/schemes/farreach.md, section "Controller").

The switch answers reads and writes without it (p4/farreach). The other modules of this folder are
its parts, each with its rules. This module connects the parts: it passes events to them and starts
operations that are due.
"""

# Handlers have the parameters of the interface, whether they use them or not.
# ruff: noqa: ARG002

from collections import Counter
from collections.abc import Iterable, Iterator

from netkv._engine import Outstanding
from netkv.control.base import (
    Action,
    CloneSession,
    InsertEntry,
    Nanoseconds,
    Note,
    PacketIn,
    Recovering,
    Saved,
    SendFrame,
    TableWrite,
    TableWritten,
    earliest,
)
from netkv.control.cache_index import CacheIndex
from netkv.control.epochs import Epochs
from netkv.control.forwarding import ForwardingControlPlane
from netkv.control.message_numbers import MessageNumbers
from netkv.control.pending_requests import TO_SWITCH, PendingRequests
from netkv.control.table_writes import TableWrites
from netkv.kits.write_back.admission import Admission
from netkv.kits.write_back.admission_queue import AdmissionQueue
from netkv.kits.write_back.contention import Contention
from netkv.kits.write_back.context import CacheSwitch, Context
from netkv.kits.write_back.eviction import Eviction
from netkv.kits.write_back.loading import read_loaded
from netkv.kits.write_back.record import record_of, size_of
from netkv.kits.write_back.removal import Removal
from netkv.kits.write_back.validity import Validity
from netkv.model.messages import (
    CONTROLLER_SENDER,
    Datagram,
    MalformedFrameError,
    Op,
    Status,
    decode,
    encode,
)
from netkv.model.topology import CPU_PORT, Topology
from netkv.schemes.farreach.checkpoint import Checkpoint
from netkv.schemes.farreach.checkpoint_format import SavedError, from_bytes
from netkv.schemes.farreach.clients import Clients, client_of
from netkv.schemes.farreach.gc_watermark import GcWatermark
from netkv.schemes.farreach.incarnation import Incarnations
from netkv.schemes.farreach.options import FarReachOptions
from netkv.schemes.farreach.parameters import FarReachParameters
from netkv.schemes.farreach.recovery import Recovery, Step
from netkv.schemes.farreach.release import Releases
from netkv.schemes.farreach.snapshot import Snapshots, Taken
from netkv.schemes.farreach.switch_settings import SwitchSettings

PORTS = "NetkvIngress.ingress_pipeline.ports"


class FarReach(ForwardingControlPlane):
    """Cache management, snapshots and recovery (FarReach, sections III-B to III-D).

    Rules, in addition to those of the parts
    -----
    1. A switch that has (re)started or has a new controller is empty: `Recovery` begins. No
       other operation begins before the switch serves.
    2. A snapshot begins one period after the beginning of the previous one, but not before that is
       saved.
    """

    def __init__(
        self, topology: Topology, options: FarReachOptions, parameters: FarReachParameters
    ) -> None:
        """`topology`: the hosts and their ports."""
        super().__init__(topology)
        self.options = options
        self.parameters = parameters
        self._counts: Counter[str] = Counter()
        self._next_snapshot: Nanoseconds | None = None
        numbers = MessageNumbers(parameters.numbers_per_second)
        self._outstanding = Outstanding(numbers, parameters.timeouts)
        self._writes = writes = TableWrites(self.forwarding.next_write)
        self._context = context = Context(
            options,
            parameters,
            topology,
            CacheIndex(options.cache_entries),
            PendingRequests(self._outstanding, parameters.tries, self._counts),
            (CacheSwitch(TO_SWITCH, writes),),
            numbers,
            self._counts,
            lambda incarnation: self._incarnations.observe(incarnation),
        )
        self._index, self._pending = context.index, context.pending
        self.pending_requests = {"": self._pending}
        self.table_writes = {"": writes}
        self._checkpoint = Checkpoint()
        self._settings = SwitchSettings(writes, options.counted_share, options.hot_threshold)
        self._epochs = Epochs(options.epoch_ns)
        self._incarnations = Incarnations(
            self._checkpoint, self._settings, parameters.incarnation_length
        )
        self._validity = Validity(context.pending)
        self._snapshots = Snapshots(context, parameters, writes, self._validity, self._taken)
        self._queue = AdmissionQueue(
            context, lambda key, cached: self._recovery.settled(key, cached=cached)
        )
        removal = Removal(context, self._validity)
        self._admission = Admission(context, self._validity, removal, self._queue)
        self._eviction = Eviction(
            context,
            self._validity,
            removal,
            on_frozen=self._snapshots.on_frozen,
            admit=self._admission.begin,
        )
        self._contention = Contention(context, self._eviction)
        self._queue.connect(self._admission, self._eviction, self._contention)
        self._clients = Clients(
            self._checkpoint,
            incarnation=lambda: self._settings.incarnation,
            is_open=lambda: self._settings.is_open,
            arrives=lambda address: self._recovery.include(address),
            leaves=self._client_left,
        )
        self._releases = Releases(context.pending, self._released)
        self._watermark = GcWatermark(context, self._clients.present, self._queue.evict)
        self._recovery = Recovery(
            context,
            parameters.collect_patience,
            self._checkpoint,
            self._settings,
            self._clients,
            opened=self._opened,
            readmit=self._queue.readmit,
        )

    # -------------------------------------------------------------------------- queries

    def tables(self) -> Iterator[TableWrite]:
        """Partition, routes, pipelines of ports, and clone sessions for answers."""
        yield from self.forwarding.partition()
        yield from self.forwarding.routes()
        hosts = (*self.topology.clients, *self.topology.servers)
        ports = sorted({host.port for host in hosts})
        for port in ports:
            yield InsertEntry(
                write=self.forwarding.next_write(),
                table=PORTS,
                match={"port": port},
                action="NetkvIngress.ingress_pipeline.of_pipeline",
                params={"pipeline": port % self.parameters.pipelines},
            )
        for port in (*ports, CPU_PORT):
            yield CloneSession(self.forwarding.next_write(), session=port, port=port)

    def ready(self) -> bool:
        """True once the recovery is done and every preloaded key is cached or given up."""
        return self._recovery.step is Step.DONE and not self._queue.unsettled_preloads

    def deadline(self) -> Nanoseconds | None:
        """When a request is to be sent or repeated, or a period ends."""
        next_snapshot = self._next_snapshot
        if next_snapshot is not None and not self._may_take():
            next_snapshot = None
        return earliest(
            self._pending.deadline(),
            self._snapshots.deadline(),
            next_snapshot,
            self._epochs.ends,
            self._incarnations.deadline(),
            self._checkpoint.deadline(),
            self._recovery.deadline(),
        )

    def statistics(self) -> dict[str, int]:
        """Gauges of the cache, and counters of its events since the start."""
        return {
            **self._counts,
            "writes_refused": self.forwarding.refused + self._writes.refused,
            "cached": self._index.cached,
            "in_flight": self._index.in_flight,
            "waiting": len(self._queue),
            "free_entries": self._index.free_entries,
            "messages_repeated": self._outstanding.retries + self._snapshots.loads_repeated,
            "epoch": self._epochs.current,
            "incarnation": self._settings.incarnation,
            "clients": len(self._clients.present()),
            "saves": self._checkpoint.count,
            "snapshot_records": len(self._checkpoint.records),
            "snapshot_duration_us": self._snapshots.duration // 1000,
            "recoveries": self._recovery.completed,
        }

    def cached_keys(self) -> list[bytes]:
        """The keys with valid entries, the oldest first."""
        return self._index.cached_keys()

    def cached_count(self) -> int:
        """Number of valid entries."""
        return self._index.cached

    def record_bytes(self) -> int:
        """Bytes of the records of admissions, evictions and snapshots since the start."""
        return self._counts["record_bytes"]

    def clients_present(self) -> list[int]:
        """The first client of each process that is present, as far as the controller knows."""
        return [client_of(address) for address in self._clients.present()]

    def limit_in_flight(self, keys: int) -> None:
        """Admissions and evictions under way."""
        self._queue.max_in_flight = keys

    # -------------------------------------------------------------------------- events

    def finish(self, now: Nanoseconds, switch: str, actions: list[Action]) -> list[Action]:
        """Begin operations that are due, and send requests."""
        actions += self._pump(now)
        actions += self._pending.ready(now)
        return actions

    def on_started(self, now: Nanoseconds, saved: bytes | None) -> Iterator[Action]:
        """The first event: recover the state that an earlier controller has saved, if any."""
        self._outstanding.numbers.start(now)
        yield from self.forwarding.install(self.tables())
        try:
            state = from_bytes(saved) if saved is not None else None
        except SavedError as error:
            state = None
            yield Note("saved state is refused", {"because": str(error)})
        if state is not None:
            yield Recovering()
            self._checkpoint.restore(state)
            self._snapshots.go_above(state.snapshot)
        self._recovery.begin(now, (), first=state is None)

    def on_switch_restarted(self, now: Nanoseconds) -> Iterator[Action]:
        """The switch is empty: recover. Keys that wait for an entry still wait."""
        frozen = self._recovery.unfinished()
        frozen += [entry.frozen for entry in self._index if entry.frozen and entry.is_restoring]
        self._queue.switch_restarted()
        self._releases.pause()
        for part in (
            self._pending,
            self._writes,
            self._index,
            self._validity,
            self._snapshots,
            self._eviction,
            self._contention,
            self._settings,
        ):
            part.clear()
        self._epochs.pause()
        self._incarnations.pause()
        self._checkpoint.forget()
        self._clients.resave()
        self._next_snapshot = None
        yield Note("switch restarted")
        yield from self.forwarding.install(self.tables())
        yield Recovering()
        self._recovery.begin(now, frozen, first=False)

    def on_other_write(self, now: Nanoseconds, written: TableWritten) -> Iterable[Action]:
        """A write of a part is answered."""
        return self._writes.on_written(now, written)

    def on_tables_installed(self, now: Nanoseconds) -> Iterable[Action]:
        """The switch forwards: the recovery goes on."""
        return self._recovery.tables_installed(now)

    def on_saved(self, now: Nanoseconds, saved: Saved) -> Iterator[Action]:
        """A save is answered."""
        yield from self._checkpoint.on_saved(now, saved)

    def on_preload(self, now: Nanoseconds, keys: tuple[bytes, ...]) -> Iterator[Action]:
        """Cache `keys` in this order, as far as there is room."""
        self._queue.preload(keys)
        return iter(())

    def on_hot_keys(self, now: Nanoseconds, keys: tuple[bytes, ...]) -> Iterator[Action]:
        """Queue the keys for admission; a switch that recovers drops them, as it rejects offers."""
        if self._recovery.serving:
            self._counts["hot_keys_known"] += len(keys)
            self._queue.report(keys)
        return iter(())

    def on_packet_in(self, now: Nanoseconds, packet: PacketIn) -> Iterable[Action]:
        """A frame of the switch, a server or a client."""
        loaded = read_loaded(packet.frame)
        if loaded is not None:
            return self._snapshots.on_loaded(now, loaded)
        try:
            datagram = decode(packet.frame)
        except MalformedFrameError:
            self._counts["malformed_frames"] += 1
            return ()
        message = datagram.message
        op = message.op
        if op is Op.OFFER:
            return (self._on_offer(datagram),)
        if op is Op.ORIGINAL:
            return self._snapshots.on_original(now, message)
        if op is Op.HELLO:
            return self._clients.hello(datagram)
        if op is Op.BYE and not self._recovery.holds(datagram.source):
            return self._clients.bye(datagram)
        if message.sender == CONTROLLER_SENDER:
            return self._pending.on_reply(now, message)
        return ()

    def on_timer(self, now: Nanoseconds) -> Iterator[Action]:
        """Retransmit or give up requests; begin the next epoch if it is due."""
        yield from self._pending.on_timer(now)
        yield from self._snapshots.on_timer(now)
        self._recovery.on_timer(now)
        ends = self._epochs.ends
        if ends is not None and now >= ends:
            self._settings.set_epoch(self._epochs.begin(now))

    # ----------------------------------------------------------------------- callbacks

    def _on_offer(self, datagram: Datagram) -> Action:
        """A server offers a hot key: accept or reject the offer."""
        message = datagram.message
        self._counts["offers"] += 1
        record = record_of(message)
        if record is not None:
            self._incarnations.observe(record.incarnation)
            self._counts["record_bytes"] += size_of(record)
        status = Status.OK
        if record is None or not self._queue.offer(record, serving=self._recovery.serving):
            status = Status.REJECTED
            self._counts["offers_rejected"] += 1
        return SendFrame(encode(message.reply(status=status), destination=datagram.source))

    def _opened(self, now: Nanoseconds) -> Iterator[Action]:
        """The switch accepts requests from now on: begin epochs, snapshots and RELEASEs."""
        self._settings.set_epoch(self._epochs.begin(now))
        self._incarnations.begin(now)
        self._watermark.restart(now)
        self._releases.resume()
        if self.options.snapshot_period:
            self._next_snapshot = now + self.options.snapshot_period_ns
        yield from self._clients.answer()

    def _taken(self, now: Nanoseconds, taken: Taken) -> Iterator[Action]:
        """A snapshot is complete. It is in force when it is saved."""
        self._checkpoint.snapshot, self._checkpoint.records = taken.number, taken.records

        def saved(now: Nanoseconds) -> Iterator[Action]:
            self._counts["snapshots"] += 1
            self._watermark.taken(taken)
            self._releases.begin(taken, self._clients.present())
            yield from self._watermark.send_if_due(now)

        self._checkpoint.save(saved)
        return iter(())

    def _released(self, now: Nanoseconds, address: int, point: Nanoseconds) -> Iterator[Action]:
        """A client has answered a RELEASE."""
        self._watermark.on_release_answered(address, point)
        yield from self._watermark.send_if_due(now)

    def _client_left(self, address: int) -> None:
        self._releases.forget(address)
        self._recovery.leave(address)

    # ------------------------------------------------------------------ next operations

    def _pump(self, now: Nanoseconds) -> list[Action]:
        """Begin the operations that are due and possible now."""
        actions: list[Action] = []
        if self._recovery.serving:
            self._queue.start()
            actions += self._incarnations.pump(now)
            if self._next_snapshot is not None and now >= self._next_snapshot and self._may_take():
                self._next_snapshot = now + self.options.snapshot_period_ns
                actions += self._snapshots.begin(now)
        actions += self._recovery.pump(now)
        actions += self._checkpoint.pump(now)
        actions += self._settings.pump(now)
        return actions

    def _may_take(self) -> bool:
        """Whether a snapshot may begin."""
        return (
            self._recovery.step is Step.DONE and self._snapshots.idle and not self._checkpoint.busy
        )
