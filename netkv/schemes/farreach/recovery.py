"""Recovery of a switch that has lost its state (docs/schemes/farreach.md, "Recovery"; III-D)."""

# Callbacks have the parameters of their type, whether they use them or not.
# ruff: noqa: ARG002

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import partial

from netkv.control.base import SECOND, Action, Nanoseconds, Note, Recovered
from netkv.control.message_numbers import is_newer
from netkv.kits.write_back.context import Context, to_client
from netkv.kits.write_back.entries import Candidate
from netkv.kits.write_back.record import Record, is_later
from netkv.model.messages import Message, Op, Stamp
from netkv.model.topology import KEY_BYTES
from netkv.schemes.farreach.checkpoint import Checkpoint
from netkv.schemes.farreach.clients import Clients
from netkv.schemes.farreach.collection import MAX_MISSED, Collection
from netkv.schemes.farreach.heartbeat import Heartbeat
from netkv.schemes.farreach.phases import RECOVERY_PHASES
from netkv.schemes.farreach.switch_settings import SwitchSettings


class Step(IntEnum):
    """The steps of a recovery."""

    OFF = auto()
    INCARNATION = auto()  # tables, and a new incarnation: saved, then set in the switch
    COLLECT = auto()  # records from clients
    UPDATE = auto()  # send RESTORE to servers
    SAVE = auto()  # save that the servers have all records
    NOTIFY = auto()  # send RECOVERED to clients
    OPEN = auto()  # table write
    READMIT = auto()  # the keys of the snapshot
    DONE = auto()


@dataclass(frozen=True, slots=True)
class Collected:
    """Result of the collection."""

    newest: dict[bytes, Record]
    """By key: the newest record that a server may lack."""
    preserved: int
    """Number of records that clients have sent."""
    lost: int
    """Number of clients whose list is incomplete."""


class Recovery:
    """Restores the state of an empty switch. The first start of a switch is a recovery without
    records.

    Rules
    -----
    1. A new incarnation is saved, then set in the switch. Neither it nor its predecessor was ever
       used.
    2. The switch stays closed until the servers have, for each key, the newest record among those
       of the snapshot, of the clients and of interrupted evictions.
    3. Records older than the last recovery do not count. The servers have them, or they were lost
       with a client that was given up, and reads may have returned older records since.
    4. A client drops the collected records when the servers have them (RECOVERED), and not before.
       The switch opens when all present clients have answered RECOVERED, which carries the new
       incarnation, or when a time limit is reached.
    5. A client that is silent for `collect_patience` is given up (`Collection`). A server is never
       given up; a silent one is noted.
    6. If the switch or the controller stops meanwhile, the recovery begins again with a later
       incarnation: clients and snapshot still have their records.
    """

    def __init__(
        self,
        context: Context,
        patience: Nanoseconds,
        checkpoint: Checkpoint,
        settings: SwitchSettings,
        clients: Clients,
        *,
        opened: Callable[[Nanoseconds], Iterable[Action]],
        readmit: Callable[[Candidate], None],
    ) -> None:
        """`patience`: time without an answer after which a client is given up. `opened` is called
        when the switch serves; `readmit` queues keys of the snapshot."""
        self._context = context
        self._checkpoint = checkpoint
        self._settings = settings
        self._clients = clients
        self._opened = opened
        self._readmit = readmit
        interval = max(patience // MAX_MISSED, 1)
        self._heartbeat = Heartbeat(context.pending, interval)
        self._collection = Collection(context.pending, self._heartbeat)
        self.step = Step.OFF
        self.completed = 0
        self._frozen: tuple[Record, ...] = ()
        self._collected = Collected({}, 0, 0)

    @property
    def serving(self) -> bool:
        """Whether the switch answers requests."""
        return self.step >= Step.READMIT

    def begin(self, now: Nanoseconds, frozen: Sequence[Record], *, first: bool) -> None:
        """Begin the recovery of an empty switch.

        `frozen`: records of interrupted evictions, which may not have reached a server. `first`:
        whether there is no earlier state to recover.
        """
        self._first = first
        self._phase_times = [now]
        self._frozen = tuple(frozen)
        self._collection.clear()
        self._queue: deque[Record] = deque()
        self._restoring = 0
        self._restored = 0
        self._unnotified: set[int] = set()
        self._silence = 0  # heartbeats since RECOVERED was sent
        self._heartbeat.stop()
        self._waits_for: set[bytes] = set()
        self._readmitted = 0
        self._records: Sequence[Record] = ()
        self._collected = Collected({}, 0, 0)
        self._saved = self._tables = False
        self.step = Step.INCARNATION
        self._checkpoint.incarnation = (self._checkpoint.incarnation + 2) % (1 << 32) or 2
        self._checkpoint.save(self._incarnation_saved)

    def tables_installed(self, now: Nanoseconds) -> Iterator[Action]:
        """The switch has its forwarding tables."""
        self._tables = True
        yield from self._set_incarnation(now)

    def _incarnation_saved(self, now: Nanoseconds) -> Iterator[Action]:
        self._saved = True
        yield from self._set_incarnation(now)

    def _set_incarnation(self, now: Nanoseconds) -> Iterator[Action]:
        if self._saved and self._tables and self.step is Step.INCARNATION:
            following = self._open if self._first else self._collect
            yield from self._settings.set_incarnation(self._checkpoint.incarnation, following)

    # ------------------------------------------------------------------------- collect

    def _collect(self, now: Nanoseconds) -> Iterator[Action]:
        self.step = Step.COLLECT
        self._records = self._checkpoint.records
        yield from self._collection.begin(
            now, self._checkpoint.incarnation, self._clients.present(), self._collection_ended
        )

    def include(self, address: int) -> None:
        """A client has registered: collect its records, too."""
        self._collection.include(address)

    def leave(self, address: int) -> None:
        """A client has deregistered."""
        self._collection.leave(address)
        self._unnotified.discard(address)

    def holds(self, address: int) -> bool:
        """Whether this client may have records that are not collected yet."""
        return self.step is Step.INCARNATION or self._collection.waits_for(address)

    def unfinished(self) -> list[Record]:
        """Collected records that may not have reached a server."""
        if not Step.INCARNATION <= self.step <= Step.UPDATE:
            return []
        return [*self._frozen, *self._collection.records(), *self._collected.newest.values()]

    def _collection_ended(self, now: Nanoseconds) -> Iterator[Action]:
        """The collection has ended: find the newest record of each key."""
        newest: dict[bytes, Record] = {}
        dirty = [record for record in self._records if record.dirty]
        preserved = self._collection.records()
        recovered = self._checkpoint.recovered
        for record in (*dirty, *self._frozen, *preserved):
            if recovered and is_newer(recovered, record.incarnation):
                continue
            known = newest.get(record.key)
            if known is None or is_later(record, known):
                newest[record.key] = record
        lost = self._collection.lost()
        for address, silent in lost:
            if silent:
                self._checkpoint.clients[address] = False
            yield Note("client given up", {"client": to_client(address).name})
        self._collected = Collected(newest, len(preserved), len(lost))
        self._phase_times.append(now)
        self._collection.clear()
        self.step = Step.UPDATE
        self._queue = deque(newest.values())
        self._restore()

    # -------------------------------------------------------------------------- update

    def _restore(self) -> None:
        context = self._context
        while self._queue and self._restoring < context.parameters.max_bulk:
            record = self._queue.popleft()
            self._restoring += 1
            context.pending.send(
                Op.RESTORE,
                record.key,
                self._on_restored,
                to=context.owner(record.key),
                stamp=record.stamp,
                value=record.value,
                insist=True,
            )
        if not self._restoring:
            self.step = Step.SAVE
            self._checkpoint.recovered = self._checkpoint.incarnation
            self._checkpoint.save(self._notify)

    def _on_restored(self, now: Nanoseconds, reply: Message | None) -> Iterator[Action]:
        if reply is not None and reply.stamp is not None:
            self._context.observe_incarnation(reply.stamp.incarnation)
        self._restoring -= 1
        self._restored += 1
        self._restore()
        return iter(())

    def _notify(self, now: Nanoseconds) -> Iterator[Action]:
        """The servers have all records: send RECOVERED to the clients."""
        self.step = Step.NOTIFY
        self._unnotified = set(self._clients.present())
        self._silence = 0
        self._heartbeat.start(now, self._on_heartbeat)
        for address in self._checkpoint.clients:
            self._context.pending.send(
                Op.RECOVERED,
                bytes(KEY_BYTES),
                partial(self._on_notified, address),
                to=to_client(address),
                stamp=Stamp(self._checkpoint.incarnation),
                insist=address in self._unnotified,
            )
        yield from self._open_if_notified(now)

    def _on_notified(
        self, address: int, now: Nanoseconds, _reply: Message | None
    ) -> Iterator[Action]:
        self._unnotified.discard(address)
        yield from self._open_if_notified(now)

    def _open_if_notified(self, now: Nanoseconds) -> Iterator[Action]:
        if self.step is Step.NOTIFY and not self._unnotified:
            yield from self._open(now)

    def _open(self, now: Nanoseconds) -> Iterator[Action]:
        self.step = Step.OPEN
        self._heartbeat.stop()
        self._settings.open(self._on_open)
        return iter(())

    # ----------------------------------------------------------------------- re-admit

    def _on_open(self, now: Nanoseconds) -> Iterator[Action]:
        self._phase_times.append(now)
        self.step = Step.READMIT
        newest = self._collected.newest
        for record in self._records:
            if record.key not in self._waits_for:
                self._waits_for.add(record.key)
                self._readmit(Candidate(record.key, newest.get(record.key, record)))
        yield from self._opened(now)
        yield from self._finish(now)

    def settled(self, key: bytes, *, cached: bool) -> None:
        """A key is cached, or its admission is given up."""
        if key in self._waits_for:
            self._waits_for.discard(key)
            self._readmitted += cached

    def pump(self, now: Nanoseconds) -> Iterable[Action]:
        """End the recovery if all keys are settled."""
        if self.step is Step.READMIT and not self._waits_for:
            return self._finish(now)
        return ()

    def _finish(self, now: Nanoseconds) -> Iterator[Action]:
        if self._waits_for:
            return
        self.step = Step.DONE
        if self._first:
            return
        self._phase_times.append(now)
        self.completed += 1
        times = self._phase_times
        spans = zip(RECOVERY_PHASES, times, times[1:], strict=False)
        yield Recovered(
            phases=tuple((name, (end - begun) / SECOND) for name, begun, end in spans),
            counts={
                "snapshot_records": len(self._records),
                "preserved_records": self._collected.preserved,
                "restored": self._restored,
                "clients": len(self._checkpoint.clients),
                "clients_lost": self._collected.lost,
                "keys_readmitted": self._readmitted,
            },
        )

    # ---------------------------------------------------------------------------- time

    def deadline(self) -> Nanoseconds | None:
        """When to send the next heartbeat."""
        return self._heartbeat.deadline()

    def on_timer(self, now: Nanoseconds) -> None:
        """Send a heartbeat, if it is due."""
        self._heartbeat.on_timer(now)

    def _on_heartbeat(self, now: Nanoseconds) -> Iterator[Action]:
        self._silence += 1
        if self._silence > MAX_MISSED:
            self._unnotified.clear()
            yield from self._open_if_notified(now)
