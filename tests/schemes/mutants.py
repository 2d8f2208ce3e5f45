"""Mutants of control planes, for any scheme: each lacks one protection.

A mutant changes the events and actions of the control plane that follows it in the list of bases,
so it does not depend on the implementation. A scheme's own mutants have `Mutant` as a base, too.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from netkv.control.base import (
    Action,
    ControlPlane,
    DeleteEntry,
    Event,
    InsertEntry,
    ModifyEntry,
    Nanoseconds,
    PacketIn,
    SendFrame,
    SwitchRestarted,
    TableWritten,
)
from netkv.model.messages import Message, Op, decode, encode
from netkv.model.topology import CONTROLLER_IP
from tests.schemes.scripted_rack import LOOKUP


def message_of(action: Action) -> Message | None:
    """The message that an action sends; None if it sends none."""
    return decode(action.frame).message if isinstance(action, SendFrame) else None


class Mutant(ControlPlane):
    """Changes events and actions; may inject events."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.now: Nanoseconds = 0

    def handle(self, now: Nanoseconds, event: Event) -> list[Action]:
        self.now = now
        changed = self.change_event(event)
        actions = super().handle(now, changed) if changed is not None else []
        return [each for action in actions for each in self.change_action(action)]

    def change_event(self, event: Event) -> Event | None:
        """The event that replaces this one; None to drop it."""
        return event

    def change_action(self, action: Action) -> Iterator[Action]:
        """The actions that replace this one."""
        yield action

    def inject(self, event: Event) -> Iterator[Action]:
        """Handle an event that did not happen."""
        for action in super().handle(self.now, event):
            yield from self.change_action(action)


class Skipping(Mutant):
    """Messages of one kind are not sent but count as answered."""

    op: Op

    def change_action(self, action: Action) -> Iterator[Action]:
        message = message_of(action)
        if message is not None and message.op is self.op and self.skips(message):
            assert isinstance(action, SendFrame)
            reply = message.reply(stamp=message.stamp, slot=message.slot)
            frame = encode(reply, CONTROLLER_IP, CONTROLLER_IP)
            yield from self.inject(PacketIn(1, frame, action.switch))
        else:
            yield action

    def skips(self, message: Message) -> bool:  # noqa: ARG002 (a hook)
        """Whether this message is one of them."""
        return True


class Assuming(Mutant):
    """Treats writes of one kind to a table as done when they are sent."""

    kind: type[InsertEntry] | type[ModifyEntry] | type[DeleteEntry]
    table = LOOKUP

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._assumed: set[int] = set()

    def change_event(self, event: Event) -> Event | None:
        assumed = isinstance(event, TableWritten) and event.write in self._assumed
        return None if assumed else event

    def change_action(self, action: Action) -> Iterator[Action]:
        yield action
        if isinstance(action, self.kind) and action.table == self.table:
            self._assumed.add(action.write)
            yield from self.inject(TableWritten(action.write, ok=True, switch=action.switch))


class AssumesInserted(Assuming):
    """An insertion of a lookup entry counts as done when it is sent."""

    kind = InsertEntry


class AssumesDeleted(Assuming):
    """A deletion of a lookup entry counts as done when it is sent."""

    kind = DeleteEntry


class IgnoresRefusals(Mutant):
    """A table write that the switch has refused counts as done."""

    def change_event(self, event: Event) -> Event | None:
        return replace(event, ok=True) if isinstance(event, TableWritten) else event


class RepeatsNothing(Mutant):
    """Every message is sent once."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._sent: set[tuple[str, Op, int]] = set()

    def change_action(self, action: Action) -> Iterator[Action]:
        message = message_of(action)
        known = False
        if message is not None:
            assert isinstance(action, SendFrame)
            which = action.switch, message.op, message.request
            known = which in self._sent
            self._sent.add(which)
        if not known:
            yield action


class IgnoresRestarts(Mutant):
    """The control plane ignores restarts of the switch."""

    def change_event(self, event: Event) -> Event | None:
        return None if isinstance(event, SwitchRestarted) else event
