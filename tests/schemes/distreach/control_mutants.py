"""DistReach with control planes that lack one protection each.

A mutant changes events and actions, or a rule of one part, which it names. A protection that
another one covers has a mutant without both; it says so.
"""

# Hooks have the parameters of the interface, whether they use them or not.
# ruff: noqa: ARG002

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar
from unittest import mock

from netkv.control.base import (
    Action,
    Entry,
    Event,
    InsertEntry,
    ModifyEntry,
    Nanoseconds,
    PacketIn,
    Save,
    Saved,
    SendFrame,
    SetDefault,
    Started,
    SwitchLost,
    TableRead,
    TableWritten,
)
from netkv.model.messages import Bit, Message, Op, Stamp, decode, encode
from netkv.model.topology import CONTROLLER_IP, CPU_PORT
from netkv.schemes.distreach.chain_switch import INCARNATION, SETTINGS, Content
from netkv.schemes.distreach.incarnations import Incarnations
from netkv.schemes.distreach.recovery import Recovery, Step
from tests.schemes import mutants
from tests.schemes.distreach.distreach_rack import System
from tests.schemes.distreach.program_mutants import IGNORES_STORED
from tests.schemes.mutants import Mutant, message_of
from tests.schemes.scripted_rack import LOOKUP


class _Mutant(Mutant, System):
    """DistReach's control plane with other events and actions."""


class RepeatsNothing(mutants.RepeatsNothing, System):
    """Every message is sent once."""


class IgnoresSecondLoss(mutants.IgnoresRestarts, System):
    """The control plane ignores restarts of switches during a recovery of their chain."""

    def change_event(self, event: Event) -> Event | None:
        chain = self._chains.get(getattr(event, "switch", ""))
        recovers = chain is not None and chain.recovery.step in (Step.LOAD, Step.UPDATE)
        return super().change_event(event) if recovers else event


class IgnoresLosses(_Mutant):
    """The control plane ignores that a switch does not run."""

    def change_event(self, event: Event) -> Event | None:
        return None if isinstance(event, SwitchLost) else event


class AssumesDeleted(mutants.AssumesDeleted, System):
    """An entry is free before a switch has confirmed the deletion of its lookup entry."""


class IgnoresRefusals(mutants.IgnoresRefusals, System):
    """A deletion that a switch has refused counts as done."""


class TrustsRefusedEntries(mutants.IgnoresRefusals, System):
    """An entry that a switch has refused stays in the others, and the tail stores writes that some
    other switch has not stored."""

    tail = IGNORES_STORED


class AdmitsTailFirst(System):
    """Keys are admitted from the last switch to the first, and the tail stores writes that some
    other switch has not stored."""

    tail = IGNORES_STORED

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        for chain in self._all:
            admission = chain._queue._admission
            upwards = tuple(reversed(admission._context.switches))
            admission._context = replace(admission._context, switches=upwards)


class EvictsHeadFirst(System):
    """Keys are evicted from the first switch to the last, and the tail stores writes that some
    other switch has not stored."""

    tail = IGNORES_STORED

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        for chain in self._all:
            eviction = chain._eviction
            upwards = tuple(reversed(eviction._context.switches))
            context = replace(eviction._context, switches=upwards)
            eviction._context = eviction._removal._context = context


class SkipsRestore(mutants.Skipping, System):
    """Servers do not get records that only the switches have."""

    op = Op.RESTORE


class _ChangesMessages(_Mutant):
    """Messages of one kind have another stamp."""

    op: Op

    def change_action(self, action: Action) -> Iterator[Action]:
        message = message_of(action)
        if isinstance(action, SendFrame) and message is not None and message.op is self.op:
            assert message.stamp is not None
            changed = replace(message, stamp=self.changed(message.key, message.stamp))
            datagram = decode(action.frame)
            action = replace(action, frame=encode(changed, datagram.source, datagram.destination))
        yield action

    def changed(self, key: bytes, stamp: Stamp) -> Stamp:
        raise NotImplementedError


class RestoresWithoutSequence(_ChangesMessages):
    """RESTORE has sequence 0 in place of the record's own."""

    op = Op.RESTORE

    def changed(self, key: bytes, stamp: Stamp) -> Stamp:
        return replace(stamp, incarnation=0, number=0)


class RestoresNoDeletes(_ChangesMessages):
    """RESTORE does not say that a record is deleted."""

    op = Op.RESTORE

    def changed(self, key: bytes, stamp: Stamp) -> Stamp:
        return replace(stamp, bits=stamp.bits & ~Bit.DELETED)


class TrustsAnswersToRestore(_ChangesMessages):
    """A recovery fills entries with a record as the latest one if RESTORE_REPLY had its sequence,
    and the switches believe it."""

    op = Op.FILL
    upper = tail = (
        "distreach/entry.p4",
        "latest = !meta.filled;",
        "latest = !meta.filled || (hdr.version_stamp.bits & BIT_LATEST) != 0;",
    )

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._stored: set[tuple[bytes, int, int]] = set()

    def change_event(self, event: Event) -> Event | None:
        if isinstance(event, PacketIn):
            message = decode(event.frame).message
            if message.op is Op.RESTORE_REPLY and message.stamp is not None:
                stamp = message.stamp
                self._stored.add((message.key, stamp.incarnation, stamp.number))
        return event

    def changed(self, key: bytes, stamp: Stamp) -> Stamp:
        latest = (key, stamp.incarnation, stamp.number) in self._stored
        return replace(stamp, bits=stamp.bits | Bit.LATEST) if latest else stamp


class _ChangesIncarnations(_Mutant):
    """Switches get other incarnations."""

    def change_action(self, action: Action) -> Iterator[Action]:
        if isinstance(action, SetDefault) and action.table == INCARNATION:
            action = replace(action, params=self.changed(dict(action.params)))
        yield action

    def changed(self, params: dict[str, int]) -> dict[str, int]:
        raise NotImplementedError


class KeepsIncarnation(_ChangesIncarnations):
    """A chain has the same incarnation after each loss."""

    def changed(self, params: dict[str, int]) -> dict[str, int]:
        return params | {"incarnation": 2, "last_loss": 0}


class MarksNothing(_ChangesIncarnations):
    """The incarnation of a restarted tail without records is not marked."""

    def changed(self, params: dict[str, int]) -> dict[str, int]:
        marked = params["previous"] == params["incarnation"]
        return params | {"previous": 0} if marked else params


class RaisesWithoutPrevious(_ChangesIncarnations):
    """A raised incarnation does not name the one that it continues."""

    def changed(self, params: dict[str, int]) -> dict[str, int]:
        return params | {"previous": 0}


class RaisesAsLoss(_ChangesIncarnations):
    """A raised incarnation counts as a loss."""

    def changed(self, params: dict[str, int]) -> dict[str, int]:
        raised = params["previous"] not in (0, params["incarnation"])
        return params | {"last_loss": params["incarnation"]} if raised else params


class OpensAtOnce(_Mutant):
    """Switches are opened where they should be held."""

    def change_action(self, action: Action) -> Iterator[Action]:
        if isinstance(action, SetDefault) and action.table == SETTINGS:
            opened = {**action.params, "mode": min(action.params["mode"], 1)}
            action = replace(action, params=opened)
        yield action


class ServesAfterTheStart(_Mutant):
    """A restarted tail is open and its own head, before it has an incarnation."""

    tail = ("distreach/chain.p4", "set(0, 0, 0, 255);", "set(0, 0, 0, 0);")

    def change_action(self, action: Action) -> Iterator[Action]:
        if isinstance(action, SetDefault) and action.table == SETTINGS:
            opened = {**action.params, "mode": action.params["mode"] or 1}
            action = replace(action, params=opened)
        yield action


class AssumesSaved(_Mutant):
    """A save counts as done when it is begun."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._assumed: set[int] = set()

    def change_event(self, event: Event) -> Event | None:
        return None if isinstance(event, Saved) and event.save in self._assumed else event

    def change_action(self, action: Action) -> Iterator[Action]:
        yield action
        if isinstance(action, Save):
            self._assumed.add(action.save)
            yield from self.inject(Saved(action.save, ok=True))


class ForgetsIncarnations(_Mutant):
    """A new controller gives incarnations from the first one on."""

    def change_event(self, event: Event) -> Event | None:
        if isinstance(event, Started) and event.saved is not None:
            return Started(Incarnations()._bytes())
        return event


class _OtherIncarnations(System):
    """Chains get their incarnations by other rules."""

    incarnations: ClassVar[type[Incarnations]]

    def __init__(self, *arguments: Any) -> None:
        path = "netkv.schemes.distreach.control_plane.Incarnations"
        with mock.patch(path, self.incarnations):
            super().__init__(*arguments)


class _GivesTheLast(Incarnations):
    def _saved(self, incarnation: int, now: Nanoseconds) -> Iterator[Action]:
        asking, self._asking = self._asking, []
        for position, then in enumerate(asking):
            yield from then(now, self.last if position else incarnation)


class GivesTheNextIncarnation(_OtherIncarnations):
    """Of chains that wait for the same save, the later ones get the incarnation that the first one
    has asked for meanwhile."""

    incarnations = _GivesTheLast


class _GivesTheSaved(Incarnations):
    def _saved(self, incarnation: int, now: Nanoseconds) -> Iterator[Action]:
        asking, self._asking = self._asking, []
        for then in asking:
            yield from then(now, incarnation)


class GivesEarlierIncarnations(_OtherIncarnations):
    """Chains get the incarnation that was saved, although a switch has a later one."""

    incarnations = _GivesTheSaved


class BelievesEverySwitchIsSetUp(_Mutant):
    """A new controller does not check that a switch has the last of its initial entries."""

    def change_event(self, event: Event) -> Event | None:
        if isinstance(event, TableRead) and event.default is not None:
            if event.default.action == "NetkvEgress.incarnation.set":
                params = {**event.default.params, "incarnation": 1}
                return replace(event, default=replace(event.default, params=params))
            if event.default.action == "NetkvIngress.route.unknown":
                match, params = {"dst": CONTROLLER_IP}, {"port": CPU_PORT}
                last = Entry(match, "NetkvIngress.route.forward", params)
                return replace(event, entries=(*event.entries, last))
        return event


class KeepsGeneration(_Mutant):
    """Every filling of an entry has the same generation."""

    def change_action(self, action: Action) -> Iterator[Action]:
        if isinstance(action, InsertEntry | ModifyEntry) and action.table == LOOKUP:
            yield replace(action, params={**action.params, "generation": 1})
            return
        message = message_of(action)
        if message is not None and message.op >> 4 == 4 and message.stamp is not None:
            assert isinstance(action, SendFrame)
            again = replace(message, stamp=replace(message.stamp, generation=1))
            action = replace(action, frame=encode(again))
        yield action


class FillsOnlyRestarted(mutants.Skipping, System):
    """A recovery leaves the entries of switches that have kept their records as they are."""

    op = Op.FILL

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._keep: set[str] = set()

    def change_action(self, action: Action) -> Iterator[Action]:
        for chain in self._all:
            recovery = chain.recovery
            if recovery._survivors:
                self._keep = {it.name for it in recovery._survivors}
        kept = getattr(action, "switch", "") in self._keep
        if kept and isinstance(action, ModifyEntry) and action.table == LOOKUP:
            yield from self.inject(TableWritten(action.write, ok=True, switch=action.switch))
        elif kept:
            yield from super().change_action(action)
        else:
            yield action

    def skips(self, message: Message) -> bool:
        return bool(message.slot and message.slot.number)


class _OtherRecovery(System):
    """Chains recover by other rules."""

    recovery: ClassVar[type[Recovery]]

    def __init__(self, *arguments: Any) -> None:
        with mock.patch("netkv.schemes.distreach.chain.Recovery", self.recovery):
            super().__init__(*arguments)


class _ChangesEarly(Recovery):
    def _restore(self, now: Nanoseconds) -> Iterator[Action]:
        yield from self._updated(now)


class ChangesEntriesEarly(_OtherRecovery):
    """A recovery changes entries before the servers have the records."""

    recovery = _ChangesEarly


class _ServesEarly(Recovery):
    def _hold_early(self, now: Nanoseconds) -> Iterator[Action]:
        tail = self.tail
        if self._early is None and self._survivors and tail.content is Content.EMPTY and tail.runs:
            self._early = False
            yield from self._holds_early(now)


class ServesBeforeLookups(_OtherRecovery):
    """A restarted tail serves before it has the lookup entries of the records."""

    recovery = _ServesEarly
