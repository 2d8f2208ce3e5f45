"""The entries of a chain, written again by a recovery: lookup tables and FILLs of all switches."""

# Callbacks have the parameters of their type, whether they use them or not.

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from netkv._engine import write_frame
from netkv.control.base import Action, Nanoseconds, Note
from netkv.control.bulk import Bulk
from netkv.kits.write_back.context import Context
from netkv.kits.write_back.entries import Candidate, Entry, State
from netkv.kits.write_back.record import Record
from netkv.model.messages import Bit, Message, Op, Status
from netkv.schemes.distreach.chain_switch import ChainSwitch, Done


@dataclass(frozen=True, slots=True)
class Filling:
    """A record and its entry, the same in all switches."""

    entry: Entry
    record: Record


class Refilling:
    """Writes the entries of all switches.

    Rules
    -----
    1. Lookup entries come first: from then on the switches hold requests for the keys.
    2. Every filling has a new generation. So frames about an earlier one have no effect.
    3. An entry that some switch does not take is removed from all.
    """

    def __init__(self, context: Context, switches: Sequence[ChainSwitch]) -> None:
        self._context = context
        self._switches = switches
        parameters = context.parameters
        self._bulks = {
            switch.name: Bulk(parameters.timeouts, parameters.max_bulk, None, switch.name)
            for switch in switches
        }
        self.clear()

    def clear(self) -> None:
        """Drop what is under way."""
        self._entries: dict[bytes, Entry] = {}
        self._fillings: list[Filling] = []
        self._refused: set[bytes] = set()
        self._writes = 0
        self._then: Done | None = None
        for bulk in self._bulks.values():
            bulk.begin(0, lambda _: b"")

    @property
    def repeated(self) -> int:
        """Number of repeated FILLs."""
        return sum(bulk.repeated for bulk in self._bulks.values())

    @property
    def refused(self) -> bool:
        """Whether a switch has refused an entry."""
        return bool(self._refused)

    def choose(self, keys: Iterable[bytes]) -> None:
        """Choose entries for keys that have none, as far as there is room."""
        index = self._context.index
        for key in keys:
            if index.free_entries and key not in index:
                generation, number = self._context.generation(), index.take_entry()
                entry = Entry(key, generation, number, Candidate(key), State.CACHED)
                index.enter(entry)
                self._entries[key] = entry

    def assign(self, loaded: Iterable[Record]) -> list[bytes]:
        """Give the entries their records; those of other keys are free again. Returns the keys that
        have entries."""
        left = self._entries
        self._entries = {}
        for record in loaded:
            if (entry := left.pop(record.key, None)) is not None:
                self._entries[record.key] = entry
                self._fillings.append(Filling(entry, record))
        for entry in left.values():
            self._context.index.leave(entry, entry=True)
        return list(self._entries)

    def take(self) -> list[Filling]:
        """The fillings that all switches have."""
        taken, self._fillings = self._fillings, []
        self._entries.clear()
        return taken

    # ------------------------------------------------------------------- lookup tables

    def write_lookups(
        self, now: Nanoseconds, switches: Sequence[ChainSwitch], then: Done
    ) -> Iterator[Action]:
        """Give the switches the lookup entries of the chosen entries and no others."""
        self._then = then
        wanted = {key: (it.entry, it.generation) for key, it in self._entries.items()}
        # The last switch first: as long as it holds a key, it does not matter who else does.
        for switch in reversed(switches):
            access = switch.access
            for key in switch.lookup:
                if key not in wanted:
                    self._writes += 1
                    yield access.delete(key, partial(self._written, None))
            for key, entry in self._entries.items():
                if (present := switch.lookup.get(key)) != wanted[key]:
                    self._writes += 1
                    write = access.insert if present is None else access.modify
                    yield write(entry, partial(self._written, key))
            switch.lookup = dict(wanted)
        if not self._writes:
            yield from self._next(now)

    def _written(self, key: bytes | None, now: Nanoseconds, ok: bool) -> Iterable[Action]:
        self._writes -= 1
        if not ok and key is not None:
            self._refused.add(key)
        return () if self._writes else self._next(now)

    def _next(self, now: Nanoseconds) -> Iterable[Action]:
        then, self._then = self._then, None
        return then(now) if then is not None else ()

    # ------------------------------------------------------------------------- records

    def fill(self, now: Nanoseconds, number: int, then: Done) -> Iterator[Action]:
        """Send FILL for all entries to all switches. `number`: of the recovery."""
        self._then = then
        unneeded = [at for at, it in enumerate(self._fillings) if it.entry.key in self._refused]
        frames = partial(self._frame, number)
        for bulk in self._bulks.values():
            bulk.begin(len(self._fillings), frames, unneeded)
            yield from bulk.send(now)
        yield from self._end_if_filled(now)

    def _frame(self, number: int, index: int) -> bytes:
        entry, record = (it := self._fillings[index]).entry, it.record
        bits = Bit.VALID | Bit(record.bits & Bit.DELETED)
        return write_frame(
            Op.FILL,
            record.key,
            index + 1,
            length=len(record.value),
            value=record.value,
            stamp=(record.incarnation, record.number, entry.generation, bits),
            slot=(entry.entry, number),
        )

    def on_filled(
        self, now: Nanoseconds, switch: str, reply: Message, number: int
    ) -> Iterator[Action]:
        """A switch has answered a FILL of recovery `number`."""
        index, bulk = reply.request - 1, self._bulks[switch]
        if (
            reply.stamp is None
            or reply.slot is None
            or reply.slot.number != number
            or not 0 <= index < len(self._fillings)
            or self._fillings[index].entry.generation != reply.stamp.generation
            or not bulk.answered(now, index)
        ):
            return
        if reply.status is not Status.OK:
            self._refused.add(reply.key)
        yield from bulk.send(now)
        yield from self._end_if_filled(now)

    def _end_if_filled(self, now: Nanoseconds) -> Iterator[Action]:
        if any(bulk.left for bulk in self._bulks.values()) or self._then is None:
            return
        if not self._refused:
            yield from self._next(now)
            return
        # The entries of some keys are not in all switches: no switch may have them.
        yield Note("entries set aside", {"keys": len(self._refused)})
        refused, self._refused = self._refused, set()
        then, self._then = self._then, None
        kept = [it for it in self._fillings if it.entry.key not in refused]
        for filling in self._fillings:
            if filling.entry.key in refused:
                self._context.counts["entries_set_aside"] += 1
                self._context.index.leave(filling.entry, entry=False)
        self._fillings = kept
        yield from self._delete(refused, then)

    def _delete(self, keys: set[bytes], then: Done) -> Iterator[Action]:
        self._then = then
        for switch in reversed(self._switches):
            for key in keys:
                self._writes += 1
                switch.lookup.pop(key, None)
                yield switch.access.delete(key, partial(self._written, None))

    # ---------------------------------------------------------------------------- time

    def deadline(self) -> Nanoseconds | None:
        """When to repeat a FILL."""
        dues = [bulk.deadline() for bulk in self._bulks.values()]
        return min((due for due in dues if due is not None), default=None)

    def expired(self, now: Nanoseconds) -> Iterator[Action]:
        """Repeat FILLs without an answer."""
        for bulk in self._bulks.values():
            yield from bulk.expired(now)
