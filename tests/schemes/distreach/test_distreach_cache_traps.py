"""Traps of admissions and evictions in a chain (docs/schemes/distreach.md, "Admission and
eviction").

Every trap runs its script over the programs that ship and the real control plane, which must do no
harm, and with each mutant, which must do harm. The table of both is in `docs/internals/traps.md`.
"""

from __future__ import annotations

import pytest

from netkv.control.base import MILLISECOND, SECOND, DeleteEntry, InsertEntry, Preload
from netkv.model.messages import Op
from tests.schemes.distreach import control_mutants, program_mutants
from tests.schemes.distreach.distreach_rack import System
from tests.schemes.distreach.distreach_traps import (
    KEY,
    KEYS,
    LOST,
    STALE,
    UNSERVED,
    admit,
    between,
    cached_rack,
    check,
    evict,
    make_rack,
    read,
    ready_rack,
)
from tests.schemes.scripted_rack import LOOKUP, Hop, observing
from tests.schemes.traps import count_every_copy, suffered
from tests.schemes.virtual_rack import Network

LARGE = bytes(200)
"""A value that no entry can store."""

# ------------------------------------------------------------------------------------ scripts


def write_arrives_within_an_admission(system: type[System]) -> str:
    rack = ready_rack(system, layers=3)
    head, _, tail = rack.chain(KEY)
    rack.catch(between("controller", head, Op.FILL))
    admit(rack)
    rack.put(1, KEY, b"second")
    rack.catches = lambda _: False
    rack.crash_switch(tail)
    rack.recover()
    return "" if read(rack) == b"second" else LOST


def write_arrives_within_an_eviction(system: type[System]) -> str:
    rack = cached_rack(system, layers=3)
    tail = rack.chain(KEY)[-1]
    rack.catch(between("controller", tail, Op.RETIRE))
    evict(rack)
    rack.put(1, KEY, b"second")
    rack.release()
    rack.run(100 * MILLISECOND)
    assert KEY not in tail.lookup()
    return "" if read(rack) == b"second" else LOST


def write_arrives_before_the_record_is_restored(system: type[System]) -> str:
    rack = cached_rack(system)
    tail = rack.chain(KEY)[-1]
    rack.lost = lambda hop: hop.op is Op.RESTORE
    evict(rack)
    rack.put(1, KEY, b"second")
    rack.lost = lambda _: False
    rack.run(SECOND)
    assert KEY not in tail.lookup()
    return "" if read(rack) == b"second" else LOST


def tail_is_lost_between_the_halves_of_an_eviction(system: type[System]) -> str:
    """A write arrives meanwhile, so the head has an older record than the server."""
    rack = cached_rack(system)
    head, tail = rack.chain(KEY)
    rack.catch(between("controller", head, Op.RETIRE))
    evict(rack)
    assert KEY in head.lookup()
    assert KEY not in tail.lookup()
    rack.put(1, KEY, LARGE)
    rack.crash_switch(tail)
    rack.recover()
    rack.release()
    rack.run(20 * MILLISECOND)
    return "" if read(rack) == LARGE else STALE


def dirty_record_is_evicted(system: type[System]) -> str:
    rack = cached_rack(system)
    evict(rack)
    return "" if read(rack) == b"cached" else LOST


def lookup_entry_cannot_be_deleted(system: type[System]) -> str:
    rack = make_rack(system, cache_entries=1)
    other = next(key for key in KEYS[1:] if rack.chain(key) == rack.chain(KEY))
    rack.start(preload=(KEY,))
    head = rack.chain(KEY)[0]
    rack.refuse = lambda write: isinstance(write, DeleteEntry) and write.switch == head.name
    evict(rack)
    admit(rack, other)
    return ""


def switch_refuses_an_entry_of_a_recovery(system: type[System]) -> str:
    rack = cached_rack(system)
    head, tail = rack.chain(KEY)
    rack.refuse = lambda write: (
        isinstance(write, InsertEntry) and write.switch == head.name and write.table == LOOKUP
    )
    rack.crash_switch(head)
    rack.recover()
    rack.refuse = lambda _: False
    rack.put(1, KEY, b"second")
    rack.crash_switch(tail)
    rack.recover()
    return "" if read(rack) == b"second" else LOST


def preload_on_a_lossy_network(system: type[System]) -> str:
    rack = make_rack(system, layers=3)
    rack.net = rack.channel = Network(loss=0.25, duplication=0.25, max_delay=MILLISECOND)
    rack.start_controller()
    rack.handle(Preload(tuple(KEYS[:8])))
    rack.run(10 * SECOND)
    return "" if rack.control.ready() and len(rack.control.cached_keys()) == 8 else UNSERVED


def recovery_on_a_lossy_network(system: type[System]) -> str:
    rack = make_rack(system, layers=3).start(preload=KEYS[:8])
    for key in KEYS[:8]:
        rack.put(1, key, b"written")
    rack.net = rack.channel = Network(loss=0.25, duplication=0.25, max_delay=MILLISECOND)
    for switch in rack.chain(KEY):
        rack.crash_switch(switch)
        rack.run(10 * SECOND)
        if not rack.control.ready():
            return UNSERVED
    lost = any(read(rack, key=key) != b"written" for key in KEYS[:8])
    return LOST if lost else ""


def copies_of_control_messages_come_late(system: type[System]) -> str:
    rack = make_rack(system)
    head, tail = rack.chain(KEY)
    rack.start()
    seen: list[Hop] = []
    rack.lost = observing(seen.append)
    admit(rack)
    rack.put(1, KEY, b"cached")
    rack.put(1, KEY, b"second")
    copies = [
        hop for hop in seen for end in (head, tail) if between("controller", end, Op.FILL)(hop)
    ]
    assert len(copies) == 2
    rack.release(*copies)
    if read(rack) != b"second":
        return LOST
    rack.crash_switch(tail)
    rack.recover()
    return "" if read(rack) == b"second" else LOST


def copy_of_a_removal_comes_when_the_key_is_cached_again(system: type[System]) -> str:
    rack = cached_rack(system)
    tail = rack.chain(KEY)[-1]
    removals = rack.catch(between("controller", tail, Op.RETIRE))
    evict(rack)
    (removal, *_) = removals
    rack.release(removal)
    rack.run(20 * MILLISECOND)
    entry = tail.lookup().get(KEY)
    assert entry is None
    admit(rack)
    rack.put(1, KEY, b"second")
    rack.deliver(removal)
    return "" if read(rack) == b"second" else LOST


def key_is_cached_a_second_time(system: type[System]) -> str:
    rack = make_rack(system, cache_entries=1)
    other = next(key for key in KEYS[1:] if rack.chain(key) == rack.chain(KEY))
    rack.start(preload=(KEY,))
    evict(rack)
    admit(rack, other)
    rack.put(1, other, b"first write")
    reply = rack.put(1, other, b"second write")
    return "" if reply.cache_hit else UNSERVED


def messages_are_duplicated(system: type[System]) -> str:
    rack = make_rack(system)
    rack.channel = Network(duplication=1.0, max_delay=MILLISECOND)
    rack.start(preload=KEYS[:6])
    for key in KEYS[:6]:
        rack.put(1, key, b"written")
        evict(rack, key)
    rack.run(SECOND)
    free = rack.control.statistics()["free_entries"]
    chains = len(rack.control._all)
    return "" if free == chains * rack.configuration.options.cache_entries else "an entry is lost"


# -------------------------------------------------------------------------------------- traps


def test_write_within_an_admission_is_in_all_switches() -> None:
    """Admission begins at the first layer: if the tail has the entry, all other switches have it.
    A switch stores a write only if all switches before it have it."""
    check(write_arrives_within_an_admission, (control_mutants.AdmitsTailFirst, LOST))


def test_write_within_an_eviction_is_not_lost() -> None:
    """Eviction begins at the last layer, and a frozen tail forwards writes to the server."""
    check(write_arrives_within_an_eviction, (control_mutants.EvictsHeadFirst, LOST))


def test_write_after_the_record_was_frozen_is_not_lost() -> None:
    """After EVICT the tail stores no write."""
    check(write_arrives_before_the_record_is_restored, (program_mutants.FrozenEntriesStore, LOST))


def test_tail_lost_within_an_eviction_brings_no_old_record_back() -> None:
    """A recovered record is not the latest: the server may have a later one."""
    check(
        tail_is_lost_between_the_halves_of_an_eviction,
        (program_mutants.RecoveriesFillTheLatest, STALE),
    )


def test_dirty_record_is_restored_before_it_is_removed() -> None:
    """RESTORE is answered before the entry is removed from any switch."""
    check(dirty_record_is_evicted, (control_mutants.SkipsRestore, LOST))


def test_entry_is_reused_only_after_all_deletions() -> None:
    """An entry is free when all switches have confirmed the deletion, and not if one refuses it."""
    twice = "an entry number for two keys"
    check(
        lookup_entry_cannot_be_deleted,
        (control_mutants.AssumesDeleted, twice),
        (control_mutants.IgnoresRefusals, twice),
    )


def test_entry_that_a_switch_refuses_is_in_no_switch() -> None:
    """An entry that some switch does not take is removed from all of them."""
    check(switch_refuses_an_entry_of_a_recovery, (control_mutants.TrustsRefusedEntries, LOST))


def test_unanswered_messages_are_repeated() -> None:
    """Messages to switches and servers are repeated until they are answered."""
    check(preload_on_a_lossy_network, (control_mutants.RepeatsNothing, UNSERVED))


def test_unanswered_messages_of_a_recovery_are_repeated() -> None:
    """LOAD, RESTORE and FILL are repeated until they are answered."""
    check(recovery_on_a_lossy_network, (control_mutants.RepeatsNothing, UNSERVED))


def test_copy_of_an_admission_undoes_no_write() -> None:
    """A FILL has an effect once: a copy of it has the generation that the entry has already."""
    check(copies_of_control_messages_come_late, (program_mutants.FillsAnyGeneration, LOST))


def test_copy_of_a_removal_removes_no_later_record() -> None:
    """A message about an entry has an effect only on its own generation."""
    check(
        copy_of_a_removal_comes_when_the_key_is_cached_again,
        (program_mutants.RetiresAnyGeneration, LOST),
    )


def test_no_generation_is_used_twice() -> None:
    """Every filling of an entry has a new generation."""
    check(key_is_cached_a_second_time, (control_mutants.KeepsGeneration, UNSERVED))


def test_copies_of_answers_have_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of an answer has no effect.

    Mutant: every copy counts.
    """
    check(messages_are_duplicated)
    count_every_copy(monkeypatch)
    assert suffered(messages_are_duplicated, System) == "the control plane fails"
