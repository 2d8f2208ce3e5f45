"""Recovery of a switch that has lost its state (docs/farreach.md, "Recovery"; III-D)."""

# What follows from an answer takes what there is to know, needed or not.
# ruff: noqa: ARG002

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import partial

from netkv.control.base import SECOND, Action, Nanoseconds, Note, Recovered
from netkv.control.message_numbers import is_newer
from netkv.control.messages import Message, Op, Stamp
from netkv.control.topology import KEY_BYTES
from netkv.schemes.farreach import RECOVERY_PHASES
from netkv.schemes.farreach.checkpoint import Checkpoint
from netkv.schemes.farreach.clients import Clients
from netkv.schemes.farreach.collection import BEATS, Collection
from netkv.schemes.farreach.context import Context, to_client
from netkv.schemes.farreach.entries import Candidate
from netkv.schemes.farreach.heartbeat import Heartbeat
from netkv.schemes.farreach.record import Record, is_later
from netkv.schemes.farreach.switch_settings import SwitchSettings


class Step(IntEnum):
    """The steps of a recovery."""

    OFF = auto()
    INCARNATION = auto()  # tables, and a new incarnation: saved, then set in the switch
    COLLECT = auto()
    UPDATE = auto()  # servers
    KEEP = auto()  # save that the servers have all records
    TELL = auto()  # clients
    OPEN = auto()  # table write
    READMIT = auto()
    DONE = auto()


@dataclass(frozen=True, slots=True)
class Finds:
    """Result of the collection."""

    newest: dict[bytes, Record]
    """By key: the newest record that a server may lack."""
    preserved: int
    lost: int


class Recovery:
    """From an empty switch to one that serves as before. The first start is the same, without any
    record to recover.

    Rules
    -----
    1. A new incarnation is saved, then set in the switch. Neither it nor the one before it was ever
       used.
    2. The switch stays closed until the servers have the newest record of each key, of all records
       that snapshot, clients and interrupted evictions have.
    3. Records older than the last recovery do not count: the servers have them, or they were lost
       with a client that was given up, and reads may have shown that loss since.
    4. A client drops the collected records when the servers have them (RECOVERED), and not before.
       Clients get RECOVERED, with the new incarnation, before the switch opens, unless they are too
       slow.
    5. A client that is silent for `collect_patience` is given up (`Collection`). A server is never
       given up; a silent one is noted.
    6. If the switch or the controller stops meanwhile, the recovery begins again with a later
       incarnation: clients and snapshot still have their records.
    """

    def __init__(
        self,
        context: Context,
        checkpoint: Checkpoint,
        settings: SwitchSettings,
        clients: Clients,
        *,
        opened: Callable[[Nanoseconds], Iterable[Action]],
        readmit: Callable[[Candidate], None],
    ) -> None:
        """`opened` is called when the switch serves; `readmit` queues keys of the snapshot."""
        self._context = context
        self._checkpoint = checkpoint
        self._settings = settings
        self._clients = clients
        self._opened = opened
        self._readmit = readmit
        interval = max(context.parameters.collect_patience // BEATS, 1)
        self._heartbeat = Heartbeat(context.pending, interval)
        self._collection = Collection(context.pending, self._heartbeat)
        self.step = Step.OFF
        self.completed = 0
        self._frozen: tuple[Record, ...] = ()
        self._finds = Finds({}, 0, 0)

    @property
    def serving(self) -> bool:
        """Whether the switch serves."""
        return self.step >= Step.READMIT

    def begin(self, now: Nanoseconds, frozen: Sequence[Record], *, first: bool) -> None:
        """The switch is empty.

        `frozen`: records of interrupted evictions, which may not have reached a server. `first`:
        there is no earlier state to recover.
        """
        self._first = first
        self._marks = [now]
        self._frozen = tuple(frozen)
        self._collection.clear()
        self._queue: deque[Record] = deque()
        self._restoring = 0
        self._restored = 0
        self._untold: set[int] = set()
        self._silence = 0  # heartbeats since the clients were told
        self._heartbeat.stop()
        self._waits_for: set[bytes] = set()
        self._readmitted = 0
        self._records: Sequence[Record] = ()
        self._finds = Finds({}, 0, 0)
        self._saved = self._tables = False
        self.step = Step.INCARNATION
        self._checkpoint.incarnation = (self._checkpoint.incarnation + 2) % (1 << 32) or 2
        self._checkpoint.save(self._kept)

    def tables_installed(self, now: Nanoseconds) -> Iterator[Action]:
        """The switch has its forwarding tables."""
        self._tables = True
        yield from self._set_incarnation(now)

    def _kept(self, now: Nanoseconds) -> Iterator[Action]:
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
            now, self._checkpoint.incarnation, self._clients.present(), self._collected
        )

    def include(self, address: int) -> None:
        """A client has registered: collect from it, too."""
        self._collection.include(address)

    def leave(self, address: int) -> None:
        """A client has deregistered."""
        self._collection.leave(address)
        self._untold.discard(address)

    def holds(self, address: int) -> bool:
        """Whether the records of this client are not all collected."""
        return self.step is Step.INCARNATION or self._collection.waits_for(address)

    def unfinished(self) -> list[Record]:
        """Collected records that may not have reached a server."""
        if not Step.INCARNATION <= self.step <= Step.UPDATE:
            return []
        return [*self._frozen, *self._collection.records(), *self._finds.newest.values()]

    def _collected(self, now: Nanoseconds) -> Iterator[Action]:
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
        self._finds = Finds(newest, len(preserved), len(lost))
        self._marks.append(now)
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
            context.pending.ask(
                Op.RESTORE,
                record.key,
                self._is_restored,
                to=context.owner(record.key),
                stamp=record.stamp,
                value=record.value,
                insist=True,
            )
        if not self._restoring:
            self.step = Step.KEEP
            self._checkpoint.recovered = self._checkpoint.incarnation
            self._checkpoint.save(self._tell)

    def _is_restored(self, now: Nanoseconds, reply: Message | None) -> Iterator[Action]:
        if reply is not None and reply.stamp is not None:
            self._context.observe_incarnation(reply.stamp.incarnation)
        self._restoring -= 1
        self._restored += 1
        self._restore()
        return iter(())

    def _tell(self, now: Nanoseconds) -> Iterator[Action]:
        """The servers have all records: send RECOVERED to the clients."""
        self.step = Step.TELL
        self._untold = set(self._clients.present())
        self._silence = 0
        self._heartbeat.start(now, self._tell_beats)
        for address in self._checkpoint.clients:
            self._context.pending.ask(
                Op.RECOVERED,
                bytes(KEY_BYTES),
                partial(self._is_told, address),
                to=to_client(address),
                stamp=Stamp(self._checkpoint.incarnation),
                insist=address in self._untold,
            )
        yield from self._open_if_told(now)

    def _is_told(self, address: int, now: Nanoseconds, _reply: Message | None) -> Iterator[Action]:
        self._untold.discard(address)
        yield from self._open_if_told(now)

    def _open_if_told(self, now: Nanoseconds) -> Iterator[Action]:
        if self.step is Step.TELL and not self._untold:
            yield from self._open(now)

    def _open(self, now: Nanoseconds) -> Iterator[Action]:
        self.step = Step.OPEN
        self._heartbeat.stop()
        self._settings.open(self._is_open)
        return iter(())

    # ----------------------------------------------------------------------- re-admit

    def _is_open(self, now: Nanoseconds) -> Iterator[Action]:
        self._marks.append(now)
        self.step = Step.READMIT
        for record in self._records:
            if record.key not in self._waits_for:
                self._waits_for.add(record.key)
                self._readmit(Candidate(record.key, self._finds.newest.get(record.key, record)))
        yield from self._opened(now)
        yield from self._finish(now)

    def settled(self, key: bytes, *, cached: bool) -> None:
        """A key is cached, or will not be for now."""
        if key in self._waits_for:
            self._waits_for.discard(key)
            self._readmitted += cached

    def pump(self, now: Nanoseconds) -> Iterator[Action]:
        """Whether it is done."""
        if self.step is Step.READMIT:
            yield from self._finish(now)

    def _finish(self, now: Nanoseconds) -> Iterator[Action]:
        if self._waits_for:
            return
        self.step = Step.DONE
        if self._first:
            return
        self._marks.append(now)
        self.completed += 1
        spans = zip(RECOVERY_PHASES, self._marks, self._marks[1:], strict=False)
        yield Recovered(
            phases=tuple((name, (end - begun) / SECOND) for name, begun, end in spans),
            counts={
                "snapshot_records": len(self._records),
                "preserved_records": self._finds.preserved,
                "restored": self._restored,
                "clients": len(self._checkpoint.clients),
                "clients_lost": self._finds.lost,
                "keys_readmitted": self._readmitted,
            },
        )

    # ---------------------------------------------------------------------------- time

    def deadline(self) -> Nanoseconds | None:
        """When the switch is to be asked something."""
        return self._heartbeat.deadline()

    def on_timer(self, now: Nanoseconds) -> None:
        """Ask the switch something, if it is time."""
        self._heartbeat.on_timer(now)

    def _tell_beats(self, now: Nanoseconds) -> Iterator[Action]:
        self._silence += 1
        if self._silence > BEATS:
            self._untold.clear()
            yield from self._open_if_told(now)
