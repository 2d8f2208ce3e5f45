"""Removal of an entry from the switches, whose record the server has or does not need."""

# Callbacks have the parameters of their type, whether they use them or not.
# ruff: noqa: ARG001

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds
from netkv.kits.write_back.context import Context
from netkv.kits.write_back.entries import Entry, State
from netkv.kits.write_back.validity import Validity
from netkv.model.messages import Message, Op

Removed: TypeAlias = Callable[[bool], Iterable[Action]]
"""Called when no switch has the entry: whether its number is free."""


class Removal:
    """Removals that are under way.

    Rules
    -----
    1. RETIRE → delete the lookup entry in all ingress pipelines. RETIRE comes before the deletion.
       Otherwise a write could pass an ingress pipeline without the lookup entry, and a later read
       one that still has it.
    2. With several switches, the last one removes the entry first. While it has the entry, all
       others have it.
    3. If the deletion of a lookup entry is refused, packets still find the entry: its number stays
       in use.
    """

    def __init__(self, context: Context, validity: Validity) -> None:
        self._context = context
        self._validity = validity

    def begin(self, entry: Entry, last: int, then: Removed, *, free: bool = True) -> None:
        """Remove the entry from the switches `last` to 0. `free`: whether its number may be used
        again."""
        entry.switch = last
        entry.state = State.RETIRING

        def retired(now: Nanoseconds, entry: Entry, reply: Message) -> Iterator[Action]:
            yield from self._delete(entry, then, free)

        to = self._context.switches[last].to
        self._validity.change(Op.RETIRE, entry, to, retired)

    def _delete(self, entry: Entry, then: Removed, free: bool) -> Iterator[Action]:
        entry.state = State.DELETING
        context = self._context

        def deleted(now: Nanoseconds, ok: bool) -> Iterator[Action]:
            if not ok:
                context.counts["entries_set_aside"] += 1
            if entry.switch > 0:
                self.begin(entry, entry.switch - 1, then, free=free and ok)
                return
            context.index.leave(entry, entry=free and ok)
            yield from then(free and ok)

        yield context.switches[entry.switch].delete(entry.key, deleted)
