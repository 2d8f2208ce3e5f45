"""FarReach's control plane without one of its protections each.

Most take it out at the seam (events in, actions out), so they hold whatever is inside; the others
are edits of one rule of one part, and say which.
"""

# What a mutant may look at it need not.
# ruff: noqa: ARG002

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
from netkv.control.messages import Bit, Message, Op, Stamp, decode, encode
from netkv.control.topology import CONTROLLER_IP
from netkv.schemes.farreach.checkpoint_format import State, from_bytes, to_bytes
from netkv.schemes.farreach.control_plane import FarReach
from netkv.schemes.farreach.release import Releases
from netkv.schemes.farreach.snapshot import Taken
from tests.schemes import mutants
from tests.schemes.mutants import LOOKUP, Mutant, message_of

INCARNATION = "NetkvEgress.incarnation.current"
SETTINGS = "NetkvIngress.settings.settings"


class _Mutant(Mutant, FarReach):
    """FarReach's control plane with other events and actions."""

    def answer(self, message: Message) -> Iterator[Action]:
        """As if this had been answered: ok."""
        reply = message.reply(stamp=message.stamp, place=message.place)
        yield from self.hear(PacketIn(1, encode(reply, CONTROLLER_IP, CONTROLLER_IP)))


class AssumesInserted(mutants.AssumesInserted, FarReach):
    """VALIDATE leaves before all pipelines lead to the entry."""


class AssumesDeleted(mutants.AssumesDeleted, FarReach):
    """An entry's number is free before the switch says that the key is forgotten."""


class IgnoresRefusals(mutants.IgnoresRefusals, FarReach):
    """A deletion that the switch has refused counts as done."""


class RepeatsNothing(mutants.RepeatsNothing, FarReach):
    """Every message is sent once."""


class IgnoresRestarts(mutants.IgnoresRestarts, FarReach):
    """A switch that has lost everything is left as it is."""


class _Skipping(_Mutant):
    """Messages of one kind are not sent, and taken for done."""

    op: Op

    def says(self, action: Action) -> Iterator[Action]:
        message = message_of(action)
        if message is not None and message.op is self.op and self.skips(message):
            yield from self.answer(message)
        else:
            yield action

    def skips(self, message: Message) -> bool:
        return True


class SkipsRetire(_Skipping):
    """Lookup entries go while the entry still answers."""

    op = Op.RETIRE


class SkipsRestore(_Skipping):
    """Servers do not get what the switch alone has."""

    op = Op.RESTORE


class ForgetsDeletes(_Skipping):
    """Deletions are not replayed."""

    op = Op.RESTORE

    def skips(self, message: Message) -> bool:
        return bool(message.stamp and message.stamp.bits & Bit.DELETED)


class BelievesLoads(_Mutant):
    """What LOAD says is the record, also if it was overwritten since the point."""

    def hears(self, event: Event) -> Event | None:
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

    def says(self, action: Action) -> Iterator[Action]:
        if isinstance(action, InsertEntry) and action.action.endswith("redirect"):
            action = replace(action, action="NetkvIngress.snapshot.idle")
        yield action


class AssumesSaved(_Mutant):
    """What is to be saved counts at once."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._assumed: set[int] = set()

    def hears(self, event: Event) -> Event | None:
        return None if isinstance(event, Saved) and event.save in self._assumed else event

    def says(self, action: Action) -> Iterator[Action]:
        yield action
        if isinstance(action, Save):
            self._assumed.add(action.save)
            yield from self.hear(Saved(action.save, ok=True))


class _SavesOther(_Mutant):
    """Something is not saved."""

    def says(self, action: Action) -> Iterator[Action]:
        if isinstance(action, Save):
            action = replace(action, data=to_bytes(self.without(from_bytes(action.data))))
        yield action

    def without(self, state: State) -> State:
        raise NotImplementedError


class SavesNoClients(_SavesOther):
    """The next controller does not know whom to ask."""

    def without(self, state: State) -> State:
        return replace(state, clients=())


class SavesNoRecords(_SavesOther):
    """The next controller has no snapshot."""

    def without(self, state: State) -> State:
        return replace(state, records=())


class SavesNoLife(_SavesOther):
    """The next controller begins with the incarnations again."""

    def without(self, state: State) -> State:
        return replace(state, incarnation=0)


class GreetsUnsaved(_Mutant):
    """HELLO is answered at once."""

    def handle(self, now: Nanoseconds, event: Event) -> list[Action]:
        actions = super().handle(now, event)
        if isinstance(event, PacketIn):
            datagram = decode(event.frame)
            if datagram.message.op is Op.HELLO:
                reply = datagram.message.reply(stamp=Stamp(self.statistics()["incarnation"]))
                actions.append(SendFrame(encode(reply, destination=datagram.source)))
        return actions


class KeepsLife(_Mutant):
    """The switch has the same incarnation after each start."""

    def says(self, action: Action) -> Iterator[Action]:
        if isinstance(action, SetDefault) and action.table == INCARNATION:
            action = replace(action, params={"incarnation": 2})
        yield action


class OpensEarly(_Mutant):
    """The switch serves as soon as it has an incarnation."""

    def says(self, action: Action) -> Iterator[Action]:
        yield action
        if isinstance(action, SetDefault) and action.table == INCARNATION:
            params = {"sample_below": 0, "hot_threshold": 1, "epoch": 1, "open": 1}
            yield SetDefault(1 << 30, SETTINGS, "NetkvIngress.settings.configure", params)


class KeepsGeneration(_Mutant):
    """Every filling has the same generation."""

    def says(self, action: Action) -> Iterator[Action]:
        if isinstance(action, InsertEntry) and action.table == LOOKUP:
            yield replace(action, params={**action.params, "generation": 1})
            return
        message = message_of(action)
        if message is not None and message.op >> 4 == 4 and message.stamp is not None:
            again = replace(message, stamp=replace(message.stamp, generation=1))
            action = SendFrame(encode(again))
        yield action


class DelaysNoRelease(Releases):
    """A late client hears of every snapshot, one after the other, whenever it was taken."""

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
