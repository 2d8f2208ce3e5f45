"""Snapshots: what the switch has at one moment (docs/farreach.md, "Snapshot"; III-D)."""

# What follows from an answer takes what there is to know, needed or not.
# ruff: noqa: ARG001

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds, Note
from netkv.control.messages import Bit, Message
from netkv.schemes.farreach.context import Context
from netkv.schemes.farreach.entries import Entry, State
from netkv.schemes.farreach.loading import Loaded, Loads
from netkv.schemes.farreach.record import Record, is_later, record_of
from netkv.schemes.farreach.snapshot_tables import SnapshotTables
from netkv.schemes.farreach.validity import Validity


class Phase(Enum):
    """What a snapshot waits for."""

    IDLE = auto()
    STILL = auto()  # no change of validity is under way
    POINT = auto()  # table writes: the pipelines redirect, then take
    LOADING = auto()  # LOADs, then originals
    ENDING = auto()  # table writes: the pipelines are idle


@dataclass(frozen=True, slots=True)
class Taken:
    """A complete snapshot."""

    number: int
    point: Nanoseconds
    """A time before the snapshot point, and after all that was heard before."""
    records: tuple[Record, ...]
    generations: tuple[int, ...]
    """Of the entries with these records."""
    doubtful: frozenset[tuple[int, int, int]]
    """Generation, incarnation and number of dirty records that may be later at the server."""

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
    """One snapshot after the other.

    Rules
    -----
    1. The point: the gate of `Validity` is closed and still; all pipelines but 0 redirect their
       writes to 0; pipeline 0 takes, which is the point; then the others take. So all writes are
       before the point or after it, whatever pipeline they come by, and which entries are valid at
       the point is known.
    2. An entry that was valid at the point is loaded. If it was written since, its original counts,
       of which the switch sends three copies, maybe before the point is confirmed.
    3. An entry that is evicted while the snapshot is taken has its record in what EVICT said, under
       rule 2. One whose EVICT was answered before the point has been frozen since then.
    4. What is admitted after the point is not in the snapshot.
    5. An original that does not come, an entry that cannot be loaded, or a refused table write make
       the snapshot incomplete. That is counted and has no effect: the one before stays in force.
    """

    def __init__(self, context: Context, validity: Validity, complete: Complete) -> None:
        """`complete` hears of every complete snapshot."""
        parameters = context.parameters
        self._context = context
        self._validity = validity
        self._complete = complete
        self._rows = SnapshotTables(context.writes)
        self._loads = Loads(parameters.timeouts, parameters.max_bulk, parameters.tries)
        self._others = tuple(range(1, parameters.pipelines))
        self._patience = parameters.original_patience
        self._number = 0
        self.duration: Nanoseconds = 0
        """From the beginning of the last complete one to its end."""
        self.clear()

    def clear(self) -> None:
        """The switch has lost everything; numbers go on."""
        self._phase = Phase.IDLE
        self._rows.clear()
        self._forget()

    def go_above(self, number: int) -> None:
        """Go on above a number that another controller has used."""
        self._number = max(self._number, number)

    def _forget(self) -> None:
        """Nothing is known of a snapshot."""
        self._begun: Nanoseconds = 0
        self._point: Nanoseconds = 0
        self._entries: list[Entry] = []
        self._records: list[Record | None] = []
        self._unsettled: dict[int, int] = {}  # generation → place in the list
        self._overwritten: set[int] = set()  # generations of which the original counts
        self._missing: set[int] = set()  # those of them whose original is not here
        self._originals: dict[int, Record] = {}
        self._ends: Nanoseconds | None = None
        self._loads.begin(0, ())

    @property
    def idle(self) -> bool:
        """Whether none is being taken."""
        return self._phase is Phase.IDLE

    @property
    def loading(self) -> bool:
        """Whether replies to LOAD may come."""
        return self._phase is Phase.LOADING

    @property
    def loads_repeated(self) -> int:
        """LOADs that were sent again."""
        return self._loads.repeated

    def deadline(self) -> Nanoseconds | None:
        """When a LOAD is repeated, or the wait for originals ends."""
        if self._phase is not Phase.LOADING:
            return None
        return self._loads.deadline() if self._ends is None else self._ends

    # --------------------------------------------------------------------------- point

    def begin(self, now: Nanoseconds) -> Iterator[Action]:
        """Take one now."""
        assert self.idle, "one after the other"
        self._number += 1
        self._begun = now
        self._phase = Phase.STILL
        yield from self._validity.close(now, self._still)

    def _still(self, now: Nanoseconds) -> Iterator[Action]:
        """Nothing changes which entries are valid."""
        self._phase = Phase.POINT
        yield from self._rows.redirect(now, self._others, self._redirected)

    def _redirected(self, now: Nanoseconds, ok: bool) -> Iterator[Action]:
        """All writes pass pipeline 0."""
        if not ok:
            yield from self._fail(now, "a table write was refused")
            return
        self._point = now
        for entry in self._context.index:
            self._include(entry)
        yield from self._rows.taking(now, (0,), self._number, self._pointed)

    def _include(self, entry: Entry) -> None:
        """Put an entry on the list, if it is valid at the point."""
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
        """Pipeline 0 has passed the point, and so have all writes from now on."""
        if not ok:
            yield from self._fail(now, "a table write was refused")
        else:
            yield from self._rows.taking(now, self._others, self._number, self._spread)

    def _spread(self, now: Nanoseconds, ok: bool) -> Iterator[Action]:
        """No pipeline redirects any more: load."""
        if not ok:
            yield from self._fail(now, "a table write was refused")
            return
        self._phase = Phase.LOADING
        self._validity.number = self._number
        self._validity.open()
        needed = (
            entry if record is None else None
            for entry, record in zip(self._entries, self._records, strict=True)
        )
        self._loads.begin(self._number, list(needed))
        yield from self._loads.send(now)
        yield from self._look(now)

    # ------------------------------------------------------------------------- records

    def on_loaded(self, now: Nanoseconds, loaded: Loaded) -> Iterator[Action]:
        """A reply to LOAD."""
        index = loaded.place
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
        self._settle(loaded.generation, loaded.record if valid else None, overwritten)
        yield from self._loads.send(now)
        if not self._unsettled:
            yield from self._look(now)

    def on_frozen(self, now: Nanoseconds, entry: Entry, reply: Message) -> Iterator[Action]:
        """EVICT was answered: if it was sent after the point, that is as good as a LOAD."""
        if self._phase is not Phase.LOADING or entry.frozen is None or reply.stamp is None:
            return
        index = self._unsettled.get(entry.generation)
        if index is not None and reply.place and reply.place.number == self._number:
            self._loads.settle(index)
            overwritten = bool(reply.stamp.bits & Bit.OVERWRITTEN)
            self._settle(entry.generation, entry.frozen, overwritten)
            yield from self._loads.send(now)
            yield from self._look(now)

    def on_original(self, now: Nanoseconds, message: Message) -> Iterator[Action]:
        """A record as it was before its first write after the point."""
        record = record_of(message)
        if (
            self._phase not in (Phase.POINT, Phase.LOADING)
            or record is None
            or message.stamp is None
            or message.place is None
            or message.place.number != self._number
        ):
            self._context.counts["originals_late"] += 1
            return
        self._context.counts["originals"] += 1
        generation = message.stamp.generation
        if generation not in self._unsettled and generation not in self._missing:
            return
        known = self._originals.get(generation)
        if known is None or is_later(known, record):
            self._originals[generation] = record
        if generation in self._missing:
            self._missing.discard(generation)
            yield from self._look(now)

    def _settle(self, generation: int, record: Record | None, overwritten: bool) -> None:
        """What the switch says of an entry; it counts once."""
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
        """Repeat LOADs, or give up."""
        if self._phase is not Phase.LOADING:
            return
        yield from self._loads.expired(now)
        if self._loads.given_up:
            yield from self._fail(now, "an entry could not be loaded")
        elif self._ends is not None and now >= self._ends:
            yield from self._fail(now, f"{len(self._missing)} originals did not come")

    def _look(self, now: Nanoseconds) -> Iterator[Action]:
        """Whether it is complete, or waits for originals only."""
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
        """All pipelines go on as without a snapshot."""
        self._forget()
        self._phase = Phase.ENDING
        self._validity.number = 0
        self._validity.open()

        def ended(now: Nanoseconds, ok: bool) -> Iterator[Action]:
            self._phase = Phase.IDLE
            return iter(())

        yield from self._rows.idle(now, ended)
