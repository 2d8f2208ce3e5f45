"""Traps of cache entries and messages whose protection is in FarReach's control plane.

Every trap runs its script with the original control plane, which must do no harm, and with each
mutant, which must do harm. The table of both is in `docs/internals/traps.md`.
"""

import pytest

from netkv.control.base import MILLISECOND, SECOND, DeleteEntry, Preload
from netkv.kits.write_back.entries import Candidate
from netkv.schemes.farreach.control_plane import FarReach
from tests.schemes.farreach import farreach_mutants as mutants
from tests.schemes.farreach.farreach_load import KEYS
from tests.schemes.farreach.farreach_rack import Net
from tests.schemes.farreach.farreach_traps import KEY, LOST, check, evict, make_rack, read
from tests.schemes.traps import count_every_copy, suffered

# ------------------------------------------------------------------------------------ scripts


def pipelines_learn_a_key_one_by_one(control: type[FarReach]) -> str:
    rack = make_rack(control, pipelines=2).start()
    rack.pipeline_time = 20 * MILLISECOND
    rack.handle(Preload((KEY,)))

    for number in range(20):
        written = b"write %d" % number
        rack.put(2, KEY, written)  # by pipeline 0, which knows the key first
        found = read(rack, 1)
        if found != written:
            return "a stale read"
    return ""


def pipelines_delete_a_key_one_by_one(control: type[FarReach]) -> str:
    rack = make_rack(control, pipelines=2)
    # The server is at pipeline 0, so its replies arrive where the key is deleted first.
    key = next(key for key in KEYS if rack.topology.owner(key).port % 2 == 0)
    rack.start(preload=(key,))
    rack.put(1, key, b"old")
    rack.pipeline_time = 20 * MILLISECOND
    evict(rack, key)
    rack.run(25 * MILLISECOND)  # pipeline 0 has deleted it, pipeline 1 has not
    for number in range(30):
        written = b"write %d" % number
        rack.put(2, key, written)
        if read(rack, 1, key) != written:
            return "a stale read"
    return ""


def lookup_entry_cannot_be_deleted(control: type[FarReach]) -> str:
    rack = make_rack(control, pipelines=2, cache_entries=1).start(preload=(KEY,))
    rack.refuse = lambda write: isinstance(write, DeleteEntry)
    evict(rack, KEY, Candidate(KEYS[1]))
    rack.run(SECOND)
    return ""


def dirty_record_is_evicted(control: type[FarReach]) -> str:
    rack = make_rack(control).start(preload=(KEY,))
    rack.put(1, KEY, b"dirty")
    evict(rack, KEY)
    rack.run(100 * MILLISECOND)
    return "" if read(rack, 2) == b"dirty" else LOST


def preload_on_a_lossy_network(control: type[FarReach]) -> str:
    rack = make_rack(control)
    rack.net, rack.channel = Net(loss=0.3), Net(loss=0.3)
    rack.replace_controller()
    rack.handle(Preload(tuple(KEYS[:4])))
    rack.run(10 * SECOND)
    return "" if rack.control.ready() and len(rack.cached()) == 4 else "not served"


def entry_is_filled_for_another_key(control: type[FarReach]) -> str:
    rack = make_rack(control, cache_entries=1).start(preload=(KEY,))
    evict(rack, KEY)
    rack.run(50 * MILLISECOND)
    rack.handle(Preload((KEYS[1],)))
    rack.run(50 * MILLISECOND)
    return "" if rack.put(1, KEYS[1], b"v").cache_hit else "not served"


def messages_are_duplicated(control: type[FarReach]) -> str:
    rack = make_rack(control)
    rack.channel = Net(duplication=1.0, max_delay=MILLISECOND)
    rack.start(preload=tuple(KEYS[:4]))
    for key in KEYS[:4]:
        rack.put(1, key, b"v")
        evict(rack, key)
    rack.run(SECOND)
    statistics = rack.control.statistics()
    return "" if statistics["free_entries"] == 4 else "an entry is lost"


# -------------------------------------------------------------------------------------- traps


def test_entry_is_validated_after_all_lookup_entries() -> None:
    """VALIDATE is sent when the lookup entry is in all pipelines."""
    check(pipelines_learn_a_key_one_by_one, (mutants.AssumesInserted, "a stale read"))


def test_entry_is_retired_before_its_lookup_entries_are_deleted() -> None:
    """RETIRE is answered before the lookup entry is deleted."""
    check(pipelines_delete_a_key_one_by_one, (mutants.SkipsRetire, "a stale read"))


def test_entry_is_reused_only_after_its_deletion_is_confirmed() -> None:
    """An entry is free when the deletion is confirmed, and not if it is refused."""
    twice = "an entry number for two keys"
    check(
        lookup_entry_cannot_be_deleted,
        (mutants.AssumesDeleted, twice),
        (mutants.IgnoresRefusals, twice),
    )


def test_dirty_record_is_restored_before_its_entry_is_retired() -> None:
    """RESTORE is answered before RETIRE is sent."""
    check(dirty_record_is_evicted, (mutants.SkipsRestore, LOST))


def test_unanswered_messages_are_repeated() -> None:
    """Messages are repeated until answered."""
    check(preload_on_a_lossy_network, (mutants.RepeatsNothing, "not served"))


def test_no_generation_is_used_twice() -> None:
    """Every FILL has a new generation."""
    check(entry_is_filled_for_another_key, (mutants.KeepsGeneration, "not served"))


def test_copies_of_answers_have_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of an answer has no effect.

    Mutant: every copy counts.
    """
    check(messages_are_duplicated)
    count_every_copy(monkeypatch)
    assert suffered(messages_are_duplicated, FarReach) != ""
