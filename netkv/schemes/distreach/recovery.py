"""Recovery of a chain (docs/schemes/distreach.md, "Recovery"; the paper's IV-B and IV-D).

The first start of a chain is a recovery without records.
"""

# Callbacks have the parameters of their type, whether they use them or not.
# ruff: noqa: ARG001, ARG002

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import partial
from typing import TypeVar

from netkv.control.base import (
    SECOND,
    Action,
    Nanoseconds,
    Note,
    ReadTable,
    Recovered,
    Recovering,
    TableRead,
)
from netkv.control.bulk import Bulk
from netkv.kits.write_back.context import LOOKUP, Context
from netkv.kits.write_back.loading import Loaded, write_load
from netkv.kits.write_back.record import Record
from netkv.model.messages import MAX_CACHED_BYTES, Message, Op
from netkv.model.topology import KEY_BYTES
from netkv.schemes.distreach.chain_switch import ChainSwitch, Content, Mode
from netkv.schemes.distreach.incarnations import Incarnations
from netkv.schemes.distreach.phases import RECOVERY_PHASES
from netkv.schemes.distreach.refilling import Refilling

_VALID = 0x40
"""Bit of a report: the entry is valid or to be evicted. A plain number, since it is tested for
every record."""
_INITIAL = (0, 0)
"""The sequence of a record that was never written."""

T = TypeVar("T")


class Step(IntEnum):
    """The steps of a recovery; the comments are what each waits for."""

    WAIT = auto()  # news of every switch of the chain
    HOLD = auto()  # the switches with records hold requests for them; an incarnation is saved
    READ = auto()  # the lookup tables of these switches
    LOAD = auto()  # the records of one of them
    UPDATE = auto()  # the servers have these records
    TABLES = auto()  # the tables of restarted switches
    CLEAR = auto()  # not all switches run: the lookup tables are empty
    ADMIT = auto()  # all switches have the records
    OPEN = auto()  # all switches serve, the tail first
    DONE = auto()


@dataclass(frozen=True, slots=True)
class _Entry:
    key: bytes
    entry: int
    generation: int


class Recovery:
    """Restores a chain in which a switch has lost its state, or whose controller is new.

    Rules
    -----
    1. First every switch with records holds requests for them. Then the tail gets a new
       incarnation, in which it is the head: it serves all other keys meanwhile. A tail that has
       restarted first gets the lookup entries of the records, so that it holds requests, too. Until
       its entries are filled, its incarnation says that it has no records (`ChainSwitch`).
    2. The records of the switch with records that is nearest to the tail are loaded and sent to the
       servers. Until the servers have all of them, no entry is changed: if another switch or the
       controller fails meanwhile, the recovery begins again with the switches that are left.
    3. If all switches run, the records are admitted to all of them again. None is the latest one,
       since a write may get to its server until the entry is filled: as after any admission, the
       first read of the key goes to the server.
    4. If a switch stays down, all entries are removed, and the tail opens as the head, without a
       cache. The keys are admitted when all switches run.
    5. The switches open from the tail up. So what one of them lets pass finds the next one open.
    6. Each change of a switch of the chain begins the recovery again. Answers to what was asked
       before are ignored.
    """

    def __init__(
        self,
        context: Context,
        switches: Sequence[ChainSwitch],
        incarnations: Incarnations,
        *,
        next_read: Callable[[], int],
        opened: Callable[[Nanoseconds], Iterable[Action]],
        readmit: Callable[[bytes], None],
    ) -> None:
        """`switches`: from the head to the tail. `next_read`: numbers for reads of tables. `opened`
        is called when the chain serves; `readmit` queues a key for admission."""
        self._context = context
        self._switches = tuple(switches)
        self._incarnations = incarnations
        self._next_read = next_read
        self._opened = opened
        self._readmit = readmit
        self._attempt = 0
        parameters = context.parameters
        self._loads = Bulk(parameters.timeouts, parameters.max_bulk)
        self._refilling = Refilling(context, self._switches)
        self.step = Step.WAIT
        self.completed = 0
        self.incarnation = 0
        """The incarnation of the chain, and that of its last loss, when it is open."""
        self.loss = 0
        self.whole = False
        """Whether all switches of the chain are in it, when it is open."""
        self.first = True
        """Whether the chain has never been open."""
        self.exposed = False
        """Whether acknowledged writes may be in the switches only."""
        self._keys: dict[bytes, None] = {}
        """Keys to admit when the chain is whole: those of removed entries."""
        self._clear()

    def _clear(self) -> None:
        self._survivors: tuple[ChainSwitch, ...] = ()
        self._waiting: set[str] = set()
        """Switches that have not answered yet."""
        self._new = 0
        """The incarnation that is being set."""
        self._times: list[Nanoseconds] = []
        self._reads: dict[int, ChainSwitch] = {}
        self._entries: list[_Entry] = []
        self._loaded: list[Record] = []
        self._queue: deque[int] = deque()
        self._restoring = 0
        self._restored = 0
        self._routing: set[str] = set()
        """Restarted switches above the tail that let requests pass."""
        self._early: bool | None = None
        """Whether a restarted tail has been made to hold requests for the records, as far as it
        can; False: that is under way, None: it has not begun."""
        self._waits_for: set[bytes] = set()
        self._readmitted = 0
        self._reports = False
        """Whether the end is to be reported."""
        self._loads.begin(0, lambda _: b"")
        self._refilling.clear()

    @property
    def tail(self) -> ChainSwitch:
        """The last switch."""
        return self._switches[-1]

    @property
    def is_open(self) -> bool:
        """Whether the chain serves."""
        return self.step is Step.DONE

    @property
    def serving(self) -> bool:
        """Whether the chain serves with all of its switches, so that keys may be cached."""
        return self.is_open and self.whole

    @property
    def repeated(self) -> int:
        """Number of repeated bulk messages."""
        return self._loads.repeated + self._refilling.repeated

    # -------------------------------------------------------------------------- begin

    def begin(self, now: Nanoseconds, cached: Iterable[bytes]) -> Iterator[Action]:
        """Begin, or begin again, after a change of a switch. `cached`: keys that were cached."""
        self._attempt += 1
        self._keys.update(dict.fromkeys(cached))
        self._clear()
        self.step = Step.WAIT
        if any(switch.content is Content.UNKNOWN for switch in self._switches):
            return
        self._times = [now]
        self._survivors = tuple(it for it in self._switches if it.content is Content.RECORDS)
        self._reports = not self.first or bool(self._survivors)
        if self._reports:
            yield Recovering(self.tail.name)
        if self.exposed and not self._survivors:
            self.exposed = False
            what = (
                "all switches of a chain have lost their records: acknowledged writes may be lost"
            )
            yield Note(what, {"tail": self.tail.name})
        self.step = Step.HOLD
        self._waiting = {switch.name for switch in self._survivors}
        for switch in self._survivors:
            switch.set_mode(Mode.HOLD, self._guard(partial(self._held, switch)))
        self._incarnations.take(self._guard_taken(self._numbered))

    def continue_after(self) -> None:
        """An earlier controller has opened the chain."""
        self.first = False
        self.exposed = True

    def _guard(
        self, call: Callable[[Nanoseconds], Iterable[Action]]
    ) -> Callable[[Nanoseconds], Iterable[Action]]:
        """The call, which has no effect if the recovery has begun again meanwhile."""
        attempt = self._attempt

        def guarded(now: Nanoseconds) -> Iterable[Action]:
            return call(now) if self._attempt == attempt else ()

        return guarded

    def _guard_taken(
        self, call: Callable[[Nanoseconds, int], Iterable[Action]]
    ) -> Callable[[Nanoseconds, int], Iterable[Action]]:
        attempt = self._attempt

        def guarded(now: Nanoseconds, incarnation: int) -> Iterable[Action]:
            return call(now, incarnation) if self._attempt == attempt else ()

        return guarded

    def _held(self, switch: ChainSwitch, now: Nanoseconds) -> Iterator[Action]:
        self._waiting.discard(switch.name)
        yield from self._read_if_held(now)

    def _numbered(self, now: Nanoseconds, incarnation: int) -> Iterator[Action]:
        self._new = incarnation
        yield from self._read_if_held(now)

    def _read_if_held(self, now: Nanoseconds) -> Iterator[Action]:
        if self._waiting or not self._new:
            return
        if self.tail in self._survivors:
            yield from self._make_tail_head(self._read)
        else:
            yield from self._read(now)

    def _make_tail_head(self, then: Callable[[Nanoseconds], Iterable[Action]]) -> Iterator[Action]:
        return self.tail.set_incarnation(self._new, self._guard(then), position=0, loss=self._loss)

    @property
    def _loss(self) -> int:
        """The incarnation of the last loss, from now on. A chain that was never open has lost
        nothing: 0, so that its clients need not know an incarnation of this chain."""
        return 0 if self.first and not self._survivors else self._new

    # --------------------------------------------------------------------------- load

    def _read(self, now: Nanoseconds) -> Iterator[Action]:
        self.step = Step.READ
        for switch in (*self._survivors, *self._partly_written()):
            read = self._next_read()
            self._reads[read] = switch
            yield ReadTable(read, LOOKUP, switch.name)
        yield from self._load_if_read(now)

    def _partly_written(self) -> Iterator[ChainSwitch]:
        """A restarted tail, if an earlier attempt has begun to write its lookup table."""
        if self.tail.content is Content.EMPTY and self.tail.lookup:
            yield self.tail

    def on_table_read(self, now: Nanoseconds, read: TableRead) -> Iterator[Action]:
        """A lookup table was read; nothing happens if it is of another part."""
        switch = self._reads.pop(read.read, None)
        if switch is None:
            return
        if read.error:
            # Without it the recovery cannot go on: the table may name the only copies of records.
            self._reads[read.read] = switch
            yield Note("a lookup table cannot be read", {"of": switch.name, "error": read.error})
            return
        switch.lookup = {
            _key(it.match["key"]): (it.params["entry"], it.params["generation"])
            for it in read.entries
        }
        yield from self._load_if_read(now)

    def _load_if_read(self, now: Nanoseconds) -> Iterator[Action]:
        if self._reads:
            return
        self.step = Step.LOAD
        if self._survivors:
            source = self._survivors[-1]
            self._entries = [_Entry(key, *at) for key, at in source.lookup.items()]
            self._loads.switch = source.name
        self._loads.begin(len(self._entries), self._load)
        yield from self._loads.send(now)
        yield from self._update_if_loaded(now)

    def _load(self, index: int) -> bytes:
        it = self._entries[index]
        return write_load(index, it.key, it.entry, it.generation, self._attempt)

    def on_loaded(self, now: Nanoseconds, loaded: Loaded) -> Iterator[Action]:
        """A LOAD is answered."""
        index = loaded.position
        if (
            self.step is not Step.LOAD
            or loaded.number != self._attempt
            or not 0 <= index < len(self._entries)
            or self._entries[index].generation != loaded.generation
            or not self._loads.answered(now, index)
        ):
            return
        if loaded.ok and loaded.bits & _VALID and len(loaded.record.value) <= MAX_CACHED_BYTES:
            self._loaded.append(loaded.record)
        yield from self._loads.send(now)
        yield from self._update_if_loaded(now)

    def _update_if_loaded(self, now: Nanoseconds) -> Iterator[Action]:
        if self._loads.left:
            return
        self._times.append(now)
        self.step = Step.UPDATE
        self._queue.extend(range(len(self._loaded)))
        yield from self._restore(now)

    # ------------------------------------------------------------------------- update

    def _restore(self, now: Nanoseconds) -> Iterator[Action]:
        """Send records to their servers. A record that is neither the latest nor dirty is not sent:
        the server has a later one."""
        context = self._context
        while self._queue and self._restoring < context.parameters.max_bulk:
            index = self._queue.popleft()
            record = self._loaded[index]
            initial = (record.incarnation, record.number) == _INITIAL
            if initial or not (record.latest or record.dirty):
                continue
            self._restoring += 1
            context.pending.send(
                Op.RESTORE,
                record.key,
                partial(self._on_restored, self._attempt),
                to=context.owner(record.key),
                stamp=record.stamp,
                value=record.value,
                insist=True,
            )
        if not self._restoring:
            yield from self._updated(now)

    def _on_restored(
        self, attempt: int, now: Nanoseconds, reply: Message | None
    ) -> Iterator[Action]:
        if attempt != self._attempt or reply is None or reply.stamp is None:
            return
        self._context.observe_incarnation(reply.stamp.incarnation)
        self._restoring -= 1
        self._restored += 1
        yield from self._restore(now)

    def _updated(self, now: Nanoseconds) -> Iterator[Action]:
        """The servers have every acknowledged write: entries may be changed."""
        self._times.append(now)
        self.step = Step.TABLES
        self.exposed = False
        self._keys.update(dict.fromkeys(record.key for record in self._loaded))
        yield from self.pump(now)

    def pump(self, now: Nanoseconds) -> Iterator[Action]:
        """Continue with switches that have got their tables; end when all keys are settled."""
        if self.step is Step.DONE:
            yield from self._finish(now)
            return
        if Step.WAIT < self.step <= Step.TABLES:
            self._let_pass()
        if Step.LOAD <= self.step <= Step.TABLES:
            yield from self._hold_early(now)
        running = [it for it in self._switches if it.content is not Content.DOWN]
        ready = self.tail in running and all(switch.runs for switch in running)
        if self.step is Step.TABLES and ready and self._early is not False:
            whole = len(running) == len(self._switches)
            yield from self._admit(now) if whole else self._empty(now)

    # ------------------------------------------------------------- restarted switches

    def _let_pass(self) -> None:
        """A restarted switch above the tail lets requests pass."""
        for switch in self._switches[:-1]:
            empty = switch.content is Content.EMPTY and switch.runs
            if empty and switch.name not in self._routing:
                self._routing.add(switch.name)
                switch.set_mode(Mode.HOLD, lambda _: ())

    def _hold_early(self, now: Nanoseconds) -> Iterator[Action]:
        """Let a restarted tail hold requests for the records and serve the others."""
        tail = self.tail
        if self._early is None and self._survivors and tail.content is Content.EMPTY and tail.runs:
            self._early = False
            self._refilling.choose(self._survivors[-1].lookup)
            held = self._guard(self._holds_early)
            yield from self._refilling.write_lookups(now, (tail,), held)

    def _holds_early(self, now: Nanoseconds) -> Iterator[Action]:
        if self._refilling.refused:
            # It would let requests for these keys pass: it has to stay closed.
            self._early = True
            yield from self.pump(now)
            return
        yield from self.tail.set_incarnation(
            self._new,
            self._guard(self._serves_early),
            position=0,
            loss=self._loss,
            previous=self._new,
        )

    def _serves_early(self, now: Nanoseconds) -> Iterator[Action]:
        def serves(now: Nanoseconds) -> Iterator[Action]:
            self._early = True
            yield from self.pump(now)

        self.tail.set_mode(Mode.HOLD, self._guard(serves))
        return iter(())

    # --------------------------------------------------- without a switch that stays down

    def _empty(self, now: Nanoseconds) -> Iterator[Action]:
        """Remove all entries."""
        self.step = Step.CLEAR
        self._refilling.assign(())
        running = [it for it in self._switches if it.content is not Content.DOWN]
        removed = self._guard(self._open_alone)
        yield from self._refilling.write_lookups(now, running, removed)

    def _open_alone(self, now: Nanoseconds) -> Iterator[Action]:
        """The tail opens as the head."""
        self.step = Step.OPEN
        if self.tail in self._survivors:
            yield from self._open_tail(now)
        else:
            yield from self._make_tail_head(self._open_tail)

    def _open_tail(self, now: Nanoseconds) -> Iterator[Action]:
        self.tail.set_mode(Mode.OPEN, self._guard(partial(self._done, whole=False)))
        return iter(())

    # ---------------------------------------------------------------- with all switches

    def _admit(self, now: Nanoseconds) -> Iterator[Action]:
        """Write the lookup tables."""
        self.step = Step.ADMIT
        tail_was_empty = self.tail.content is Content.EMPTY
        for switch in self._switches:
            # From now on it may have entries; the servers have all records.
            switch.content = Content.RECORDS
        self._refilling.choose(record.key for record in self._loaded)
        for key in self._refilling.assign(self._loaded):
            del self._keys[key]
        following = self._hold_tail if tail_was_empty and self._survivors else self._take
        written = self._guard(following)
        yield from self._refilling.write_lookups(now, self._switches, written)

    def _hold_tail(self, now: Nanoseconds) -> Iterator[Action]:
        """The keys are held at all switches: a restarted tail may serve the others, if it does not
        yet."""

        def hold(now: Nanoseconds) -> Iterator[Action]:
            self.tail.set_mode(Mode.HOLD, self._guard(self._take))
            return iter(())

        yield from self._make_tail_head(hold)

    def _take(self, now: Nanoseconds) -> Iterator[Action]:
        self._incarnations.take(self._guard_taken(self._join))
        return iter(())

    def _join(self, now: Nanoseconds, incarnation: int) -> Iterator[Action]:
        """Set the incarnation of the whole chain above the tail. Before entries are filled: so no
        register has a number of an earlier incarnation."""
        self._new = incarnation
        above = self._switches[:-1]
        self._waiting = {switch.name for switch in above}
        for position, switch in enumerate(above):
            joined = self._guard(partial(self._joined, switch))
            yield from switch.set_incarnation(
                incarnation, joined, position=position, loss=self._loss
            )
        if not above:
            yield from self._fill(now)

    def _joined(self, switch: ChainSwitch, now: Nanoseconds) -> Iterator[Action]:
        self._waiting.discard(switch.name)
        if not self._waiting:
            yield from self._fill(now)

    def _fill(self, now: Nanoseconds) -> Iterator[Action]:
        yield from self._refilling.fill(now, self._attempt, self._guard(self._filled))

    def on_filled(self, now: Nanoseconds, switch: str, reply: Message) -> Iterator[Action]:
        """A FILL of the recovery is answered."""
        if self.step is Step.ADMIT:
            yield from self._refilling.on_filled(now, switch, reply, self._attempt)

    def _filled(self, now: Nanoseconds) -> Iterator[Action]:
        """All switches have the records: the tail joins, and does not serve alone any more."""
        self.step = Step.OPEN
        self.exposed = True
        yield from self.tail.set_incarnation(
            self._new,
            self._guard(partial(self._open, len(self._switches) - 1)),
            position=len(self._switches) - 1,
            loss=self._loss,
        )

    def _open(self, position: int, now: Nanoseconds) -> Iterator[Action]:
        following = (
            partial(self._open, position - 1) if position else partial(self._done, whole=True)
        )
        self._switches[position].set_mode(Mode.OPEN, self._guard(following))
        return iter(())

    # ----------------------------------------------------------------------------- end

    def _done(self, now: Nanoseconds, *, whole: bool) -> Iterator[Action]:
        self.step = Step.DONE
        self.incarnation, self.loss = self._new, self._loss
        self.first = False
        self.whole = whole
        self.tail.content = Content.RECORDS
        for filling in self._refilling.take():
            self._readmitted += 1
            self._context.index.mark_cached(filling.entry.generation, cached=True)
        yield from self._opened(now)
        if whole:
            keys, self._keys = self._keys, {}
            for key in keys:
                if key not in self._context.index:
                    self._waits_for.add(key)
                    self._readmit(key)
        for switch in self._switches:
            switch.lookup.clear()
        yield from self._finish(now)

    def settled(self, key: bytes, *, cached: bool) -> None:
        """A key is cached, or its admission is given up."""
        if key in self._waits_for:
            self._waits_for.discard(key)
            self._readmitted += cached

    def _finish(self, now: Nanoseconds) -> Iterator[Action]:
        """Report the recovery, once, when all its keys are settled."""
        if not self._reports or self._waits_for:
            return
        self._reports = False
        self.completed += 1
        times = [*self._times, now]
        spans = zip(RECOVERY_PHASES, times[:-1], times[1:], strict=True)
        yield Recovered(
            phases=tuple((name, (end - begun) / SECOND) for name, begun, end in spans),
            counts={
                "records": len(self._loaded),
                "restored": self._restored,
                "keys_readmitted": self._readmitted,
                "switches": sum(it.content is not Content.DOWN for it in self._switches),
            },
            switch=self.tail.name,
        )

    # ---------------------------------------------------------------------------- time

    def deadline(self) -> Nanoseconds | None:
        """When to repeat a message."""
        if self.step is Step.LOAD:
            return self._loads.deadline()
        return self._refilling.deadline() if self.step is Step.ADMIT else None

    def on_timer(self, now: Nanoseconds) -> Iterator[Action]:
        """Repeat messages without an answer."""
        if self.step is Step.LOAD:
            yield from self._loads.expired(now)
        elif self.step is Step.ADMIT:
            yield from self._refilling.expired(now)


def _key(number: object) -> bytes:
    assert isinstance(number, int), "lookup tables match exactly"
    return number.to_bytes(KEY_BYTES)
