"""Control planes without one of their protections each, whatever the scheme.

A mutant changes the events and actions of the control plane beside it in the list of bases, so it
holds whatever is inside. A scheme's own mutants have `Mutant` as a base, too.
"""

# What a mutant may look at it need not.

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from netkv.control.base import (
    Action,
    ControlPlane,
    DeleteEntry,
    Event,
    InsertEntry,
    Nanoseconds,
    SendFrame,
    SwitchRestarted,
    TableWritten,
)
from netkv.control.messages import Message, Op, decode

LOOKUP = "NetkvIngress.lookup.cache"


def message_of(action: Action) -> Message | None:
    """The message that is sent, if one is."""
    return decode(action.frame).message if isinstance(action, SendFrame) else None


class Mutant(ControlPlane):
    """Changes events and actions; may add events that did not happen."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.now: Nanoseconds = 0

    def handle(self, now: Nanoseconds, event: Event) -> list[Action]:
        self.now = now
        heard = self.hears(event)
        actions = super().handle(now, heard) if heard is not None else []
        return [each for action in actions for each in self.says(action)]

    def hears(self, event: Event) -> Event | None:
        """The event that is handled in place of this one, if any."""
        return event

    def says(self, action: Action) -> Iterator[Action]:
        """The actions that are carried out in place of this one."""
        yield action

    def hear(self, event: Event) -> Iterator[Action]:
        """Handle an event that did not happen."""
        for action in super().handle(self.now, event):
            yield from self.says(action)


class _Assuming(Mutant):
    """Takes lookup writes of one kind for done when they are given out."""

    kind: type[InsertEntry] | type[DeleteEntry]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._assumed: set[int] = set()

    def hears(self, event: Event) -> Event | None:
        assumed = isinstance(event, TableWritten) and event.write in self._assumed
        return None if assumed else event

    def says(self, action: Action) -> Iterator[Action]:
        yield action
        if isinstance(action, self.kind) and action.table == LOOKUP:
            self._assumed.add(action.write)
            yield from self.hear(TableWritten(action.write, ok=True))


class AssumesInserted(_Assuming):
    """An insertion of a lookup entry counts as done at once."""

    kind = InsertEntry


class AssumesDeleted(_Assuming):
    """A deletion of a lookup entry counts as done at once."""

    kind = DeleteEntry


class IgnoresRefusals(Mutant):
    """A table write that the switch has refused counts as done."""

    def hears(self, event: Event) -> Event | None:
        return replace(event, ok=True) if isinstance(event, TableWritten) else event


class RepeatsNothing(Mutant):
    """Every message is sent once."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._sent: set[tuple[Op, int]] = set()

    def says(self, action: Action) -> Iterator[Action]:
        message = message_of(action)
        known = message is not None and (message.op, message.request) in self._sent
        if message is not None:
            self._sent.add((message.op, message.request))
        if not known:
            yield action


class IgnoresRestarts(Mutant):
    """A switch that has lost everything is left as it is."""

    def hears(self, event: Event) -> Event | None:
        return None if isinstance(event, SwitchRestarted) else event
