"""Traps whose protection is in DistCache's control plane.

Every trap runs its script with the original control plane, which must do no harm, and with each
mutant, which must do harm. The switches run the programs that ship. Traps of the real server are in
`engine/roles/tests/distcache`; the table of both is in `docs/internals/traps.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from netkv._engine import frame_op
from netkv.control.base import (
    MILLISECOND,
    SECOND,
    Action,
    Event,
    ModifyEntry,
    PacketIn,
    Preload,
    SendFrame,
    SwitchLost,
    TableWritten,
)
from netkv.model.messages import Op, decode, encode
from netkv.schemes.distcache.control_plane import DistCache
from tests.schemes import mutants, traps
from tests.schemes.distcache.distcache_rack import (
    CONFIGURATION,
    KEYS,
    LEAVES,
    NETWORK,
    SPINES,
    DistCacheRack,
)
from tests.schemes.mutants import Mutant, message_of
from tests.schemes.traps import count_every_copy, suffered
from tests.schemes.virtual_rack import Network

KEY = KEYS[0]
"""Its copies are in `spine-0` and `leaf-0`; its server is at `leaf-0`."""
SPINE, LEAF = SPINES[0], LEAVES[0]
SERVER = f"server-{NETWORK.switches[0].topology.owner(KEY).index}"
EXCLUSION = "NetkvIngress.choice.upper_copy.switches"

Script = Callable[[type[DistCache]], str]
"""Runs a scenario; returns the harm to a user, "" for none."""

# ------------------------------------------------------------------------------- mutants


class AssumesInserted(mutants.AssumesInserted, DistCache):
    """INSTALL is sent before the lookup entry is confirmed."""


class AssumesDeleted(mutants.AssumesDeleted, DistCache):
    """EVICTED is sent before the switch has deleted the lookup entry."""


class AssumesExcluded(mutants.Assuming, DistCache):
    """EVICTED is sent before the switches of clients send no reads to a lost spine."""

    kind = ModifyEntry
    table = EXCLUSION


class RepeatsNothing(mutants.RepeatsNothing, DistCache):
    """Every message is sent once."""


class IgnoresRestarts(mutants.IgnoresRestarts, DistCache):
    """The control plane ignores restarts of switches; it has filled their tables once."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self._known: set[str] = set()

    def change_event(self, event: Event) -> Event | None:
        name = getattr(event, "switch", "")
        first = name not in self._known
        self._known.add(name)
        return event if first else super().change_event(event)


class _Mutant(Mutant, DistCache):
    """DistCache's control plane with other events and actions."""


class IgnoresLosses(_Mutant):
    """The control plane does not notice that a switch is lost."""

    def change_event(self, event: Event) -> Event | None:
        return None if isinstance(event, SwitchLost) else event


class SkipsEvicted(_Mutant):
    """Servers get no EVICTED."""

    def change_action(self, action: Action) -> Iterator[Action]:
        message = message_of(action)
        if message is None or message.op is not Op.EVICTED:
            yield action


class ExcludesNothing(_Mutant):
    """Switches of clients send reads to lost spines, too."""

    def change_action(self, action: Action) -> Iterator[Action]:
        if isinstance(action, ModifyEntry) and action.table == EXCLUSION and not action.params:
            yield from self.inject(_written(action))
        else:
            yield action


class IncludesNothing(_Mutant):
    """A spine that runs again gets no reads."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self._lost = False

    def change_event(self, event: Event) -> Event | None:
        self._lost = self._lost or isinstance(event, SwitchLost)
        return event

    def change_action(self, action: Action) -> Iterator[Action]:
        included = isinstance(action, ModifyEntry) and action.table == EXCLUSION and action.params
        if not (included and self._lost):
            yield action


class AnswersRestartedAtOnce(_Mutant):
    """RESTARTED is answered before the copies are installed again."""

    def change_event(self, event: Event) -> Event | None:
        self._answers: list[Action] = []
        if isinstance(event, PacketIn) and frame_op(event.frame) is Op.RESTARTED:
            datagram = decode(event.frame)
            frame = encode(datagram.message.reply(), destination=datagram.source)
            self._answers.append(SendFrame(frame, switch=event.switch))
        return event

    def handle(self, now: int, event: Event) -> list[Action]:
        actions = super().handle(now, event)
        return [*self._answers, *actions]


class IgnoresRestarted(_Mutant):
    """RESTARTED is not answered."""

    def change_event(self, event: Event) -> Event | None:
        restarted = isinstance(event, PacketIn) and frame_op(event.frame) is Op.RESTARTED
        return None if restarted else event


class ForgetsLayers(_Mutant):
    """Messages about an upper copy do not say so."""

    def change_action(self, action: Action) -> Iterator[Action]:
        if isinstance(action, SendFrame):
            datagram = decode(action.frame)
            message = replace(datagram.message, upper=False)
            frame = encode(message, datagram.source, datagram.destination)
            action = replace(action, frame=frame)
        yield action


def _written(action: ModifyEntry) -> Event:
    return TableWritten(action.write, ok=True, switch=action.switch)


# ------------------------------------------------------------------------------- scripts


def rack_of(control: type[DistCache], *, preload: bool = True, seed: int = 0) -> DistCacheRack:
    """A rack in which the key is cached in both layers, and clients read and write it."""
    rack = DistCacheRack(control(NETWORK, *CONFIGURATION), seed)
    rack.start()
    rack.run(3 * MILLISECOND)
    if preload:
        rack.handle(Preload((KEY,)))
        rack.run_until(rack.control.ready, SECOND)
    rack.load(KEY)
    rack.run(10 * MILLISECOND)
    return rack


def outcome(rack: DistCacheRack, *switches: str) -> str:
    """Whether all requests are answered, and these caches answer reads of the key."""
    rack.run(200 * MILLISECOND)
    if rack.late():
        return "no answer"
    return "" if all(rack.serves(name) for name in switches) else "not served"


def key_is_admitted_under_writes(control: type[DistCache]) -> str:
    """Writes of the key are pending when its two copies are admitted; table writes take longer than
    messages to the server."""
    rack = rack_of(control, preload=False)
    rack.pipeline_time = 200_000
    rack.handle(Preload((KEY,)))
    return outcome(rack, SPINE, LEAF)


def copies_are_evicted_under_writes(control: type[DistCache]) -> str:
    """Both copies are evicted while the key is written and read; table writes are slow."""
    rack = rack_of(control)
    rack.pipeline_time = 5 * MILLISECOND
    rack.outgrown(KEY, upper=True)
    rack.run(20 * MILLISECOND)
    rack.outgrown(KEY, upper=False)
    return outcome(rack)


def spine_is_lost(control: type[DistCache]) -> str:
    """A spine fails while a write waits for its answer."""
    rack = rack_of(control)
    rack.crash(SPINE)
    return outcome(rack, LEAF)


def spine_is_unreachable(control: type[DistCache]) -> str:
    """Controller and servers cannot reach a spine; clients can."""
    rack = rack_of(control)
    servers = (Op.INVALIDATE, Op.UPDATE)
    rack.lost = lambda hop: hop.to == SPINE and hop.op in servers
    rack.run(10 * MILLISECOND)
    rack.pipeline_time = 5 * MILLISECOND
    rack.lose(SPINE)
    return outcome(rack, LEAF)


def spine_restarts(control: type[DistCache]) -> str:
    """A spine fails and runs again."""
    rack = rack_of(control)
    rack.crash(SPINE)
    rack.run(50 * MILLISECOND)
    rack.recover(SPINE)
    return outcome(rack, SPINE, LEAF)


def leaf_restarts(control: type[DistCache]) -> str:
    """A leaf fails and runs again."""
    rack = rack_of(control)
    rack.crash(LEAF)
    rack.run(50 * MILLISECOND)
    rack.recover(LEAF)
    return outcome(rack, SPINE, LEAF)


def server_restarts(control: type[DistCache]) -> str:
    """A server restarts; the answers of the control plane to its start are slow to arrive."""
    rack = rack_of(control)
    rack.delay = lambda hop: 20 * MILLISECOND if hop.op is Op.INSTALL and hop.to == SERVER else 0
    rack.start_server(SERVER)
    rack.run(100 * MILLISECOND)
    return outcome(rack, SPINE, LEAF)


def server_restarts_without_its_spine(control: type[DistCache]) -> str:
    """A server restarts after a spine was lost."""
    rack = rack_of(control)
    rack.crash(SPINE)
    rack.run(50 * MILLISECOND)
    rack.start_server(SERVER)
    return outcome(rack, LEAF)


def control_messages_are_lost(control: type[DistCache]) -> str:
    """Three in ten of the messages from and to the controller are lost, during all its work."""
    rack = rack_of(control, preload=False, seed=3)
    rack.channel = Network(loss=0.3, max_delay=rack.net.max_delay)
    rack.handle(Preload((KEY,)))
    rack.run(300 * MILLISECOND)
    rack.start_server(SERVER)
    rack.run(300 * MILLISECOND)
    rack.crash(SPINE)
    rack.run(50 * MILLISECOND)
    rack.recover(SPINE)
    rack.run(500 * MILLISECOND)
    rack.channel = rack.net
    return outcome(rack, SPINE, LEAF)


def control_messages_are_duplicated(control: type[DistCache]) -> str:
    """Every message from and to the controller arrives twice, the copy later."""
    rack = rack_of(control, preload=False)
    rack.channel = Network(duplication=1.0, max_delay=3 * MILLISECOND)
    rack.handle(Preload((KEY,)))
    rack.run(100 * MILLISECOND)
    rack.outgrown(KEY, upper=True)
    rack.run(100 * MILLISECOND)
    rack.handle(Preload((KEY,)))
    return outcome(rack, SPINE, LEAF)


# --------------------------------------------------------------------------------- traps


def check(script: Script, *harms: tuple[type[DistCache], str]) -> None:
    """The original control plane does no harm; each mutant does the harm named with it."""
    traps.check(script, DistCache, *harms)


def test_copies_are_filled_after_their_entries_are_confirmed() -> None:
    """INSTALL is sent when the lookup entry is confirmed, and says which copy it is about."""
    check(
        key_is_admitted_under_writes,
        (AssumesInserted, "not served"),
        (ForgetsLayers, "not served|a stale read"),
    )


def test_evicted_copy_is_not_read_after_a_write() -> None:
    """EVICTED is sent when the deletion of the lookup entry is confirmed."""
    check(copies_are_evicted_under_writes, (AssumesDeleted, "a stale read"))


def test_writes_do_not_wait_for_a_lost_spine() -> None:
    """EVICTED for the copies of a lost switch ends the wait of servers for its answers."""
    check(spine_is_lost, (IgnoresLosses, "no answer"), (SkipsEvicted, "no answer"))


def test_spine_thought_lost_answers_no_old_value() -> None:
    """No read is sent to a spine when servers are notified that it is lost."""
    stale = "a stale read"
    check(spine_is_unreachable, (AssumesExcluded, stale), (ExcludesNothing, stale))


def test_restarted_spine_serves_again() -> None:
    """A spine that runs again gets its tables, its entries and then reads."""
    unserved = "not served"
    check(spine_restarts, (IgnoresRestarts, "no answer|not served"), (IncludesNothing, unserved))


def test_restarted_leaf_serves_again() -> None:
    """A leaf that runs again gets its tables and its entries."""
    check(leaf_restarts, (IgnoresRestarts, "no answer|not served"))


def test_restarted_server_learns_its_upper_copies() -> None:
    """RESTARTED is answered when all upper copies of the server's keys are installed again."""
    check(server_restarts, (AnswersRestartedAtOnce, "a stale read"))


def test_restarted_server_does_not_wait_for_a_lost_spine() -> None:
    """RESTARTED is answered, also if there are no upper copies."""
    check(server_restarts_without_its_spine, (IgnoresRestarted, "no answer"))


def test_control_plane_works_although_messages_are_lost() -> None:
    """Messages of the controller are repeated until answered."""
    check(control_messages_are_lost, (RepeatsNothing, "no answer|not served"))


def test_copies_of_control_messages_have_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of an answer has no effect.

    Mutant: every copy counts.
    """
    check(control_messages_are_duplicated)
    count_every_copy(monkeypatch)
    assert suffered(control_messages_are_duplicated, DistCache)
