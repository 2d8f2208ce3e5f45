"""Eviction from FarReach's cache: no acknowledged write is lost meanwhile."""

from dataclasses import replace

import pytest

from netkv.control.base import MILLISECOND, SECOND, DeleteEntry
from netkv.control.messages import Datagram, Message, Op
from netkv.schemes.farreach.parameters import FarReachParameters
from tests.schemes.farreach.farreach_load import KEYS, SMALL, Load
from tests.schemes.farreach.farreach_rack import CALM, ROUGH, Rack
from tests.schemes.farreach.farreach_switch import is_valid

OPTIONS = FarReachParameters(
    capacity=2,
    sample_rate=1.0,
    hot_threshold=3,
    epoch=100 * MILLISECOND,
    snapshot_period=0,
    drawn=8,
)
OUT = (Op.EVICT, Op.RESTORE, Op.RETIRE)


def stocked(it: Rack) -> Rack:
    for key in KEYS:
        it.store(key, b"first " + key[:4])
    return it


def rack(seed: int = 0, **options: object) -> Rack:
    it = stocked(Rack(replace(OPTIONS, **options), seed))  # type: ignore[arg-type]
    return it.start(preload=tuple(KEYS[: it.parameters.capacity]))


def make_hot(it: Rack, key: bytes, times: int = 6) -> None:
    for _ in range(times):
        it.get(1, key)
    it.run(20 * MILLISECOND)


def evict(it: Rack, key: bytes) -> None:
    """Make all cached keys but `key` hot, then another key, until `key` is evicted."""
    for other in KEYS:
        if key not in it.cached():
            return
        it.run(it.parameters.epoch)
        for warm in it.cached() - {key}:
            make_hot(it, warm, 5)
        make_hot(it, other)
    raise AssertionError("it would not go")


def sent(it: Rack, key: bytes) -> list[Op]:
    """Messages about the eviction of a key, without repetitions."""
    return list(dict.fromkeys(each.op for each in it.sent if each.key == key and each.op in OUT))


def test_coldest_entry_gives_way_to_a_hot_key() -> None:
    it = rack()
    it.run(it.parameters.epoch)
    make_hot(it, KEYS[1], 5)
    make_hot(it, KEYS[5])
    assert it.cached() == {KEYS[1], KEYS[5]}
    assert it.control.statistics()["contests_won"] == 1


def test_entries_that_are_hotter_than_the_threshold_keep_their_places() -> None:
    it = rack(hot_threshold=4)
    it.run(it.parameters.epoch)
    make_hot(it, KEYS[0], 8)
    make_hot(it, KEYS[1], 8)
    make_hot(it, KEYS[5], 8)
    assert it.cached() == {KEYS[0], KEYS[1]}
    assert it.control.statistics()["contests_lost"] >= 1


def test_dirty_record_is_with_its_server_before_the_entry_stops_answering() -> None:
    it = rack()
    it.put(1, KEYS[0], b"only the switch")
    evict(it, KEYS[0])
    assert sent(it, KEYS[0]) == [Op.EVICT, Op.RESTORE, Op.RETIRE]
    shim = it.shims[it.topology.owner(KEYS[0]).index]
    assert shim.store[KEYS[0]].value == b"only the switch"
    assert it.get(2, KEYS[0]) == b"only the switch"
    assert it.control.statistics()["records_restored"] == 1
    assert it.complaints() == []


def test_clean_record_need_not_be_restored() -> None:
    it = rack()
    it.get(1, KEYS[0])
    evict(it, KEYS[0])
    assert sent(it, KEYS[0]) == [Op.EVICT, Op.RETIRE]


@pytest.mark.parametrize("pipelines", [1, 2, 4])
def test_lookup_entries_go_when_the_entry_is_retired(pipelines: int) -> None:
    it = rack(pipelines=pipelines)
    it.put(1, KEYS[0], b"v")
    checked: list[int] = []

    def refuse(write: object) -> bool:
        if isinstance(write, DeleteEntry) and write.table.endswith("cache"):
            assert [message.op for message in it.sent].count(Op.RETIRE) >= 1
            assert not is_valid(it.switch.record(KEYS[0]))
            checked.append(1)
        return False

    it.refuse = refuse
    evict(it, KEYS[0])
    assert checked


def test_record_is_served_while_its_server_is_down_and_the_server_is_named_once() -> None:
    it = rack(tries=3)
    it.put(1, KEYS[0], b"only the switch")
    shim = it.shims[it.topology.owner(KEYS[0]).index]
    shim.up = False
    it.run(it.parameters.epoch)
    other = next(k for k in KEYS[2:] if it.topology.owner(k) != it.topology.owner(KEYS[0]))
    make_hot(it, KEYS[1], 5)
    make_hot(it, other)
    it.run(20 * SECOND)
    assert KEYS[0] not in it.cached()
    named = [note.fields for note in it.notes if note.what == "no answer"]
    assert named == [{"from": f"server {shim.host.index}", "to": "RESTORE"}]
    assert it.get(2, KEYS[0]) == b"only the switch"
    shim.up = True
    it.run(2 * SECOND)
    assert shim.store[KEYS[0]].value == b"only the switch"
    assert it.control.statistics()["in_flight"] == 0
    assert it.complaints() == []


def test_evictions_that_a_dead_server_holds_up_keep_no_other_key_out() -> None:
    it = rack(capacity=8, max_in_flight=2, tries=2, drawn=8)
    dead = it.shims[0]
    for key in KEYS[:8]:
        it.put(1, key, b"dirty")
    dead.up = False
    alive = [key for key in KEYS if it.topology.owner(key).index == 1]
    for _ in range(30):
        it.run(it.parameters.epoch)
        for key in alive[-4:]:
            make_hot(it, key, 4)
    assert set(alive[-4:]) <= it.cached()
    dead.up = True
    it.run(2 * SECOND)
    assert it.control.statistics()["in_flight"] == 0
    assert it.complaints() == []


def test_write_lost_behind_the_switch_during_an_eviction_does_not_lose_the_record() -> None:
    # eviction with the write lost between switch and server: embedding serves the acknowledged one
    it = rack()
    it.put(1, KEYS[0], b"acknowledged")
    restores: list[Datagram] = []

    def lost(datagram: Datagram) -> bool:
        message = datagram.message
        if message.op is Op.RESTORE:
            restores.append(datagram)
            return True
        to_server = datagram.destination >> 16 == 0x0A02
        return message.op is Op.PUT and message.value == b"lost" and to_server

    it.lost = lost
    it.run(it.parameters.epoch)
    make_hot(it, KEYS[1], 5)
    make_hot(it, KEYS[5])
    assert restores
    it.processes[2].begin(Op.PUT, KEYS[0], b"lost", 100 * MILLISECOND)
    it.run(200 * MILLISECOND)
    assert it.get(1, KEYS[0]) == b"acknowledged"
    it.lost = lambda _: False
    it.run(2 * SECOND)
    assert it.get(1, KEYS[0]) == b"acknowledged"
    assert it.complaints() == []


def test_delete_is_not_undone_by_an_older_eviction() -> None:
    it = rack()
    it.put(1, KEYS[0], b"older")
    late: list[Datagram] = []

    def lost(datagram: Datagram) -> bool:
        if datagram.message.op is Op.RESTORE:
            late.append(datagram)
        return datagram.message.op is Op.RESTORE

    it.lost = lost
    it.run(it.parameters.epoch)
    make_hot(it, KEYS[1], 5)
    make_hot(it, KEYS[5])
    it.delete(2, KEYS[0])
    assert it.get(1, KEYS[0]) is None
    it.lost = lambda _: False
    it.run(2 * SECOND)
    assert late
    assert it.get(1, KEYS[0]) is None
    assert it.complaints() == []


@pytest.mark.parametrize("seed", range(8))
def test_users_notice_nothing_of_entries_that_come_and_go_on_a_bad_network(seed: int) -> None:
    options = replace(SMALL, hot_threshold=5, snapshot_period=0, pipelines=(1, 2)[seed % 2])
    it = Rack(options, seed, net=replace(ROUGH), channel=replace(ROUGH))
    it.start(preload=tuple(KEYS[:4]))
    load = Load(it)
    it.run(4 * SECOND)
    load.on = False
    it.run(2 * SECOND)
    it.net, it.channel = replace(CALM), replace(CALM)
    it.run(SECOND)
    statistics = it.control.statistics()
    assert statistics["evictions"] > 5
    assert statistics["in_flight"] == 0
    assert statistics["cached"] + statistics["free_entries"] == SMALL.capacity
    assert it.complaints() == []


def eventful_life(it: Rack) -> None:
    """Admissions and evictions, of dirty and of clean records."""
    it.start(preload=tuple(KEYS[:2]))
    it.put(1, KEYS[0], b"dirty")
    it.put(1, KEYS[1], b"dirty, too")
    for key in KEYS[4:8]:
        it.run(100 * MILLISECOND)
        for _ in range(4):
            it.processes[1].begin(Op.GET, key)
            it.run(2 * MILLISECOND)
        it.run(10 * MILLISECOND)
        it.processes[2].begin(Op.PUT, key, b"new " + key[:4])


def test_controller_that_dies_between_any_two_steps_of_an_eviction_loses_nothing() -> None:
    options = replace(OPTIONS, hot_threshold=2, max_in_flight=1)
    whole = stocked(Rack(options))
    eventful_life(whole)
    assert whole.control.statistics()["evictions"] >= 3
    assert whole.control.statistics()["records_restored"] >= 2
    first = stocked(Rack(options)).start(preload=tuple(KEYS[:2])).steps
    for step in range(first, whole.steps):
        it = stocked(Rack(options))
        it.steps_left = step
        eventful_life(it)
        if it.dead:
            it.run(20 * MILLISECOND)
            it.replace_controller()
        it.run_until(it.control.ready)
        it.run(2 * SECOND)
        assert it.complaints() == [], f"after {step} steps"


def test_message_about_an_entry_of_which_nothing_is_known_is_counted_and_no_more() -> None:
    it = rack()
    before = it.control.statistics()["cached"]
    fill = next(message for message in it.sent if message.op is Op.FILL)
    stray = Message(Op.EVICT_REPLY, KEYS[0], 77, stamp=fill.stamp, slot=fill.slot)
    it._leave(1, 510, Datagram(0x0A000064, 0x0A000001, stray))
    it.run(10 * MILLISECOND)
    assert it.control.statistics()["stray_replies"] >= 1
    assert it.control.statistics()["cached"] == before
