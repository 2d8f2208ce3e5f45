"""Traps whose protection is in NetCache's control plane.

Every trap runs its script with the original control plane, which must do no harm, and with each
mutant, which must do harm. A mutant removes a protection by changing events and actions (`handle`),
so it does not depend on the implementation. Traps of switch and roles are in
`engine/roles/tests/netcache/traps`; the table of both is in `docs/internals/traps.md`.
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
from netkv.model.messages import CacheMetadata, Op, decode, encode
from netkv.schemes.netcache.control_plane import NetCache
from tests.schemes import mutants, traps
from tests.schemes.mutants import Mutant, message_of
from tests.schemes.netcache.netcache_rack import DEFAULTS, TOPOLOGY, NetCacheRack
from tests.schemes.scripted_rack import LOOKUP, key_of
from tests.schemes.traps import count_every_copy, suffered
from tests.schemes.virtual_rack import Network

KEYS = [key_of(i) for i in range(4)]
QUICK = Network(max_delay=MILLISECOND // 100)
LOSSY = Network(loss=0.25)

Script = Callable[[type[NetCache]], str]
"""Runs a scenario; returns the harm to a user, "" for none."""

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


class AcceptsAnyOutgrown(_Mutant):
    """OUTGROWN of an earlier entry evicts the current one."""

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


class SkipsEvicted(_Mutant):
    """EVICTED is not sent."""

    def change_action(self, action: Action) -> Iterator[Action]:
        message = message_of(action)
        if message is None or message.op is not Op.EVICTED:
            yield action


# ------------------------------------------------------------------------------- scripts


def make_rack(
    control: type[NetCache], network: Network = QUICK, seed: int = 0, **options: Any
) -> NetCacheRack:
    """A rack that is up, without cached keys."""
    rack = NetCacheRack(
        control(TOPOLOGY, *DEFAULTS.changed(**options)), dict.fromkeys(KEYS, 128), seed
    )
    rack.start_controller()
    rack.run_until(rack.control.ready, SECOND)
    rack.impair(network)
    return rack


def cache(rack: NetCacheRack, key: bytes) -> None:
    rack.handle(Preload((key,)))
    rack.run(100 * MILLISECOND)


def key_is_admitted(control: type[NetCache]) -> str:
    rack = make_rack(control)
    cache(rack, KEYS[0])
    return "" if rack.readable(KEYS[0]) else "not served"


def keys_are_admitted_on_a_lossy_network(control: type[NetCache]) -> str:
    rack = make_rack(control, LOSSY, seed=2)
    rack.handle(Preload(tuple(KEYS)))
    rack.run(10 * SECOND)
    return "" if all(map(rack.readable, KEYS)) else "not served"


def messages_are_duplicated(control: type[NetCache]) -> str:
    rack = make_rack(control, Network(duplication=1.0))
    rack.handle(Preload(tuple(KEYS)))
    rack.run(SECOND)
    return "" if rack.serves(KEYS) else "not served"


def entry_cannot_be_deleted(control: type[NetCache]) -> str:
    rack = make_rack(control, cache_entries=1, cache_rows=1)
    cache(rack, KEYS[0])
    rack.refuse = lambda write: isinstance(write, DeleteEntry)
    rack.outgrown(KEYS[0])
    rack.run(100 * MILLISECOND)
    cache(rack, KEYS[1])
    return "a value under another key" if KEYS[1] in rack.entries else ""


def key_is_admitted_again(control: type[NetCache]) -> str:
    rack = make_rack(control)
    cache(rack, KEYS[0])
    first = rack.entries[KEYS[0]]["generation"]
    rack.outgrown(KEYS[0])
    rack.run(100 * MILLISECOND)
    cache(rack, KEYS[0])
    return "" if rack.entries[KEYS[0]]["generation"] > first else "a former generation is accepted"


def switch_restarts(control: type[NetCache]) -> str:
    rack = make_rack(control)
    cache(rack, KEYS[0])
    first = rack.entries[KEYS[0]]["generation"]
    rack.restart_switch()
    rack.run(SECOND)
    if not rack.readable(KEYS[0]):
        return "not served"
    return "" if rack.entries[KEYS[0]]["generation"] > first else "a former generation is accepted"


def late_outgrown(control: type[NetCache]) -> str:
    rack = make_rack(control)
    cache(rack, KEYS[0])
    late = rack.report(KEYS[0])
    rack.outgrown(KEYS[0])
    rack.run(100 * MILLISECOND)
    cache(rack, KEYS[0])
    rack.handle(PacketIn(2, late))
    rack.run(100 * MILLISECOND)
    return "" if rack.readable(KEYS[0]) else "not served"


def value_outgrows_its_entry(control: type[NetCache]) -> str:
    rack = make_rack(control)
    cache(rack, KEYS[0])
    rack.outgrown(KEYS[0])
    rack.run(100 * MILLISECOND)
    return "" if KEYS[0] not in rack.entries else "an entry is lost"


def eviction_over_a_bad_network(control: type[NetCache]) -> str:
    rack = make_rack(control, seed=1)
    for key in KEYS:
        cache(rack, key)
    rack.impair(LOSSY)
    for key in KEYS:
        rack.outgrown(key)
    rack.run(10 * SECOND)
    return "all writes of the key stay slow" if rack.count("cached_keys") else ""


# --------------------------------------------------------------------------------- traps


ACCEPTED = "a former generation is accepted"  # the rack asserts this, too


def check(script: Script, *harms: tuple[type[NetCache], str]) -> None:
    """The original control plane does no harm; each mutant does the harm named with it."""
    traps.check(script, NetCache, *harms)


def test_entry_is_filled_after_its_lookup_entry_is_confirmed() -> None:
    """INSTALL is sent when the lookup entry is confirmed."""
    check(key_is_admitted, (AssumesInserted, "not served"))


def test_admission_completes_although_messages_are_lost() -> None:
    """ADMIT and INSTALL are repeated until answered."""
    check(keys_are_admitted_on_a_lossy_network, (RepeatsNothing, "not served"))


def test_copies_of_answers_insert_no_entry_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of an answer has no effect.

    Mutant: every copy counts.
    """
    check(messages_are_duplicated)
    count_every_copy(monkeypatch)
    harm = suffered(messages_are_duplicated, NetCache)
    assert harm == f"Table '{LOOKUP}' has an entry with these matches already."


def test_entry_is_reused_only_after_its_deletion_is_confirmed() -> None:
    """Entry number and cells are free when the deletion is confirmed, and not if it is refused."""
    twice = "an entry number for two keys"
    check(entry_cannot_be_deleted, (AssumesDeleted, twice), (IgnoresRefusals, twice))


def test_readmitted_key_has_a_new_generation() -> None:
    """No generation is used twice."""
    check(key_is_admitted_again, (KeepsGeneration, ACCEPTED))


def test_restarted_switch_gives_keys_new_generations() -> None:
    """After a restart all keys are admitted again under new generations."""
    check(switch_restarts, (KeepsGeneration, ACCEPTED), (IgnoresRestarts, "not served"))


def test_late_outgrown_does_not_evict_a_new_entry() -> None:
    """OUTGROWN evicts only the entry of its generation."""
    check(late_outgrown, (AcceptsAnyOutgrown, "not served"))


def test_entry_of_an_outgrown_value_is_freed() -> None:
    """OUTGROWN evicts the entry."""
    check(value_outgrows_its_entry, (IgnoresOutgrown, "an entry is lost"))


def test_server_gets_evicted_although_messages_are_lost() -> None:
    """EVICTED is repeated until answered."""
    slow = "all writes of the key stay slow"
    check(eviction_over_a_bad_network, (RepeatsNothing, slow), (SkipsEvicted, slow))
