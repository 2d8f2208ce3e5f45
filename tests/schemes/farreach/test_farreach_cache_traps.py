"""Traps of entries of the cache and of messages whose protection is in FarReach's control plane.

Every trap plays its script with the control plane as it is, where all must be well, and with each
mutant, where it must not. The table of both is in `docs/testing.md`.
"""

import pytest

from netkv.control.base import MILLISECOND, SECOND, DeleteEntry, Preload
from netkv.schemes.farreach.control_plane import FarReach
from netkv.schemes.farreach.entries import Candidate
from tests.schemes.farreach import farreach_mutants as mutants
from tests.schemes.farreach.farreach_load import KEYS
from tests.schemes.farreach.farreach_rack import Net
from tests.schemes.farreach.farreach_traps import KEY, LOST, check, evict, rack, read
from tests.schemes.traps import count_every_copy, suffered

# ------------------------------------------------------------------------------------ scripts


def key_comes_in_pipeline_by_pipeline(control: type[FarReach]) -> str:
    it = rack(control, pipelines=2).start()
    it.pipeline_time = 20 * MILLISECOND
    it.tell(Preload((KEY,)))
    told: bytes | str | None = b"first " + KEY[:4]
    for number in range(20):
        written = b"write %d" % number
        it.put(2, KEY, written)  # by pipeline 0, which knows the key first
        told = read(it, 1)
        if told != written:
            return "a stale read"
    return ""


def key_goes_out_pipeline_by_pipeline(control: type[FarReach]) -> str:
    it = rack(control, pipelines=2)
    # Its server is at pipeline 0: replies about it come in where the key is forgotten first.
    key = next(key for key in KEYS if it.topology.owner(key).port % 2 == 0)
    it.start(preload=(key,))
    it.put(1, key, b"old")
    it.pipeline_time = 20 * MILLISECOND
    evict(it, key)
    it.run(25 * MILLISECOND)  # pipeline 0 has forgotten it, pipeline 1 has not
    for number in range(30):
        written = b"write %d" % number
        it.put(2, key, written)
        if read(it, 1, key) != written:
            return "a stale read"
    return ""


def lookup_entry_cannot_be_deleted(control: type[FarReach]) -> str:
    it = rack(control, pipelines=2, capacity=1).start(preload=(KEY,))
    it.refuse = lambda write: isinstance(write, DeleteEntry)
    evict(it, KEY, Candidate(KEYS[1]))
    it.run(SECOND)
    return ""


def dirty_record_is_evicted(control: type[FarReach]) -> str:
    it = rack(control).start(preload=(KEY,))
    it.put(1, KEY, b"dirty")
    evict(it, KEY)
    it.run(100 * MILLISECOND)
    return "" if read(it, 2) == b"dirty" else LOST


def everything_on_a_bad_network(control: type[FarReach]) -> str:
    it = rack(control)
    it.net, it.channel = Net(loss=0.3), Net(loss=0.3)
    it.replace_controller()
    it.tell(Preload(tuple(KEYS[:4])))
    it.run(10 * SECOND)
    return "" if it.control.ready() and len(it.cached()) == 4 else "not served"


def key_comes_in_again(control: type[FarReach]) -> str:
    it = rack(control, capacity=1).start(preload=(KEY,))
    evict(it, KEY)
    it.run(50 * MILLISECOND)
    it.tell(Preload((KEYS[1],)))
    it.run(50 * MILLISECOND)
    return "" if it.put(1, KEYS[1], b"v").cache_hit else "not served"


def messages_are_doubled(control: type[FarReach]) -> str:
    it = rack(control)
    it.channel = Net(doubling=1.0, slowest=MILLISECOND)
    it.start(preload=tuple(KEYS[:4]))
    for key in KEYS[:4]:
        it.put(1, key, b"v")
        evict(it, key)
    it.run(SECOND)
    statistics = it.control.statistics()
    return "" if statistics["free_entries"] == 4 else "a place is lost"


# -------------------------------------------------------------------------------------- traps


def test_key_is_served_when_all_pipelines_lead_to_it() -> None:
    """VALIDATE is sent when the lookup entry is in all pipelines."""
    check(key_comes_in_pipeline_by_pipeline, (mutants.AssumesInserted, "a stale read"))


def test_entry_stops_answering_before_any_pipeline_forgets_it() -> None:
    """RETIRE is answered before the lookup entry is deleted."""
    check(key_goes_out_pipeline_by_pipeline, (mutants.SkipsRetire, "a stale read"))


def test_place_of_an_entry_that_is_still_found_is_given_to_no_other_key() -> None:
    """An entry is free when the deletion is confirmed, and not if it is refused."""
    twice = "an entry number for two keys"
    check(
        lookup_entry_cannot_be_deleted,
        (mutants.AssumesDeleted, twice),
        (mutants.IgnoresRefusals, twice),
    )


def test_dirty_record_reaches_its_server_before_its_entry_goes() -> None:
    """RESTORE is answered before RETIRE is sent."""
    check(dirty_record_is_evicted, (mutants.SkipsRestore, LOST))


def test_all_that_is_asked_is_repeated() -> None:
    """Messages are repeated until answered."""
    check(everything_on_a_bad_network, (mutants.RepeatsNothing, "not served"))


def test_no_generation_is_given_twice() -> None:
    """Every filling has a new generation."""
    check(key_comes_in_again, (mutants.KeepsGeneration, "not served"))


def test_copies_of_answers_do_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of an answer has no effect.

    Mutant: every copy counts.
    """
    check(messages_are_doubled)
    count_every_copy(monkeypatch)
    assert suffered(messages_are_doubled, FarReach) != ""
