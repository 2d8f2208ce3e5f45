"""Eviction of an entry from a write-back cache (Sheng et al., ATC 2023, III-C)."""

# Callbacks have the parameters of their type, whether they use them or not.
# ruff: noqa: ARG001

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from netkv.control.base import Action, Nanoseconds
from netkv.kits.write_back.context import Context
from netkv.kits.write_back.entries import Candidate, Entry, State
from netkv.kits.write_back.record import record_of, size_of
from netkv.kits.write_back.removal import Removal
from netkv.kits.write_back.validity import Validity
from netkv.model.messages import Message, Op, Status


class Eviction:
    """Evictions that are under way.

    Rules
    -----
    1. EVICT → RESTORE to the owner, if the record is dirty → removal (`Removal`) → the entry is
       free. Until the removal the switch answers reads with the record or embeds it in them; from
       then on the server has it.
    2. With several switches, EVICT goes to the last one, which answers requests. The others still
       store writes, but no request is answered with their records.
    3. The record in the reply to EVICT is final: no write changes it afterwards.
    4. A server that is down delays the evictions of its own keys only.
    5. If the controller crashes between two steps, no record is lost: until RESTORE is answered the
       record is in the snapshot in force, with a client, or in the switches.
    """

    def __init__(
        self,
        context: Context,
        validity: Validity,
        removal: Removal,
        *,
        admit: Callable[[Candidate], None],
        on_frozen: Callable[[Nanoseconds, Entry, Message], Iterable[Action]] | None = None,
    ) -> None:
        """`admit` admits a successor; `on_frozen`, if any, is called with the reply to EVICT."""
        self._context = context
        self._validity = validity
        self._removal = removal
        self._on_frozen = on_frozen
        self._admit = admit
        self._restoring: Counter[str] = Counter()

    def clear(self) -> None:
        """The switch has restarted: no eviction is under way."""
        self._restoring.clear()

    def waiting_for(self, servers: Iterable[str]) -> int:
        """How many evictions wait for these servers."""
        return sum(self._restoring[name] for name in servers)

    def begin(self, entry: Entry, successor: Candidate | None = None) -> None:
        """Evict a cached entry; `successor` is admitted afterwards."""
        entry.successor = successor
        entry.state = State.EVICTING
        self._context.index.mark_cached(entry.generation, cached=False)
        self._validity.change(Op.EVICT, entry, self._context.last.to, self._frozen)

    def _frozen(self, now: Nanoseconds, entry: Entry, reply: Message) -> Iterator[Action]:
        """EVICT is answered: the record is final."""
        record = record_of(reply)
        if reply.status is not Status.OK or record is None:
            # The entry has another generation, which should be impossible: nothing to restore.
            self._remove(entry)
            return
        entry.frozen = record
        self._context.counts["record_bytes"] += size_of(record)
        if self._on_frozen is not None:
            yield from self._on_frozen(now, entry, reply)
        if not record.dirty:
            self._remove(entry)
            return
        entry.state = State.RESTORING
        owner = self._context.owner(entry.key)
        self._restoring[owner.name] += 1

        def restored(now: Nanoseconds, reply: Message | None) -> Iterator[Action]:
            if reply is not None and reply.stamp is not None:
                self._context.observe_incarnation(reply.stamp.incarnation)
            self._restoring[owner.name] -= 1
            self._context.counts["records_restored"] += 1
            self._remove(entry)
            return iter(())

        self._context.pending.send(
            Op.RESTORE,
            entry.key,
            restored,
            to=owner,
            stamp=record.stamp,
            value=record.value,
            insist=True,
        )

    def _remove(self, entry: Entry) -> None:
        """The server has the record: the switches may stop serving the entry."""

        def removed(ok: bool) -> Iterator[Action]:
            context, successor = self._context, entry.successor
            context.counts["evictions"] += 1
            if successor and successor.key not in context.index and context.index.free_entries:
                self._admit(successor)
            return iter(())

        self._removal.begin(entry, len(self._context.switches) - 1, removed)
