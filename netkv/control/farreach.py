"""FarReach: a write-back cache that loses nothing (docs/farreach.md, section "Controller").

The data plane serves reads and writes by itself (p4/farreach); this is the slow path beside it.
Its parts are in `write_back`, each with its rules; here is what is tried next, and who hears of
what.
"""

# Handlers take what the interface gives, needed or not.
# ruff: noqa: ARG002

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

from netkv.control.base import (
    Action,
    CloneSession,
    Event,
    InsertEntry,
    Nanoseconds,
    Note,
    PacketIn,
    Recovering,
    Saved,
    SendFrame,
    TableWrite,
    TableWritten,
)
from netkv.control.epochs import Epochs
from netkv.control.messages import (
    CONTROLLER_SENDER,
    Datagram,
    MalformedFrameError,
    Op,
    Status,
    decode,
    encode,
)
from netkv.control.nocache import NoCache
from netkv.control.numbers import Numbers
from netkv.control.outstanding import Outstanding
from netkv.control.places import Places
from netkv.control.topology import CPU_PORT, Topology
from netkv.control.write_back import loading
from netkv.control.write_back.admission import Admission
from netkv.control.write_back.clients import Clients, client_of
from netkv.control.write_back.contention import Contention
from netkv.control.write_back.entries import FarReachOptions, State
from netkv.control.write_back.eras import Eras
from netkv.control.write_back.eviction import Eviction
from netkv.control.write_back.horizon import Horizon
from netkv.control.write_back.keeper import Keeper
from netkv.control.write_back.questions import Questions
from netkv.control.write_back.queue import Queue
from netkv.control.write_back.record import record_of
from netkv.control.write_back.recovery import Recovery, Step
from netkv.control.write_back.release import Releases
from netkv.control.write_back.saved import SavedError, from_bytes
from netkv.control.write_back.settings import Settings
from netkv.control.write_back.shared import Shared
from netkv.control.write_back.snapshot import Snapshots, Taken
from netkv.control.write_back.validity import Validity
from netkv.control.write_back.writes import Writes

PORTS = "NetkvIngress.ingress_pipeline.ports"


class FarReach(NoCache):
    """Cache management, snapshots and recovery (FarReach, sections III-B to III-D).

    Rules (those of the parts, and)
    -----
    1. A switch that has (re)started, and one whose controller is a new one, is empty: `Recovery`.
       Nothing else is begun before the switch serves.
    2. A snapshot begins a period after the one before has begun, and not before that is saved.
    """

    name: ClassVar[str] = "farreach"

    def __init__(self, topology: Topology, options: FarReachOptions | None = None) -> None:
        """`topology`: the hosts at the switch; `options`: see there."""
        super().__init__(topology)
        self.options = options = options or FarReachOptions()
        self._counts: Counter[str] = Counter()
        self._next_snapshot: Nanoseconds | None = None
        numbers = Numbers(options.numbers_per_second)
        self._outstanding = Outstanding(numbers, options.timeouts)
        writes = Writes(self._next_write)
        self._shared = shared = Shared(
            options,
            topology,
            Places(options.capacity),
            Questions(self._outstanding, options.tries, self._counts),
            writes,
            numbers,
            self._counts,
            lambda life: self._eras.heard(life),
        )
        self._places, self._questions = shared.places, shared.questions
        self._keeper = Keeper()
        self._settings = Settings(writes, options.sample_rate, options.hot_threshold)
        self._epochs = Epochs(options.epoch)
        self._eras = Eras(self._keeper, self._settings, options.era)
        self._validity = Validity(shared.questions)
        self._snapshots = Snapshots(shared, self._validity, self._taken)
        self._queue = Queue(shared, lambda key, cached: self._recovery.settled(key, cached=cached))
        self._admission = Admission(shared, self._validity, self._queue)
        self._eviction = Eviction(
            shared,
            self._validity,
            on_frozen=self._snapshots.on_frozen,
            admit=self._admission.begin,
        )
        self._contention = Contention(shared, self._eviction)
        self._queue.connect(self._admission, self._eviction, self._contention)
        self._clients = Clients(
            self._keeper,
            life=lambda: self._settings.life,
            is_open=lambda: self._settings.is_open,
            arrives=lambda address: self._recovery.include(address),
            leaves=self._client_left,
        )
        self._releases = Releases(shared.questions, self._released)
        self._horizon = Horizon(shared, self._clients.present, self._queue.dismiss)
        self._recovery = Recovery(
            shared,
            self._keeper,
            self._settings,
            self._clients,
            opened=self._opened,
            readmit=self._queue.readmit,
        )

    # ------------------------------------------------------------------ what users see

    def tables(self) -> Iterator[TableWrite]:
        """Partition, routes, pipelines of ports, and clone sessions for answers."""
        yield from super().tables()
        hosts = (*self.topology.clients, *self.topology.servers)
        ports = sorted({host.port for host in hosts})
        for port in ports:
            yield InsertEntry(
                write=self._next_write(),
                table=PORTS,
                match={"port": port},
                action="NetkvIngress.ingress_pipeline.of_pipeline",
                params={"pipeline": port % self.options.pipelines},
            )
        for port in (*ports, CPU_PORT):
            yield CloneSession(self._next_write(), session=port, port=port)

    def ready(self) -> bool:
        """True once the switch serves, and every key that should be cached is, or is given up."""
        return self._recovery.step is Step.DONE and not self._queue.wanted

    def deadline(self) -> Nanoseconds | None:
        """When something is to be sent or repeated, or a period ends."""
        times = (
            self._questions.deadline(),
            self._snapshots.deadline(),
            self._next_snapshot if self._may_take() else None,
            self._epochs.ends,
            self._eras.deadline(),
            self._keeper.deadline(),
            self._recovery.deadline(),
        )
        return min((time for time in times if time is not None), default=None)

    def statistics(self) -> dict[str, int]:
        """Gauges of the cache, and counters of what has happened to it since the start."""
        return {
            **self._counts,
            "writes_refused": self._refused + self._shared.writes.refused,
            "cached": self._places.cached,
            "in_flight": self._places.in_flight,
            "waiting": len(self._queue),
            "free_entries": self._places.free_entries,
            "messages_repeated": self._outstanding.retries + self._snapshots.loads_repeated,
            "epoch": self._epochs.current,
            "life": self._settings.life,
            "clients": len(self._clients.present()),
            "saves": self._keeper.saves,
            "snapshot_records": len(self._keeper.records),
            "snapshot_duration_us": self._snapshots.duration // 1000,
            "recoveries": self._recovery.completed,
        }

    def cached_keys(self) -> list[bytes]:
        """The keys whose entries are valid, the oldest first."""
        return [entry.key for entry in self._places if entry.state is State.CACHED]

    def clients_present(self) -> list[int]:
        """The first client of each process that is there, as far as is known."""
        return [client_of(address) for address in self._clients.present()]

    # -------------------------------------------------------------------------- events

    def handle(self, now: Nanoseconds, event: Event) -> list[Action]:
        """Take one event; then start on what waits, and send what may leave."""
        actions = super().handle(now, event)
        actions.extend(self._pump(now))
        actions.extend(self._questions.ready(now))
        return actions

    def on_started(self, now: Nanoseconds, saved: bytes | None) -> Iterator[Action]:
        """The first event: recover what another controller has saved, if there was one."""
        self._outstanding.numbers.start(now)
        yield from super().on_started(now, saved)
        try:
            state = from_bytes(saved) if saved is not None else None
        except SavedError as error:
            state = None
            yield Note("what was saved is refused", {"because": str(error)})
        if state is not None:
            yield Recovering()
            self._keeper.restore(state)
            self._snapshots.go_above(state.snapshot)
        self._recovery.begin(now, (), first=state is None)

    def on_switch_restarted(self, now: Nanoseconds) -> Iterator[Action]:
        """The switch is empty: recover. What waited for a place still does."""
        frozen = self._recovery.unfinished()
        frozen += [entry.frozen for entry in self._places if entry.frozen and entry.is_restoring]
        self._queue.switch_restarted()
        self._releases.pause()
        for forgotten in (
            self._questions,
            self._shared.writes,
            self._places,
            self._validity,
            self._snapshots,
            self._eviction,
            self._contention,
            self._settings,
        ):
            forgotten.clear()
        self._epochs.pause()
        self._eras.pause()
        self._keeper.forget()
        self._clients.resave()
        self._next_snapshot = None
        yield from super().on_switch_restarted(now)
        yield Recovering()
        self._recovery.begin(now, frozen, first=False)

    def on_table_written(self, now: Nanoseconds, written: TableWritten) -> Iterator[Action]:
        """An initial entry, or something of a part."""
        were_in = self.tables_in()
        yield from super().on_table_written(now, written)
        yield from self._shared.writes.on_written(now, written)
        if self.tables_in() and not were_in:
            yield from self._recovery.tables_in(now)

    def on_saved(self, now: Nanoseconds, saved: Saved) -> Iterator[Action]:
        """A save is answered."""
        yield from self._keeper.on_saved(now, saved)

    def on_preload(self, now: Nanoseconds, keys: tuple[bytes, ...]) -> Iterator[Action]:
        """Cache `keys` in this order, as far as there is room."""
        self._queue.preload(keys)
        return iter(())

    def on_packet_in(self, now: Nanoseconds, packet: PacketIn) -> Iterator[Action]:
        """A frame of the switch, a server or a client."""
        loaded = loading.read(packet.frame)
        if loaded is not None:
            yield from self._snapshots.on_loaded(now, loaded)
            return
        try:
            datagram = decode(packet.frame)
        except MalformedFrameError:
            self._counts["malformed_frames"] += 1
            return
        message = datagram.message
        if message.op is Op.OFFER:
            yield self._on_offer(datagram)
        elif message.op is Op.ORIGINAL:
            yield from self._snapshots.on_original(now, message)
        elif message.op is Op.HELLO:
            yield from self._clients.hello(datagram)
        elif message.op is Op.BYE and not self._recovery.holds(datagram.source):
            yield from self._clients.bye(datagram)
        elif message.sender == CONTROLLER_SENDER:
            yield from self._questions.on_reply(now, message)

    def on_timer(self, now: Nanoseconds) -> Iterator[Action]:
        """Repeat or give up messages; begin the next epoch."""
        yield from self._questions.on_timer(now)
        yield from self._snapshots.on_timer(now)
        self._recovery.on_timer(now)
        ends = self._epochs.ends
        if ends is not None and now >= ends:
            self._settings.set_epoch(self._epochs.begin(now))

    # -------------------------------------------------------------- what follows from it

    def _on_offer(self, datagram: Datagram) -> Action:
        """A server says that a key is hot: it comes in, or contends for a place, or not now."""
        message = datagram.message
        self._counts["offers"] += 1
        record = record_of(message)
        if record is not None:
            self._eras.heard(record.life)
        status = Status.OK
        if record is None or not self._queue.offer(record, serving=self._recovery.serving):
            status = Status.REJECTED
            self._counts["offers_rejected"] += 1
        return SendFrame(encode(message.reply(status=status), destination=datagram.source))

    def _opened(self, now: Nanoseconds) -> Iterator[Action]:
        """The switch serves."""
        self._settings.set_epoch(self._epochs.begin(now))
        self._eras.begin(now)
        self._horizon.restart(now)
        self._releases.resume()
        if self.options.snapshot_period:
            self._next_snapshot = now + self.options.snapshot_period
        yield from self._clients.answer()

    def _taken(self, now: Nanoseconds, taken: Taken) -> Iterator[Action]:
        """A snapshot is complete: it is in force when it is saved."""
        self._keeper.snapshot, self._keeper.records = taken.number, taken.records

        def kept(now: Nanoseconds) -> Iterator[Action]:
            self._counts["snapshots"] += 1
            self._horizon.taken(taken)
            self._releases.begin(taken, self._clients.present())
            yield from self._horizon.look(now)

        self._keeper.save(kept)
        return iter(())

    def _released(self, now: Nanoseconds, address: int, point: Nanoseconds) -> Iterator[Action]:
        """A client has heard a RELEASE."""
        self._horizon.heard(address, point)
        yield from self._horizon.look(now)

    def _client_left(self, address: int) -> None:
        self._releases.forget(address)
        self._recovery.leave(address)

    # ----------------------------------------------------------------- what comes next

    def _pump(self, now: Nanoseconds) -> Iterator[Action]:
        """Start on what waits, as far as that is possible now."""
        if self._recovery.serving:
            self._queue.start()
            yield from self._eras.pump(now)
            if self._next_snapshot is not None and now >= self._next_snapshot and self._may_take():
                self._next_snapshot = now + self.options.snapshot_period
                yield from self._snapshots.begin(now)
        yield from self._recovery.pump(now)
        yield from self._keeper.pump(now)
        yield from self._settings.pump(now)

    def _may_take(self) -> bool:
        """Whether a snapshot may begin."""
        return self._recovery.step is Step.DONE and self._snapshots.idle and not self._keeper.busy
