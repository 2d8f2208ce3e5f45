"""Mutants of FarReach's control plane: each lacks one protection.

Most change events and actions, so they do not depend on the implementation; the others change one
rule of one part, which they name.
"""

# Hooks have the parameters of the interface, whether they use them or not.

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from netkv.control.base import (
    Action,
    Event,
    InsertEntry,
    Nanoseconds,
    PacketIn,
    Save,
    Saved,
    SendFrame,
    SetDefault,
)
from netkv.model.messages import Bit, Message, Op, Stamp, decode, encode
from netkv.schemes.farreach.checkpoint_format import State, from_bytes, to_bytes
from netkv.schemes.farreach.control_plane import FarReach
from netkv.schemes.farreach.release import Releases
from netkv.schemes.farreach.snapshot import Taken
from tests.schemes import mutants
from tests.schemes.mutants import Mutant, message_of
from tests.schemes.scripted_rack import LOOKUP

INCARNATION = "NetkvEgress.incarnation.current"
SETTINGS = "NetkvIngress.settings.settings"


class _Mutant(Mutant, FarReach):
    """FarReach's control plane with other events and actions."""


class AssumesInserted(mutants.AssumesInserted, FarReach):
    """VALIDATE is sent before all pipelines have the lookup entry."""


class AssumesDeleted(mutants.AssumesDeleted, FarReach):
    """An entry is free before the switch has confirmed the deletion of its lookup entry."""


class IgnoresRefusals(mutants.IgnoresRefusals, FarReach):
    """A deletion that the switch has refused counts as done."""


class RepeatsNothing(mutants.RepeatsNothing, FarReach):
    """Every message is sent once."""


class IgnoresRestarts(mutants.IgnoresRestarts, FarReach):
    """The control plane ignores restarts of the switch."""


class SkipsRetire(mutants.Skipping, FarReach):
    """Lookup entries are deleted while the entry still answers requests."""

    op = Op.RETIRE


class SkipsRestore(mutants.Skipping, FarReach):
    """Servers do not get records that only the switch has."""

    op = Op.RESTORE


class ForgetsDeletes(mutants.Skipping, FarReach):
    """Deletions are not restored."""

    op = Op.RESTORE

    def skips(self, message: Message) -> bool:
        return bool(message.stamp and message.stamp.bits & Bit.DELETED)


class BelievesLoads(_Mutant):
    """The record of a LOAD counts also if it was overwritten after the snapshot point."""

    def change_event(self, event: Event) -> Event | None:
        if isinstance(event, PacketIn):
            datagram = decode(event.frame)
            message = datagram.message
            if message.op in (Op.LOAD_REPLY, Op.EVICT_REPLY) and message.stamp is not None:
                bits = message.stamp.bits & ~Bit.OVERWRITTEN
                stamp = replace(message.stamp, bits=bits)
                again = replace(message, stamp=stamp)
                frame = encode(again, datagram.source, datagram.destination)
                return replace(event, frame=frame)
        return event


class RedirectsNothing(_Mutant):
    """Pipelines pass the snapshot point one after the other."""

    def change_action(self, action: Action) -> Iterator[Action]:
        if isinstance(action, InsertEntry) and action.action.endswith("redirect"):
            action = replace(action, action="NetkvIngress.snapshot.idle")
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


class _SavesOther(_Mutant):
    """A part of the state is not saved."""

    def change_action(self, action: Action) -> Iterator[Action]:
        if isinstance(action, Save):
            action = replace(action, data=to_bytes(self.without(from_bytes(action.data))))
        yield action

    def without(self, state: State) -> State:
        raise NotImplementedError


class SavesNoClients(_SavesOther):
    """The next controller does not know the clients."""

    def without(self, state: State) -> State:
        return replace(state, clients=())


class SavesNoRecords(_SavesOther):
    """The next controller has no snapshot."""

    def without(self, state: State) -> State:
        return replace(state, records=())


class SavesNoIncarnation(_SavesOther):
    """The next controller begins with the first incarnation again."""

    def without(self, state: State) -> State:
        return replace(state, incarnation=0)


class AnswersUnsavedHello(_Mutant):
    """HELLO is answered before the client process is saved."""

    def handle(self, now: Nanoseconds, event: Event) -> list[Action]:
        actions = super().handle(now, event)
        if isinstance(event, PacketIn):
            datagram = decode(event.frame)
            if datagram.message.op is Op.HELLO:
                reply = datagram.message.reply(stamp=Stamp(self.statistics()["incarnation"]))
                actions.append(SendFrame(encode(reply, destination=datagram.source)))
        return actions


class KeepsIncarnation(_Mutant):
    """The switch has the same incarnation after each start."""

    def change_action(self, action: Action) -> Iterator[Action]:
        if isinstance(action, SetDefault) and action.table == INCARNATION:
            action = replace(action, params={"incarnation": 2})
        yield action


class OpensEarly(_Mutant):
    """The switch serves as soon as it has an incarnation."""

    def change_action(self, action: Action) -> Iterator[Action]:
        yield action
        if isinstance(action, SetDefault) and action.table == INCARNATION:
            params = {"sample_below": 0, "hot_threshold": 1, "epoch": 1, "open": 1}
            yield SetDefault(1 << 30, SETTINGS, "NetkvIngress.settings.configure", params)


class KeepsGeneration(_Mutant):
    """Every FILL has the same generation."""

    def change_action(self, action: Action) -> Iterator[Action]:
        if isinstance(action, InsertEntry) and action.table == LOOKUP:
            yield replace(action, params={**action.params, "generation": 1})
            return
        message = message_of(action)
        if message is not None and message.op >> 4 == 4 and message.stamp is not None:
            again = replace(message, stamp=replace(message.stamp, generation=1))
            action = SendFrame(encode(again))
        yield action


class DelaysNoRelease(Releases):
    """A late client gets the RELEASE of every snapshot, whenever it was taken."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._queued: dict[int, list[Taken]] = {}
        on_answered: Callable[..., Any] = self._on_answered

        def then(now: Nanoseconds, address: int, point: Nanoseconds) -> Iterator[Action]:
            yield from on_answered(now, address, point)
            self._answered_at.clear()
            if self._queued.get(address):
                self.begin(self._queued[address].pop(0), [address])

        self._on_answered = then

    def begin(self, taken: Taken, clients: Any) -> None:
        clients = list(clients)
        for address in clients:
            if address in self._rounds:
                self._queued.setdefault(address, []).append(taken)
        super().begin(taken, clients)
