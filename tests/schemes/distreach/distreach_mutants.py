"""Mutants of DistReach: each lacks one protection.

The mutants of a program are edits of its text, which must be found exactly once. Those of the
control plane change events and actions, or a rule of one part, which they name. A protection that
another one covers has a mutant without both; it says so.
"""

# Hooks have the parameters of the interface, whether they use them or not.

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
from netkv.control.messages import Bit, Message, Op, Stamp, decode, encode
from netkv.control.topology import CONTROLLER_IP, CPU_PORT
from netkv.schemes.distreach.chain_switch import INCARNATION, SETTINGS, Content
from netkv.schemes.distreach.incarnations import Incarnations
from netkv.schemes.distreach.recovery import Recovery, Step
from tests.p4programs.defects import Patch
from tests.schemes import mutants
from tests.schemes.distreach.distreach_rack import System
from tests.schemes.mutants import LOOKUP, Mutant, message_of

# ------------------------------------------------------------------ programs of the switches

IGNORES_STORED: Patch = (
    "distreach/max_sequence.p4",
    "meta.storable && meta.validity == VALID;",
    "meta.validity == VALID;",
)


class UpperStoresNothing(System):
    """A switch above the tail confirms writes without storing them."""

    upper = ("distreach/entry.p4", "meta.stores = meta.applied ||", "meta.stores = ")


class HeadAnswers(System):
    """The head answers reads and writes, as the tail does."""

    upper = (
        "distreach/protocol.p4",
        "const bit<8> BIT_STORED",
        "#define TAIL\nconst bit<8> BIT_STORED",
    )


class AcceptsAnyPosition(System):
    """A write is storable even if it has bypassed a switch of its chain."""

    tail = ("distreach/incarnation.p4", "== (bit<32>) meta.position;", "!= 9;")


class RepeatsGetNewNumbers(System):
    """A repeated write gets another sequence."""

    upper = (
        "distreach/dedup.p4",
        "meta.repeated = true;\n            } else if (same && meta.previous",
        "meta.first_copy = true;\n            } else if (same && meta.previous",
    )


class DropsRepeats(System):
    """A repeated write is dropped."""

    upper = (
        "distreach/dedup.p4",
        "meta.repeated = true;\n            } else if (same && meta.previous",
        "meta.drop_reason = DROP_LATE;\n            } else if (same && meta.previous",
    )


class ForgetsOldRequests(System):
    """A request older than the window counts as new."""

    upper = ("distreach/dedup.p4", "meta.drop_reason = DROP_LATE;", "meta.first_copy = true;")


class DropsEarlierRequests(System):
    """A request that the head numbered in an earlier incarnation is dropped, not PAST."""

    upper = ("distreach/dedup.p4", "} else if (same) {", "} else if (false) {")


class NumbersEarlierRequests(System):
    """A request of an earlier incarnation is a write like any other, also if the head knows it."""

    upper = (
        "distreach/dedup.p4",
        "meta.past = hdr.version_stamp.incarnation != 0;\n                meta.storable = false;",
        "meta.past = false;\n                meta.first_copy = true;",
    )


class EverySwitchNumbers(System):
    """Every switch of the chain gives a write a sequence of its own."""

    upper = tail = (
        "distreach/incarnation.p4",
        "meta.head = meta.position == 0;",
        "meta.head = true;",
    )


class TailStoresInAnyOrder(System):
    """The tail stores each write that arrives, also an older one."""

    tail = (
        "distreach/max_sequence.p4",
        "meta.applied = newest && meta.storable",
        "meta.applied = meta.storable",
    )


class StoresEarlierCopies(System):
    """A copy is storable even if its first copy passed the head without an entry."""

    upper = (
        "distreach/dedup.p4",
        "&& cell[40:40] == 1\n                                && cell[31:0] == meta.generation",
        "",
    )


class StoresCopiesOfAnyGeneration(System):
    """A copy is storable even if its first copy passed an earlier entry of the key."""

    upper = (
        "distreach/dedup.p4",
        "\n                                && cell[31:0] == meta.generation",
        "",
    )


class NeverSupersedes(System):
    """The head does not tell the next switches that it knows a newer write."""

    upper = ("distreach/chain_stamp.p4", "if (meta.superseded) {", "if (false) {")


class StoresWithoutIncarnation(System):
    """Entries take writes of clients that know no incarnation."""

    upper = tail = ("distreach/incarnation.p4", "meta.storable = knows;", "meta.storable = true;")


class NothingOutdates(System):
    """No write and no reply outdates an entry of the tail."""

    tail = ("farreach/entry_flags.p4", "} else if (meta.outdates) {", "} else if (false) {")


class RefreshesWithOlderRecords(System):
    """Every reply to a conservative read refreshes the entry."""

    upper = tail = (
        "distreach/max_sequence.p4",
        "&& (newest || meta.sequence == maximum);",
        ";",
    )


class UpperRefreshesNothing(System):
    """Replies refresh the entry of the tail only."""

    upper = ("distreach/max_sequence.p4", "meta.refreshes = hdr", "meta.refreshes = false && hdr")


class RefreshesAnyGeneration(System):
    """A reply to a read that passed an earlier entry of the key refreshes the present one."""

    upper = tail = (
        "distreach/max_sequence.p4",
        "\n                             && hdr.version_stamp.generation == meta.generation",
        "",
    )


class EmbedsNothing(System):
    """Reads of an outdated entry reach the server without its record."""

    tail = ("farreach/forward_to_server.p4", "if (meta.loads) {", "if (false) {")


class EmbedsWithoutLength(System):
    """The lengths of a frame are not those of the record that was added to it."""

    tail = (
        "farreach/forward_to_server.p4",
        "hdr.udp.length = hdr.udp.length + value_bytes;",
        "",
    )


class UpperForgetsDeletes(System):
    """A switch above the tail stores a deletion as an empty value."""

    upper = (
        "farreach/entry_flags.p4",
        "++ (bit<1>) meta.incoming.deleted",
        "++ 1w0",
    )


class FillsAreLatest(System):
    """The record of each FILL counts as the latest one."""

    upper = tail = ("distreach/entry.p4", "(hdr.version_stamp.bits & BIT_LATEST) != 0;", "true;")


class FillsAreOutdated(System):
    """The record of no FILL counts as the latest one."""

    upper = tail = ("distreach/entry.p4", "(hdr.version_stamp.bits & BIT_LATEST) != 0;", "false;")


class TailCountsNothing(System):
    """The tail has no sketch."""

    tail = ("distreach/switch.p4", "meta.sampled && !meta.serving", "false")


class ReportsNoHotKeys(System):
    """The tail does not mark requests for hot keys."""

    tail = ("farreach/forward_to_server.p4", "hdr.version_stamp.bits = BIT_HOT;", "")


class EveryKeyIsHot(System):
    """The tail ignores the threshold."""

    tail = (
        "farreach/sketch.p4",
        "meta.hot = meta.estimate >= meta.hot_threshold;",
        "meta.hot = true;",
    )


class FrozenEntriesStore(System):
    """The tail stores writes after EVICT."""

    tail = ("farreach/entry_state.p4", "new[31:24] = TO_BE_EVICTED;", "new[31:24] = VALID;")


class FillsAnyGeneration(System):
    """A copy of FILL fills the entry again."""

    upper = tail = (
        "farreach/entry_state.p4",
        "meta.filled = is_newer(meta.generation, old[63:32]);",
        "meta.filled = true;",
    )


class RetiresAnyGeneration(System):
    """RETIRE retires the entry whatever its generation."""

    upper = tail = (
        "farreach/entry_state.p4",
        "} else if (meta.same_generation && old[23:23] == 0) {",
        "} else if (old[23:23] == 0) {",
    )


class PlainNumbers(System):
    """Sequence numbers are compared as plain numbers."""

    upper = tail = ("farreach/serial_numbers.p4", "a - b < 0x80000000", "a > b")


class AcceptsLateFrames(System):
    """The tail accepts requests that were sequenced in an earlier incarnation."""

    tail = ("distreach/incarnation.p4", "meta.drop_reason = DROP_LATE;", "")


class RecoveredIsLatest(System):
    """A reply with a sequence of an earlier incarnation does not outdate an entry."""

    tail = (
        "distreach/max_sequence.p4",
        "meta.outdates = newest || (maximum",
        "meta.outdates = newest || (false && maximum",
    )


class NothingIsPast(System):
    """A write first sent before the last loss is a write like any other."""

    upper = tail = (
        "distreach/incarnation.p4",
        "meta.past = hdr.version_stamp.incarnation != 0 && !knows;",
        "",
    )


class HoldsNothing(System):
    """In mode *hold* a switch lets requests for its entries pass."""

    upper = tail = ("distreach/mode.p4", "(meta.mode == MODE_HOLD && meta.cached)", "false")


class HoldsEverything(System):
    """In mode *hold* a switch drops all requests."""

    upper = tail = (
        "distreach/mode.p4",
        "(meta.mode == MODE_HOLD && meta.cached)",
        "meta.mode == MODE_HOLD",
    )


# ------------------------------------------------------------------------------- control plane


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
            changed = replace(message, stamp=self.changed(message.stamp))
            datagram = decode(action.frame)
            action = replace(action, frame=encode(changed, datagram.source, datagram.destination))
        yield action

    def changed(self, stamp: Stamp) -> Stamp:
        raise NotImplementedError


class RestoresWithoutSequence(_ChangesMessages):
    """RESTORE has sequence 0 in place of the record's own."""

    op = Op.RESTORE

    def changed(self, stamp: Stamp) -> Stamp:
        return replace(stamp, incarnation=0, number=0)


class TrustsSurvivors(_ChangesMessages):
    """A recovery fills entries with each record as the latest one."""

    op = Op.FILL

    def changed(self, stamp: Stamp) -> Stamp:
        return replace(stamp, bits=stamp.bits | Bit.LATEST)


class RestoresNoDeletes(_ChangesMessages):
    """RESTORE does not say that a record is deleted."""

    op = Op.RESTORE

    def changed(self, stamp: Stamp) -> Stamp:
        return replace(stamp, bits=stamp.bits & ~Bit.DELETED)


class IgnoresServersSequence(_Mutant):
    """A recovery does not compare its records with those of the servers."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._restored: dict[bytes, Stamp] = {}

    def change_action(self, action: Action) -> Iterator[Action]:
        message = message_of(action)
        if message is not None and message.op is Op.RESTORE and message.stamp is not None:
            self._restored[message.key] = message.stamp
        yield action

    def change_event(self, event: Event) -> Event | None:
        if isinstance(event, PacketIn):
            datagram = decode(event.frame)
            message = datagram.message
            if message.op is Op.RESTORE_REPLY:
                again = replace(message, stamp=self._restored[message.key])
                frame = encode(again, datagram.source, datagram.destination)
                return replace(event, frame=frame)
        return event


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

    tail = ("distreach/incarnation.p4", "set(0, 0, 0, 255);", "set(0, 0, 0, 0);")

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
