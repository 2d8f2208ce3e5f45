"""Eviction from FarReach's cache loses no acknowledged write."""

from dataclasses import replace
from typing import Any

import pytest

from netkv.control.base import MILLISECOND, SECOND, DeleteEntry, PacketIn
from netkv.model.messages import Message, Op, encode
from tests.schemes.farreach.farreach_load import KEYS, SMALL, Load, stocked_rack
from tests.schemes.farreach.farreach_rack import DEFAULTS, IMPAIRED, UNIMPAIRED, Rack, is_valid
from tests.schemes.scripted_rack import Hop

CONFIGURATION = DEFAULTS.changed(
    cache_entries=2,
    sample_rate=1.0,
    hot_threshold=3,
    epoch=0.1,
    snapshot_period=0.0,
    drawn=8,
)
EVICTION = (Op.EVICT, Op.RESTORE, Op.RETIRE)


def make_rack(seed: int = 0, **options: Any) -> Rack:
    rack = stocked_rack(CONFIGURATION, seed, **options)
    return rack.start(preload=tuple(KEYS[: rack.configuration.options.cache_entries]))


def make_hot(rack: Rack, key: bytes, times: int = 6) -> None:
    for _ in range(times):
        rack.get(1, key)
    rack.run(20 * MILLISECOND)


def evict(rack: Rack, key: bytes) -> None:
    """Make all cached keys but `key` hot, then another key, until `key` is evicted."""
    for other in KEYS:
        if key not in rack.cached():
            return
        rack.run(rack.configuration.options.epoch_ns)
        for warm in rack.cached() - {key}:
            make_hot(rack, warm, 5)
        make_hot(rack, other)
    raise AssertionError("the key was not evicted")


def sent(rack: Rack, key: bytes) -> list[Op]:
    """Messages about the eviction of a key, without repetitions."""
    return list(
        dict.fromkeys(hop.op for hop in rack.sent if hop.message.key == key and hop.op in EVICTION)
    )


def test_coldest_entry_is_evicted_for_a_hot_key() -> None:
    rack = make_rack()
    rack.run(rack.configuration.options.epoch_ns)
    make_hot(rack, KEYS[1], 5)
    make_hot(rack, KEYS[5])
    assert rack.cached() == {KEYS[1], KEYS[5]}
    assert rack.control.statistics()["contests_won"] == 1


def test_entries_hotter_than_the_threshold_are_not_evicted() -> None:
    rack = make_rack(hot_threshold=4)
    rack.run(rack.configuration.options.epoch_ns)
    make_hot(rack, KEYS[0], 8)
    make_hot(rack, KEYS[1], 8)
    make_hot(rack, KEYS[5], 8)
    assert rack.cached() == {KEYS[0], KEYS[1]}
    assert rack.control.statistics()["contests_lost"] >= 1


def test_dirty_record_is_restored_before_the_entry_is_retired() -> None:
    rack = make_rack()
    rack.put(1, KEYS[0], b"only the switch")
    evict(rack, KEYS[0])
    assert sent(rack, KEYS[0]) == [Op.EVICT, Op.RESTORE, Op.RETIRE]
    shim = rack.shims[rack.topology.owner(KEYS[0]).index]
    assert shim.store[KEYS[0]].value == b"only the switch"
    assert rack.get(2, KEYS[0]) == b"only the switch"
    assert rack.control.statistics()["records_restored"] == 1
    assert rack.violations() == []


def test_clean_record_is_not_restored() -> None:
    rack = make_rack()
    rack.get(1, KEYS[0])
    evict(rack, KEYS[0])
    assert sent(rack, KEYS[0]) == [Op.EVICT, Op.RETIRE]


@pytest.mark.parametrize("pipelines", [1, 2, 4])
def test_lookup_entries_are_deleted_after_the_entry_is_retired(pipelines: int) -> None:
    rack = make_rack(pipelines=pipelines)
    rack.put(1, KEYS[0], b"v")
    checked: list[int] = []

    def refuse(write: object) -> bool:
        if isinstance(write, DeleteEntry) and write.table.endswith("cache"):
            assert [hop.op for hop in rack.sent].count(Op.RETIRE) >= 1
            assert not is_valid(rack.switch.record(KEYS[0]))
            checked.append(1)
        return False

    rack.refuse = refuse
    evict(rack, KEYS[0])
    assert checked


def test_record_is_served_while_its_server_is_down() -> None:
    rack = make_rack(tries=3)
    rack.put(1, KEYS[0], b"only the switch")
    shim = rack.shims[rack.topology.owner(KEYS[0]).index]
    shim.up = False
    rack.run(rack.configuration.options.epoch_ns)
    other = next(k for k in KEYS[2:] if rack.topology.owner(k) != rack.topology.owner(KEYS[0]))
    make_hot(rack, KEYS[1], 5)
    make_hot(rack, other)
    rack.run(20 * SECOND)
    assert KEYS[0] not in rack.cached()
    named = [note.fields for note in rack.notes if note.what == "no answer"]
    assert named == [{"from": f"server {shim.host.index}", "to": "RESTORE"}]
    assert rack.get(2, KEYS[0]) == b"only the switch"
    shim.up = True
    rack.run(2 * SECOND)
    assert shim.store[KEYS[0]].value == b"only the switch"
    assert rack.control.statistics()["in_flight"] == 0
    assert rack.violations() == []


def test_evictions_to_a_dead_server_do_not_block_other_keys() -> None:
    rack = make_rack(cache_entries=8, max_in_flight=2, tries=2, drawn=8)
    dead = rack.shims[0]
    for key in KEYS[:8]:
        rack.put(1, key, b"dirty")
    dead.up = False
    alive = [key for key in KEYS if rack.topology.owner(key).index == 1]
    for _ in range(30):
        rack.run(rack.configuration.options.epoch_ns)
        for key in alive[-4:]:
            make_hot(rack, key, 4)
    assert set(alive[-4:]) <= rack.cached()
    dead.up = True
    rack.run(2 * SECOND)
    assert rack.control.statistics()["in_flight"] == 0
    assert rack.violations() == []


def test_write_lost_during_an_eviction_keeps_the_record() -> None:
    # The write is lost between switch and server; reads embed the acknowledged record.
    rack = make_rack()
    rack.put(1, KEYS[0], b"acknowledged")
    restores: list[Hop] = []

    def lost(hop: Hop) -> bool:
        message = hop.message
        if message.op is Op.RESTORE:
            restores.append(hop)
            return True
        to_server = hop.datagram.destination >> 16 == 0x0A02
        return message.op is Op.PUT and message.value == b"lost" and to_server

    rack.lost = lost
    rack.run(rack.configuration.options.epoch_ns)
    make_hot(rack, KEYS[1], 5)
    make_hot(rack, KEYS[5])
    assert restores
    rack.processes[2].begin(Op.PUT, KEYS[0], b"lost", 100 * MILLISECOND)
    rack.run(200 * MILLISECOND)
    assert rack.get(1, KEYS[0]) == b"acknowledged"
    rack.lost = lambda _: False
    rack.run(2 * SECOND)
    assert rack.get(1, KEYS[0]) == b"acknowledged"
    assert rack.violations() == []


def test_delete_is_not_undone_by_an_older_eviction() -> None:
    rack = make_rack()
    rack.put(1, KEYS[0], b"older")
    late: list[Hop] = []

    def lost(hop: Hop) -> bool:
        if hop.op is Op.RESTORE:
            late.append(hop)
        return hop.op is Op.RESTORE

    rack.lost = lost
    rack.run(rack.configuration.options.epoch_ns)
    make_hot(rack, KEYS[1], 5)
    make_hot(rack, KEYS[5])
    rack.delete(2, KEYS[0])
    assert rack.get(1, KEYS[0]) is None
    rack.lost = lambda _: False
    rack.run(2 * SECOND)
    assert late
    assert rack.get(1, KEYS[0]) is None
    assert rack.violations() == []


@pytest.mark.parametrize("seed", range(8))
def test_evictions_on_an_impaired_network_cause_no_violation(seed: int) -> None:
    configuration = SMALL.changed(hot_threshold=5, snapshot_period=0.0, pipelines=(1, 2)[seed % 2])
    rack = Rack(configuration, seed, net=replace(IMPAIRED), channel=replace(IMPAIRED))
    rack.start(preload=tuple(KEYS[:4]))
    load = Load(rack)
    rack.run(4 * SECOND)
    load.running = False
    rack.run(2 * SECOND)
    rack.net, rack.channel = replace(UNIMPAIRED), replace(UNIMPAIRED)
    rack.run(SECOND)
    statistics = rack.control.statistics()
    assert statistics["evictions"] > 5
    assert statistics["in_flight"] == 0
    assert statistics["cached"] + statistics["free_entries"] == SMALL.options.cache_entries
    assert rack.violations() == []


def admit_and_evict(rack: Rack) -> None:
    """Admissions and evictions, of dirty and of clean records."""
    rack.start(preload=tuple(KEYS[:2]))
    rack.put(1, KEYS[0], b"dirty")
    rack.put(1, KEYS[1], b"dirty, too")
    for key in KEYS[4:8]:
        rack.run(100 * MILLISECOND)
        for _ in range(4):
            rack.processes[1].begin(Op.GET, key)
            rack.run(2 * MILLISECOND)
        rack.run(10 * MILLISECOND)
        rack.processes[2].begin(Op.PUT, key, b"new " + key[:4])


def test_controller_crash_during_evictions_loses_nothing() -> None:
    configuration = CONFIGURATION.changed(hot_threshold=2, max_in_flight=1)
    whole = stocked_rack(configuration)
    admit_and_evict(whole)
    assert whole.control.statistics()["evictions"] >= 3
    assert whole.control.statistics()["records_restored"] >= 2
    first = stocked_rack(configuration).start(preload=tuple(KEYS[:2])).steps
    for step in range(first, whole.steps):
        rack = stocked_rack(configuration)
        rack.steps_left = step
        admit_and_evict(rack)
        if rack.controller_down:
            rack.run(20 * MILLISECOND)
            rack.replace_controller()
        rack.run_until(rack.control.ready)
        rack.run(2 * SECOND)
        assert rack.violations() == [], f"after {step} steps"


def test_stray_replies_are_only_counted() -> None:
    rack = make_rack()
    before = rack.control.statistics()["cached"]
    fill = next(hop.message for hop in rack.sent if hop.op is Op.FILL)
    stray = Message(Op.EVICT_REPLY, KEYS[0], 77, stamp=fill.stamp, slot=fill.slot)
    rack.handle(PacketIn(1, encode(stray, 0x0A000064, 0x0A000001), rack.switch.name))
    rack.run(10 * MILLISECOND)
    assert rack.control.statistics()["stray_replies"] >= 1
    assert rack.control.statistics()["cached"] == before
