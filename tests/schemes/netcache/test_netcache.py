"""NetCache's control plane in the test rack: admission, eviction, restarts, faults."""

from typing import Any

import pytest

from netkv.control.base import (
    MILLISECOND,
    SECOND,
    Action,
    DeleteEntry,
    InsertEntry,
    PacketIn,
    Preload,
    TableWritten,
)
from netkv.control.forwarding import PARTITION, ROUTE
from netkv.control.message_numbers import is_newer
from netkv.control.slots import MAX_ROWS
from netkv.kits.write_through.digests import HotKey
from netkv.model.messages import CacheMetadata, Message, Op, Status, encode
from netkv.model.topology import CONTROLLER_IP
from netkv.schemes.netcache.control_plane import SAMPLING, TRIES, NetCache
from netkv.schemes.netcache.options import NetCacheOptions
from tests.schemes.netcache.netcache_rack import (
    DEFAULTS,
    TOPOLOGY,
    UNIMPAIRED,
    NetCacheRack,
    encode_hot_key,
)
from tests.schemes.scripted_rack import LOOKUP, Hop, key_of
from tests.schemes.virtual_rack import Network

KEYS = [key_of(i) for i in range(200)]
IMPAIRED = Network(loss=0.1, duplication=0.1, max_delay=30 * MILLISECOND)
"""Of each cable: a message to a server and its reply pass four to eight."""


def make_rack(
    network: Network = UNIMPAIRED, seed: int = 0, length: int = 128, **changes: object
) -> NetCacheRack:
    control = NetCache(TOPOLOGY, *DEFAULTS.changed(**changes))
    return NetCacheRack(control, dict.fromkeys(KEYS, length), seed, network)


def started(*args: object, **options: object) -> NetCacheRack:
    rack = make_rack(*args, **options)  # type: ignore[arg-type]
    rack.start_controller()
    rack.run_until(rack.control.ready, SECOND)
    rack.run(100 * MILLISECOND)
    return rack


def cached(rack: NetCacheRack) -> set[bytes]:
    return set(rack.control.cached_keys())


def assert_settled(rack: NetCacheRack) -> None:
    """The control plane's state agrees with the switch, without leaks or pending operations."""
    rack.impair(UNIMPAIRED)
    rack.run(5 * SECOND)
    statistics = rack.control.statistics()
    assert statistics["in_flight"] == 0
    assert set(rack.entries) == cached(rack)
    assert rack.serves(rack.entries)
    assert not rack.waiting
    assert len(rack.entries) + statistics["free_entries"] == rack.control.options.cache_entries
    cells = sum(entry["bitmap"].bit_count() for entry in rack.entries.values())
    assert statistics["free_cells"] == (rack.control.options.cache_rows or MAX_ROWS) * 8 - cells


def test_switch_gets_partition_routes_and_sampling() -> None:
    rack = started(sample_rate=0.25, hot_threshold=9)
    assert (rack.switch.size(PARTITION), rack.switch.size(ROUTE)) == (2, 4)
    assert rack.switch.default(SAMPLING) == {
        "sample_below": 16384,
        "hot_threshold": 9,
    }


def test_hot_key_is_served_by_the_switch() -> None:
    rack = started()
    rack.hot(KEYS[0], 100)
    rack.run(50 * MILLISECOND)
    assert rack.readable(KEYS[0])
    assert [m.op for m in rack.messages if m.key == KEYS[0]] == [Op.ADMIT, Op.INSTALL]


def test_lookup_entry_is_inserted_between_admit_and_install() -> None:
    """The server blocks writes before the insertion and fills the entry after it."""
    control = NetCache(TOPOLOGY, *DEFAULTS)
    rack = NetCacheRack(control, {KEYS[0]: 40})
    rack.start_controller()
    rack.run(100 * MILLISECOND)
    trace: list[str] = []
    rack.pipeline_time = 50 * MILLISECOND  # a write that is not held is answered earlier
    carry_out = rack.carry_out

    def traced(action: Action) -> None:
        if isinstance(action, InsertEntry):
            trace.append("insert")
            rack.write(KEYS[0], 40)
            assert action.params["bitmap"].bit_count() == 3
        carry_out(action)

    rack.carry_out = traced  # type: ignore[method-assign]
    rack.hot(KEYS[0], 100)
    rack.run(45 * MILLISECOND)
    assert trace == ["insert"]
    assert rack.waiting
    rack.run(100 * MILLISECOND)
    installs = [m for m in rack.messages if m.op is Op.INSTALL]
    assert trace == ["insert"]
    assert not rack.waiting
    assert rack.readable(KEYS[0])
    assert len(installs) == 1
    generation = rack.entries[KEYS[0]]["generation"]
    assert installs[0].cache_metadata == CacheMetadata(generation, 0, 0b111)


@pytest.mark.parametrize("seed", range(20))
def test_preload_completes_on_an_impaired_network(seed: int) -> None:
    rack = make_rack(IMPAIRED, seed, max_in_flight=16)
    rack.start_controller()
    rack.handle(Preload(tuple(KEYS[:100])))
    rack.run_until(rack.control.ready, 60 * SECOND)
    # All eight tries of a key may be lost; the key is then given up.
    statistics = rack.control.statistics()
    lost = statistics.get("not_admitted", 0) + statistics.get("not_installed", 0)
    assert len(cached(rack)) == 100 - lost
    assert lost <= 10
    assert_settled(rack)


@pytest.mark.parametrize("seed", range(20))
def test_cache_is_consistent_after_restarts_and_faults(seed: int) -> None:
    rack = make_rack(
        IMPAIRED, seed, cache_entries=40, cache_rows=24, max_in_flight=8, hot_threshold=10
    )
    for key in KEYS:
        rack.store(key, rack.random.choice((1, 16, 17, 50, 128, 300)))
    rack.start_controller()
    rack.handle(Preload(tuple(KEYS[:30])))
    for _ in range(300):
        draw = rack.random.random()
        key = rack.random.choice(KEYS)
        if draw < 0.80:
            for entry in rack.random.sample(sorted(rack.entries), k=min(4, len(rack.entries))):
                rack.read(entry, rack.random.randrange(50))
            rack.hot(key, rack.random.randrange(10, 100))
        elif draw < 0.90:
            rack.outgrown(key)
        elif draw < 0.95:
            rack.write(key, rack.random.choice((1, 16, 128, 300)))
        elif draw < 0.97:
            rack.restart_switch()
        else:
            rack.servers_up = not rack.servers_up
        rack.run(rack.random.randrange(100 * MILLISECOND))
    rack.servers_up = True
    assert rack.control.statistics()["insertions"] > 20
    assert_settled(rack)


def test_coldest_drawn_entry_is_evicted_for_a_hotter_key() -> None:
    rack = started(cache_entries=4, drawn=4)
    rack.handle(Preload(tuple(KEYS[:4])))
    rack.run_until(rack.control.ready, SECOND)
    for key, reads in zip(KEYS, (90, 20, 70, 80), strict=False):
        rack.read(key, reads)
    rack.hot(KEYS[9], 50)
    rack.run(100 * MILLISECOND)
    assert cached(rack) == {KEYS[0], KEYS[2], KEYS[3], KEYS[9]}
    assert rack.readable(KEYS[9])
    assert KEYS[1] in {key for key, _ in rack.evicted}


def test_hotter_entries_are_not_evicted() -> None:
    rack = started(cache_entries=4, drawn=4)
    rack.handle(Preload(tuple(KEYS[:4])))
    rack.run_until(rack.control.ready, SECOND)
    for key in KEYS[:4]:
        rack.read(key, 50)
    rack.hot(KEYS[9], 50)
    rack.run(100 * MILLISECOND)
    assert cached(rack) == set(KEYS[:4])
    assert rack.control.statistics()["contests_lost"] == 1


def test_counts_of_different_epochs_are_not_compared() -> None:
    rack = started(cache_entries=1)
    rack.handle(Preload(tuple(KEYS[:1])))
    rack.run_until(rack.control.ready, SECOND)
    # Reported in this epoch, but the counters arrive when the next has begun and all are 0.
    deadline = rack.control.deadline()
    assert deadline is not None
    rack.run(deadline - rack.now - 1)
    rack.hot(KEYS[9], 50)
    rack.run(500 * MILLISECOND)
    assert cached(rack) == {KEYS[0]}


def test_report_of_another_epoch_asks_for_no_counts() -> None:
    rack = started(cache_entries=1)
    rack.handle(Preload(tuple(KEYS[:1])))
    rack.run_until(rack.control.ready, SECOND)
    for epoch, asks in ((rack.switch.epoch - 1, False), (rack.switch.epoch, True)):
        sent = len(rack.messages)
        rack.handle(encode_hot_key(HotKey(KEYS[9], 50, epoch)))
        assert any(message.op is Op.STATS for message in rack.messages[sent:]) == asks


def test_entry_is_reused_only_after_its_deletion_is_confirmed() -> None:
    rack = started(cache_entries=1, cache_rows=1)
    rack.hot(KEYS[0], 100)
    rack.run(50 * MILLISECOND)
    rack.outgrown(KEYS[0])
    sent = len(rack.messages)
    rack.handle(Preload((KEYS[1],)))
    assert not [m for m in rack.messages[sent:] if m.op is Op.ADMIT]
    rack.run(100 * MILLISECOND)
    rack.hot(KEYS[1], 100)
    rack.run(100 * MILLISECOND)
    assert cached(rack) == {KEYS[1]}


def test_outgrown_value_is_evicted_and_its_server_is_notified() -> None:
    rack = started()
    rack.hot(KEYS[0], 100)
    rack.run(50 * MILLISECOND)
    generation = rack.entries[KEYS[0]]["generation"]
    rack.outgrown(KEYS[0])
    rack.run(50 * MILLISECOND)
    assert KEYS[0] not in rack.entries
    assert (KEYS[0], generation) in rack.evicted
    assert [m for m in rack.messages if m.op is Op.OUTGROWN_REPLY]


def test_late_outgrown_does_not_evict_a_new_entry() -> None:
    rack = started()
    rack.hot(KEYS[0], 100)
    rack.run(50 * MILLISECOND)
    late = rack.report(KEYS[0])
    rack.outgrown(KEYS[0])
    rack.run(50 * MILLISECOND)
    rack.hot(KEYS[0], 100)
    rack.run(50 * MILLISECOND)
    rack.handle(PacketIn(2, late))
    rack.run(50 * MILLISECOND)
    assert rack.readable(KEYS[0])


def test_restarted_switch_gets_its_keys_with_new_generations() -> None:
    rack = started()
    rack.handle(Preload(tuple(KEYS[:50])))
    rack.run_until(rack.control.ready, 5 * SECOND)
    before = {entry["generation"] for entry in rack.entries.values()}
    rack.restart_switch()
    assert not rack.control.ready()
    rack.run_until(rack.control.ready, 5 * SECOND)
    assert set(rack.entries) == set(KEYS[:50])
    assert not before & {entry["generation"] for entry in rack.entries.values()}
    assert (rack.switch.size(PARTITION), rack.switch.size(ROUTE)) == (2, 4)
    assert_settled(rack)


def test_answers_from_before_a_switch_restart_are_ignored() -> None:
    rack = started()
    rack.hot(KEYS[0], 100)
    admit = rack.messages[-1]
    rack.restart_switch()
    frame = encode(admit.reply(length=128), destination=CONTROLLER_IP)
    rack.handle(PacketIn(2, frame))
    rack.handle(TableWritten(3, True))
    rack.run(200 * MILLISECOND)
    assert rack.readable(KEYS[0])
    assert rack.entries[KEYS[0]]["generation"] != admit.cache_metadata.generation  # type: ignore[union-attr]


def test_missing_and_too_large_values_are_not_cached() -> None:
    rack = started()
    rack.store(KEYS[1], 129)
    rack.handle(Preload((key_of(1000), KEYS[1], KEYS[2])))
    rack.run_until(rack.control.ready, SECOND)
    assert cached(rack) == {KEYS[2]}
    assert rack.control.statistics()["not_admitted"] == 2
    assert_settled(rack)


def test_admission_from_a_dead_server_is_given_up() -> None:
    rack = started()
    rack.servers_up = False
    rack.hot(KEYS[0], 100)
    rack.run(10 * SECOND)
    assert KEYS[0] not in rack.entries
    admits = [m for m in rack.messages if m.op is Op.ADMIT]
    assert len(admits) == TRIES
    assert len({m.request for m in admits}) == 1
    assert_settled(rack)


def test_entry_that_its_server_does_not_fill_is_evicted() -> None:
    rack = started()
    rack.lost = lambda hop: hop.op is Op.INSTALL
    rack.hot(KEYS[0], 100)
    rack.run_until(lambda: "not_installed" in rack.control.statistics(), 30 * SECOND)
    rack.run(100 * MILLISECOND)
    assert not rack.entries
    assert_settled(rack)


def test_number_of_admissions_in_flight_is_limited() -> None:
    rack = started(max_in_flight=5)
    rack.handle(Preload(tuple(KEYS)))
    most = 0
    while not rack.control.ready():
        rack.run(MILLISECOND)
        most = max(most, rack.control.statistics()["in_flight"])
    assert most == 5
    assert cached(rack) == set(KEYS)


def test_preload_beyond_the_capacity_caches_the_first_keys() -> None:
    rack = started(cache_entries=50)
    rack.handle(Preload(tuple(KEYS)))
    rack.run_until(rack.control.ready, 5 * SECOND)
    assert cached(rack) == set(KEYS[:50])


def test_refused_lookup_entry_is_freed_and_noted() -> None:
    rack = started()
    rack.refuse = lambda write: isinstance(write, InsertEntry) and write.table == LOOKUP
    rack.hot(KEYS[0], 100)
    rack.run(100 * MILLISECOND)
    assert [note.what for note in rack.notes][-1] == "table write refused"
    assert_settled(rack)


def test_entry_is_not_reused_if_its_deletion_is_refused() -> None:
    rack = started(cache_entries=2)
    rack.handle(Preload(tuple(KEYS[:2])))
    rack.run_until(rack.control.ready, SECOND)
    rack.refuse = lambda write: isinstance(write, DeleteEntry)
    rack.outgrown(KEYS[0])
    rack.run(100 * MILLISECOND)
    rack.hot(KEYS[5], 100)  # NetCacheRack asserts that no two live entries share a number
    rack.run(100 * MILLISECOND)
    assert rack.control.statistics()["free_entries"] == 0


def test_controller_is_not_ready_after_a_refused_route() -> None:
    rack = make_rack()
    rack.refuse = lambda write: isinstance(write, InsertEntry) and "route" in write.table
    rack.start_controller()
    rack.run(SECOND)
    assert not rack.control.ready()
    assert "table write refused" in {note.what for note in rack.notes}


def test_value_is_moved_to_make_room_for_a_longer_one() -> None:
    rack = started(cache_entries=10, cache_rows=2, max_in_flight=1)
    lengths = {0: 48, 1: 80, 2: 48, 3: 16, 4: 96}
    for number, length in lengths.items():
        rack.store(KEYS[number], length)
    rack.handle(Preload(tuple(KEYS[:4])))  # row 0: 3 + 5; row 1: 3 + 1
    rack.run_until(rack.control.ready, SECOND)
    rack.outgrown(KEYS[0])  # row 0: 5, 3 free; row 1: 4 free
    rack.run(50 * MILLISECOND)
    rack.store(KEYS[4], 80)  # 5 chunks: fits once the 1 moves to row 0
    rack.handle(Preload((KEYS[4],)))
    rack.run_until(rack.control.ready, SECOND)
    assert cached(rack) == {KEYS[1], KEYS[2], KEYS[3], KEYS[4]}
    assert rack.control.statistics()["moves"] == 1
    assert_settled(rack)


def test_hot_key_replaces_another_if_all_cells_are_used() -> None:
    rack = started(cache_entries=100, cache_rows=4, drawn=4)
    rack.handle(Preload(tuple(KEYS[:4])))
    rack.run_until(rack.control.ready, SECOND)
    for key, reads in zip(KEYS, (90, 20, 70, 80), strict=False):
        rack.read(key, reads)
    rack.hot(KEYS[9], 50)
    rack.run(200 * MILLISECOND)
    assert cached(rack) == {KEYS[0], KEYS[2], KEYS[3], KEYS[9]}
    assert_settled(rack)


def test_every_epoch_begins_also_if_messages_are_lost() -> None:
    rack = started(Network(loss=0.3), seed=3)
    epoch = rack.switch.epoch
    rack.run(20 * SECOND)
    assert abs(rack.switch.epoch - epoch - 20) <= 1
    assert 0 not in {
        m.cache_metadata.version for m in rack.messages if m.op is Op.EPOCH and m.cache_metadata
    }


def test_epochs_wrap_around_to_1() -> None:
    rack = make_rack()
    rack.now = 0xFFFD * SECOND
    rack.start_controller()
    rack.run_until(lambda: rack.switch.epoch == 0xFFFF, 2 * SECOND)
    rack.run_until(lambda: rack.switch.epoch < 0xFFFF, 2 * SECOND)
    assert rack.switch.epoch == 1


def test_generations_of_a_new_controller_exceed_the_old_ones() -> None:
    """The answer is the test's: servers do not name the generation that they know."""
    rack = started()

    def rejected(hop: Hop) -> bool:
        if hop.op is not Op.ADMIT or hop.to not in rack.servers:
            return False
        admit = hop.message
        assert admit.cache_metadata is not None
        if is_newer(admit.cache_metadata.generation, 5000):
            return False
        reply = admit.reply(status=Status.REJECTED, cache_metadata=CacheMetadata(5000))
        rack.handle(PacketIn(2, encode(reply, destination=CONTROLLER_IP)))
        return True

    rack.lost = rejected
    rack.handle(Preload(tuple(KEYS[:20])))
    rack.run_until(rack.control.ready, 5 * SECOND)
    assert cached(rack) == set(KEYS[:20])
    assert min(entry["generation"] for entry in rack.entries.values()) > 5000 - 1


def test_admission_rejected_with_its_own_generation_is_given_up() -> None:
    rack = started()
    rack.hot(KEYS[0], 100)
    for _ in range(3):
        admit = rack.messages[-1]
        reply = admit.reply(status=Status.REJECTED, cache_metadata=admit.cache_metadata)
        rack.handle(PacketIn(2, encode(reply, destination=CONTROLLER_IP)))
    assert len([m for m in rack.messages if m.op is Op.ADMIT]) == 1
    assert rack.control.statistics()["not_admitted"] == 1


def test_stray_and_malformed_frames_are_only_counted() -> None:
    rack = started()
    before = rack.control.statistics()
    rack.handle(PacketIn(1, b"\x00" * 20))
    reply = Message(Op.ADMIT_REPLY, KEYS[0], 77, status=Status.OK, length=5)
    rack.handle(PacketIn(1, encode(reply, destination=CONTROLLER_IP)))
    after = rack.control.statistics()
    assert (after["malformed_frames"], after["stray_replies"]) == (1, 1)
    assert after["cached"] == before["cached"] == 0


def test_hot_keys_beyond_the_queue_limit_are_dropped() -> None:
    rack = started(max_in_flight=1, max_waiting=10)
    for key in KEYS[:50]:
        rack.hot(key, 100)
    statistics = rack.control.statistics()
    assert statistics["waiting"] == 10
    assert statistics["hot_keys_dropped"] == 39


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"cache_entries": -1}, "cache_entries"),
        ({"cache_entries": 70_000}, "cache_entries"),
        ({"sample_rate": 1.5}, "sample_rate"),
        ({"hot_threshold": 0}, "hot_threshold"),
    ],
)
def test_wrong_option_is_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        NetCacheOptions(**options)
