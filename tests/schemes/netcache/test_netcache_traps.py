"""Traps whose protection is in NetCache's control plane.

Every trap plays its script with the original control plane, which must do no harm, and with each
mutant, which must do harm. A mutant removes a protection by changing events and actions (`handle`),
so it does not depend on the implementation. Traps with the real switch and roles are in
`engine/roles/tests/netcache/traps`; the table of both is in `docs/testing.md`.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from netkv.control.base import (
    MILLISECOND,
    SECOND,
    Action,
    DeleteEntry,
    Event,
    InsertEntry,
    PacketIn,
    Preload,
    SendFrame,
)
from netkv.control.messages import CacheMetadata, Message, Op, decode, encode
from netkv.control.topology import CONTROLLER_IP, Topology
from netkv.schemes.netcache.control_plane import NetCache
from netkv.schemes.netcache.parameters import NetCacheParameters
from tests.schemes import mutants, traps
from tests.schemes.mutants import Mutant, message_of
from tests.schemes.netcache.netcache_rack import LOOKUP, FakeRack, key_of
from tests.schemes.traps import count_every_copy, suffered
from tests.schemes.virtual_rack import Network

TOPOLOGY = Topology.of_ports([1], [2, 3])
KEYS = [key_of(i) for i in range(4)]
QUICK = Network(slowest=MILLISECOND // 100)
LOSSY = Network(loss=0.25)

Script = Callable[[type[NetCache]], str]
"""Plays a script; returns the harm to a user, "" for none."""

# ------------------------------------------------------------------------------- mutants


class AssumesInserted(mutants.AssumesInserted, NetCache):
    """INSTALL is sent before the lookup entry is confirmed."""


class AssumesDeleted(mutants.AssumesDeleted, NetCache):
    """An entry's number and cells are free before the switch has deleted it."""


class IgnoresRefusals(mutants.IgnoresRefusals, NetCache):
    """A deletion that the switch has refused counts as done."""


class RepeatsNothing(mutants.RepeatsNothing, NetCache):
    """Every message is sent once."""


class IgnoresRestarts(mutants.IgnoresRestarts, NetCache):
    """The control plane ignores restarts of the switch."""


class _Mutant(Mutant, NetCache):
    """NetCache's control plane with other events and actions."""


class KeepsGeneration(_Mutant):
    """Every insertion has the same generation."""

    def change_action(self, action: Action) -> Iterator[Action]:
        message = message_of(action)
        if isinstance(action, InsertEntry) and action.table == LOOKUP:
            action = replace(action, params={**action.params, "generation": 1})
        elif (
            message is not None
            and message.cache_metadata is not None
            and message.op is not Op.EPOCH
        ):
            metadata = replace(message.cache_metadata, generation=1)
            action = SendFrame(encode(replace(message, cache_metadata=metadata)))
        yield action


class TakesAnyOutgrown(_Mutant):
    """OUTGROWN of an earlier entry counts for the present one."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._latest: dict[bytes, int] = {}

    def change_event(self, event: Event) -> Event | None:
        if isinstance(event, PacketIn):
            datagram = decode(event.frame)
            message = datagram.message
            if message.op is Op.OUTGROWN:
                message = replace(
                    message, cache_metadata=CacheMetadata(self._latest.get(message.key, 0))
                )
                frame = encode(message, datagram.source, datagram.destination)
                event = replace(event, frame=frame)
        return event

    def change_action(self, action: Action) -> Iterator[Action]:
        if isinstance(action, InsertEntry) and action.table == LOOKUP:
            key = action.match["key"]
            assert isinstance(key, int)
            self._latest[key.to_bytes(16)] = action.params["generation"]
        yield action


class IgnoresOutgrown(_Mutant):
    """OUTGROWN is ignored."""

    def change_event(self, event: Event) -> Event | None:
        if isinstance(event, PacketIn) and decode(event.frame).message.op is Op.OUTGROWN:
            return None
        return event


class TellsNobody(_Mutant):
    """EVICTED is not sent."""

    def change_action(self, action: Action) -> Iterator[Action]:
        message = message_of(action)
        if message is None or message.op is not Op.EVICTED:
            yield action


# ------------------------------------------------------------------------------- scripts


def rack(
    control: type[NetCache], network: Network = QUICK, seed: int = 0, **options: Any
) -> FakeRack:
    """A rack that is up, without cached keys."""
    it = FakeRack(control(TOPOLOGY, NetCacheParameters(**options)), dict.fromkeys(KEYS, 128), seed)
    it.start()
    it.run_until(it.control.ready, SECOND)
    it.network = network
    return it


def cache(it: FakeRack, key: bytes) -> None:
    it.tell(Preload((key,)))
    it.run(100 * MILLISECOND)


def key_comes_in(control: type[NetCache]) -> str:
    it = rack(control)
    cache(it, KEYS[0])
    return "" if it.readable(KEYS[0]) else "not served"


def key_comes_in_over_a_bad_network(control: type[NetCache]) -> str:
    it = rack(control, LOSSY, seed=1)
    it.tell(Preload(tuple(KEYS)))
    it.run(10 * SECOND)
    return "" if all(map(it.readable, KEYS)) else "not served"


def messages_are_doubled(control: type[NetCache]) -> str:
    it = rack(control, Network(doubling=1.0))
    it.tell(Preload(tuple(KEYS)))
    it.run(SECOND)
    return "" if all(map(it.readable, KEYS)) else "not served"


def entry_cannot_be_deleted(control: type[NetCache]) -> str:
    it = rack(control, capacity=1, rows=1)
    cache(it, KEYS[0])
    it.refuse = lambda write: isinstance(write, DeleteEntry)
    it.outgrown(KEYS[0])
    it.run(100 * MILLISECOND)
    cache(it, KEYS[1])
    return "a value under another key" if KEYS[1] in it.entries else ""


def key_comes_in_again(control: type[NetCache]) -> str:
    it = rack(control)
    cache(it, KEYS[0])
    first = it.entries[KEYS[0]].generation
    it.outgrown(KEYS[0])
    it.run(100 * MILLISECOND)
    cache(it, KEYS[0])
    return "" if it.entries[KEYS[0]].generation > first else "a former generation is accepted"


def switch_restarts(control: type[NetCache]) -> str:
    it = rack(control)
    cache(it, KEYS[0])
    first = it.entries[KEYS[0]].generation
    it.restart_switch()
    it.run(SECOND)
    if not it.readable(KEYS[0]):
        return "not served"
    return "" if it.entries[KEYS[0]].generation > first else "a former generation is accepted"


def late_outgrown(control: type[NetCache]) -> str:
    it = rack(control)
    cache(it, KEYS[0])
    late = Message(
        Op.OUTGROWN, KEYS[0], 1, 0x8000, cache_metadata=CacheMetadata(it.records[KEYS[0]])
    )
    it.outgrown(KEYS[0])
    it.run(100 * MILLISECOND)
    cache(it, KEYS[0])
    it.tell(PacketIn(2, encode(late, 0x0A020000, CONTROLLER_IP)))
    it.run(100 * MILLISECOND)
    return "" if it.readable(KEYS[0]) else "not served"


def value_outgrows_its_entry(control: type[NetCache]) -> str:
    it = rack(control)
    cache(it, KEYS[0])
    it.outgrown(KEYS[0])
    it.run(100 * MILLISECOND)
    return "" if KEYS[0] not in it.entries else "a place is lost"


def eviction_over_a_bad_network(control: type[NetCache]) -> str:
    it = rack(control)
    for key in KEYS:
        cache(it, key)
    it.network = LOSSY
    for key in KEYS:
        it.outgrown(key)
    it.run(10 * SECOND)
    return "all writes of the key stay slow" if it.records else ""


# --------------------------------------------------------------------------------- traps


BELIEVED = "a former generation is accepted|asserted"  # the rack asserts that too


def check(script: Script, *harms: tuple[type[NetCache], str]) -> None:
    """The original control plane does no harm; each mutant does the harm named with it."""
    traps.check(script, NetCache, *harms)


def test_entry_is_filled_only_when_reads_can_find_it() -> None:
    """INSTALL is sent when the lookup entry is confirmed."""
    check(key_comes_in, (AssumesInserted, "not served"))


def test_key_comes_in_although_messages_are_lost() -> None:
    """ADMIT and INSTALL are repeated until answered."""
    check(key_comes_in_over_a_bad_network, (RepeatsNothing, "not served"))


def test_copies_of_answers_bring_no_entry_in_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of an answer has no effect.

    Mutant: every copy counts.
    """
    check(messages_are_doubled)
    count_every_copy(monkeypatch)
    assert suffered(messages_are_doubled, NetCache) == "inserted twice"


def test_place_of_an_entry_that_is_still_found_is_not_given_to_another_key() -> None:
    """Entry number and cells are free when the deletion is confirmed, and not if it is refused."""
    twice = "an entry number for two keys"
    check(entry_cannot_be_deleted, (AssumesDeleted, twice), (IgnoresRefusals, twice))


def test_readmitted_key_has_a_new_generation() -> None:
    """No generation is given twice."""
    check(key_comes_in_again, (KeepsGeneration, BELIEVED))


def test_restarted_switch_gives_keys_new_generations() -> None:
    """After a restart all keys are admitted again under new generations."""
    check(switch_restarts, (KeepsGeneration, BELIEVED), (IgnoresRestarts, "not served"))


def test_late_news_of_a_former_entry_does_not_cost_the_key_its_place() -> None:
    """OUTGROWN evicts only the entry of its generation."""
    check(late_outgrown, (TakesAnyOutgrown, "not served"))


def test_place_of_an_outgrown_value_is_freed() -> None:
    """OUTGROWN evicts the entry."""
    check(value_outgrows_its_entry, (IgnoresOutgrown, "a place is lost"))


def test_server_is_told_of_an_eviction_although_messages_are_lost() -> None:
    """EVICTED is repeated until answered."""
    slow = "all writes of the key stay slow"
    check(eviction_over_a_bad_network, (RepeatsNothing, slow), (TellsNobody, slow))
