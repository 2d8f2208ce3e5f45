"""Snapshots: the records of the switch at one moment (docs/schemes/farreach.md, "Snapshot";
III-D)."""

# Callbacks have the parameters of their type, whether they use them or not.
# ruff: noqa: ARG001

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds, Note
from netkv.control.bulk import Bulk
from netkv.control.table_writes import TableWrites
from netkv.kits.write_back.context import Context
from netkv.kits.write_back.entries import Entry, State
from netkv.kits.write_back.loading import Loaded, write_load
from netkv.kits.write_back.record import Record, is_later, record_of, size_of
from netkv.kits.write_back.validity import Validity
from netkv.model.messages import Bit, Message
from netkv.schemes.farreach.parameters import FarReachParameters
from netkv.schemes.farreach.snapshot_tables import SnapshotTables


class Phase(Enum):
    """The phases of a snapshot; the comments are what it waits for."""

    IDLE = auto()
    STILL = auto()  # the answers to changes of validity that are under way
    POINT = auto()  # table writes: pipelines redirect, then take
    LOADING = auto()  # replies to LOAD, then originals
    ENDING = auto()  # table writes: pipelines are idle


@dataclass(frozen=True, slots=True)
class Taken:
    """A complete snapshot."""

    number: int
    point: Nanoseconds
    """A time before the snapshot point, and after all messages received before it."""
    records: tuple[Record, ...]
    generations: tuple[int, ...]
    """Generation of the entry of each record."""
    doubtful: frozenset[tuple[int, int, int]]
    """Generation, incarnation and number of dirty records of which the server may have later
    ones."""

    def dirty(self) -> frozenset[tuple[int, int, int]]:
        """Generation, incarnation and number of all dirty records."""
        return frozenset(
            (generation, record.incarnation, record.number)
            for generation, record in zip(self.generations, self.records, strict=True)
            if record.dirty
        )


Complete: TypeAlias = Callable[[Nanoseconds, Taken], Iterable[Action]]

_OVERWRITTEN = int(Bit.OVERWRITTEN)
_VALID = int(Bit.VALID)


class Snapshots:
    """Takes snapshots, one at a time.

    Rules
    -----
    1. The snapshot point has four steps: the gate of `Validity` is closed and still; all pipelines
       but 0 redirect their writes to 0; pipeline 0 gets the state "taking", which is the point;
       then the others get it. So every write is either before or after the point, whichever
       pipeline it arrives by, and the controller knows which entries are valid at the point.
    2. An entry that was valid at the point is loaded. If it was written since, its original is
       used. The switch sends three copies of the original, possibly before it confirms the point.
    3. If an entry is evicted while the snapshot is taken, the reply to EVICT replaces the LOAD
       under rule 2. If its EVICT was answered before the point, that record is used.
    4. Keys that are admitted after the point are not in the snapshot.
    5. A missing original, an entry that cannot be loaded, or a refused table write make the
       snapshot incomplete. It is counted and dropped: the previous snapshot stays in force.
    """

    def __init__(
        self,
        context: Context,
        parameters: FarReachParameters,
        writes: TableWrites,
        validity: Validity,
        complete: Complete,
    ) -> None:
        """`complete` is called with every complete snapshot."""
        self._context = context
        self._validity = validity
        self._complete = complete
        self._rows = SnapshotTables(writes)
        self._loads = Bulk(parameters.timeouts, parameters.max_bulk, parameters.tries)
        self._others = tuple(range(1, parameters.pipelines))
        self._patience = parameters.original_patience
        self._number = 0
        self.duration: Nanoseconds = 0
        """Time from beginning to end of the last complete snapshot."""
        self.clear()

    def clear(self) -> None:
        """The switch has lost its state: drop the snapshot. The numbering continues."""
        self._phase = Phase.IDLE
        self._rows.clear()
        self._reset()

    def go_above(self, number: int) -> None:
        """Continue the numbering above a number that another controller has used."""
        self._number = max(self._number, number)

    def _reset(self) -> None:
        """Drop the state of the snapshot."""
        self._begun: Nanoseconds = 0
        self._point: Nanoseconds = 0
        self._entries: list[Entry] = []
        self._records: list[Record | None] = []
        self._unsettled: dict[int, int] = {}  # generation → index in the list
        self._overwritten: set[int] = set()  # generations whose original is used
        self._missing: set[int] = set()  # those of them whose original has not arrived
        self._originals: dict[int, Record] = {}
        self._sent: set[int] = set()  # generations of all originals that have arrived
        self._ends: Nanoseconds | None = None
        self._loads.begin(0, self._load)

    @property
    def idle(self) -> bool:
        """Whether no snapshot is being taken."""
        return self._phase is Phase.IDLE

    @property
    def loading(self) -> bool:
        """Whether replies to LOAD are expected."""
        return self._phase is Phase.LOADING

    @property
    def loads_repeated(self) -> int:
        """Number of retransmitted LOADs."""
        return self._loads.repeated

    def deadline(self) -> Nanoseconds | None:
        """When a LOAD is repeated, or the wait for originals ends."""
        if self._phase is not Phase.LOADING:
            return None
        return self._loads.deadline() if self._ends is None else self._ends

    # --------------------------------------------------------------------------- point

    def begin(self, now: Nanoseconds) -> Iterator[Action]:
        """Take a snapshot now."""
        assert self.idle, "one at a time"
        self._number += 1
        self._begun = now
        self._phase = Phase.STILL
        yield from self._validity.close(now, self._still)

    def _still(self, now: Nanoseconds) -> Iterator[Action]:
        """No change of validity is under way: redirect writes."""
        self._phase = Phase.POINT
        yield from self._rows.redirect(now, self._others, self._redirected)

    def _redirected(self, now: Nanoseconds, ok: bool) -> Iterator[Action]:
        """All writes pass pipeline 0: set the snapshot point there."""
        if not ok:
            yield from self._fail(now, "a table write was refused")
            return
        self._point = now
        for entry in self._context.index:
            self._include(entry)
        yield from self._rows.taking(now, (0,), self._number, self._pointed)

    def _include(self, entry: Entry) -> None:
        """Add an entry to the list, if it is valid at the point."""
        frozen = None
        if entry.state in (State.RESTORING, State.RETIRING):
            frozen = entry.frozen
        elif entry.state not in (State.CACHED, State.EVICTING):
            return
        if frozen is None:
            self._unsettled[entry.generation] = len(self._entries)
        self._entries.append(entry)
        self._records.append(frozen)

    def _pointed(self, now: Nanoseconds, ok: bool) -> Iterator[Action]:
        """The point is set in pipeline 0: all writes from now on are after it."""
        if not ok:
            yield from self._fail(now, "a table write was refused")
        else:
            yield from self._rows.taking(now, self._others, self._number, self._spread)

    def _spread(self, now: Nanoseconds, ok: bool) -> Iterator[Action]:
        """No pipeline redirects any more: load the entries."""
        if not ok:
            yield from self._fail(now, "a table write was refused")
            return
        self._phase = Phase.LOADING
        self._validity.number = self._number
        self._validity.open()
        unneeded = [at for at, record in enumerate(self._records) if record is not None]
        self._loads.begin(len(self._entries), self._load, unneeded)
        yield from self._loads.send(now)
        yield from self._end_if_complete(now)

    def _load(self, index: int) -> bytes:
        entry = self._entries[index]
        return write_load(index, entry.key, entry.entry, entry.generation, self._number)

    # ------------------------------------------------------------------------- records

    def on_loaded(self, now: Nanoseconds, loaded: Loaded) -> Iterator[Action]:
        """A LOAD is answered."""
        index = loaded.position
        if (
            self._phase is not Phase.LOADING
            or loaded.number != self._number
            or not 0 <= index < len(self._entries)
            or self._entries[index].generation != loaded.generation
        ):
            return
        self._loads.answered(now, index)
        valid = loaded.ok and loaded.bits & _VALID
        overwritten = bool(loaded.bits & _OVERWRITTEN)
        if valid and loaded.generation in self._unsettled:
            self._context.counts["record_bytes"] += size_of(loaded.record)
        self._settle(loaded.generation, loaded.record if valid else None, overwritten)
        yield from self._loads.send(now)
        if not self._unsettled:
            yield from self._end_if_complete(now)

    def on_frozen(self, now: Nanoseconds, entry: Entry, reply: Message) -> Iterator[Action]:
        """EVICT is answered: if it was sent after the point, the reply replaces that to LOAD."""
        if self._phase is not Phase.LOADING or entry.frozen is None or reply.stamp is None:
            return
        index = self._unsettled.get(entry.generation)
        if index is not None and reply.slot and reply.slot.number == self._number:
            self._loads.settle(index)
            overwritten = bool(reply.stamp.bits & Bit.OVERWRITTEN)
            self._settle(entry.generation, entry.frozen, overwritten)
            yield from self._loads.send(now)
            yield from self._end_if_complete(now)

    def on_original(self, now: Nanoseconds, message: Message) -> Iterator[Action]:
        """The switch has sent a record as it was before its first write after the point."""
        record = record_of(message)
        if (
            self._phase not in (Phase.POINT, Phase.LOADING)
            or record is None
            or message.stamp is None
            or message.slot is None
            or message.slot.number != self._number
        ):
            self._context.counts["originals_late"] += 1
            return
        self._context.counts["originals"] += 1
        generation = message.stamp.generation
        if generation not in self._sent:
            self._sent.add(generation)
            self._context.counts["record_bytes"] += size_of(record)
        if generation not in self._unsettled and generation not in self._missing:
            return
        known = self._originals.get(generation)
        if known is None or is_later(known, record):
            self._originals[generation] = record
        if generation in self._missing:
            self._missing.discard(generation)
            yield from self._end_if_complete(now)

    def _settle(self, generation: int, record: Record | None, overwritten: bool) -> None:
        """Take the record of an entry, None if it is not valid. Only the first call counts."""
        index = self._unsettled.pop(generation, None)
        if index is None:
            return
        self._records[index] = record
        if record is not None and overwritten:
            self._overwritten.add(generation)
            if generation not in self._originals:
                self._missing.add(generation)

    # ----------------------------------------------------------------------------- end

    def on_timer(self, now: Nanoseconds) -> Iterator[Action]:
        """Repeat LOADs, or give up the snapshot."""
        if self._phase is not Phase.LOADING:
            return
        yield from self._loads.expired(now)
        if self._loads.given_up:
            yield from self._fail(now, "an entry could not be loaded")
        elif self._ends is not None and now >= self._ends:
            yield from self._fail(now, f"{len(self._missing)} originals did not arrive")

    def _end_if_complete(self, now: Nanoseconds) -> Iterator[Action]:
        """End the snapshot if it is complete; limit the wait if only originals are missing."""
        if self._unsettled:
            return
        if self._missing:
            if self._ends is None:
                self._ends = now + self._patience
            return
        taken = self._taken()
        self.duration = now - self._begun
        yield from self._end(now)
        yield from self._complete(now, taken)

    def _taken(self) -> Taken:
        records: list[Record] = []
        generations: list[int] = []
        doubtful: list[tuple[int, int, int]] = []
        for entry, found in zip(self._entries, self._records, strict=True):
            if found is None:
                continue
            generation = entry.generation
            record = self._originals[generation] if generation in self._overwritten else found
            records.append(record)
            generations.append(generation)
            if record.dirty and (entry.frozen is not None or not record.latest):
                doubtful.append((generation, record.incarnation, record.number))
        return Taken(
            self._number, self._point, tuple(records), tuple(generations), frozenset(doubtful)
        )

    def _fail(self, now: Nanoseconds, why: str) -> Iterator[Action]:
        self._context.counts["snapshots_incomplete"] += 1
        yield Note("snapshot incomplete", {"number": self._number, "because": why})
        yield from self._end(now)

    def _end(self, now: Nanoseconds) -> Iterator[Action]:
        """Set all pipelines to idle."""
        self._reset()
        self._phase = Phase.ENDING
        self._validity.number = 0
        self._validity.open()

        def ended(now: Nanoseconds, ok: bool) -> Iterator[Action]:
            self._phase = Phase.IDLE
            return iter(())

        yield from self._rows.idle(now, ended)
