"""NetCache's control plane in the test rack."""

from typing import Any

import pytest

from netkv.control.base import (
    MILLISECOND,
    SECOND,
    DeleteEntry,
    InsertEntry,
    PacketIn,
    Preload,
    TableWritten,
)
from netkv.control.messages import CacheMetadata, Message, Op, Status, encode
from netkv.control.topology import CONTROLLER_IP, Topology
from netkv.schemes.netcache.control_plane import TRIES, NetCache
from netkv.schemes.netcache.parameters import NetCacheParameters
from tests.schemes.netcache.netcache_rack import LOOKUP, FakeRack, key_of
from tests.schemes.virtual_rack import Network

TOPOLOGY = Topology.of_ports([1], [2, 3])
KEYS = [key_of(i) for i in range(200)]
CALM = Network()
ROUGH = Network(loss=0.2, doubling=0.2, slowest=60 * MILLISECOND)


def rack(network: Network = CALM, seed: int = 0, length: int = 128, **options: object) -> FakeRack:
    control = NetCache(TOPOLOGY, NetCacheParameters(**options))  # type: ignore[arg-type]
    return FakeRack(control, dict.fromkeys(KEYS, length), seed, network)


def started(*args: object, **options: object) -> FakeRack:
    it = rack(*args, **options)  # type: ignore[arg-type]
    it.start()
    it.run_until(it.control.ready, SECOND)
    it.run(100 * MILLISECOND)
    return it


def cached(it: FakeRack) -> set[bytes]:
    assert isinstance(it.control, NetCache)
    return set(it.control.cached_keys())


def assert_settled(it: FakeRack) -> None:
    """The control plane's state agrees with the switch, without leaks or pending operations."""
    it.network = CALM
    it.run(5 * SECOND)
    statistics = it.control.statistics()
    assert isinstance(it.control, NetCache)
    assert statistics["in_flight"] == 0
    assert set(it.entries) == cached(it)
    assert all(it.readable(key) for key in it.entries)
    assert len(it.entries) + statistics["free_entries"] == it.control.parameters.capacity
    cells = sum(entry.bitmap.bit_count() for entry in it.entries.values())
    assert statistics["free_cells"] == it.control.parameters.rows * 8 - cells


def test_switch_gets_partition_routes_and_sampling() -> None:
    it = started(sample_rate=0.25, hot_threshold=9)
    assert it.other_tables == {"NetkvIngress.partition.owner": 2, "NetkvIngress.route.ipv4": 4}
    assert it.defaults["NetkvIngress.sampling.settings"] == {
        "sample_below": 16384,
        "hot_threshold": 9,
    }


def test_hot_key_is_served_by_the_switch() -> None:
    it = started()
    it.hot(KEYS[0], 100)
    it.run(50 * MILLISECOND)
    assert it.readable(KEYS[0])
    assert [m.op for m in it.sent if m.key == KEYS[0]] == [Op.ADMIT, Op.INSTALL]


def test_lookup_entry_comes_after_the_server_blocks_writes_and_before_it_fills_the_entry() -> None:
    control = NetCache(TOPOLOGY)
    it = FakeRack(control, {KEYS[0]: 40})
    it.start()
    it.run(100 * MILLISECOND)
    trace: list[str] = []
    carry_out = it.carry_out

    def traced(action: object) -> None:
        if isinstance(action, InsertEntry):
            trace.append("insert")
            assert it.blocked(KEYS[0])
            assert action.params["bitmap"].bit_count() == 3
        carry_out(action)  # type: ignore[arg-type]

    it.carry_out = traced  # type: ignore[method-assign]
    it.hot(KEYS[0], 100)
    it.run(100 * MILLISECOND)
    installs = [m for m in it.sent if m.op is Op.INSTALL]
    assert trace == ["insert"]
    assert len(installs) == 1
    assert installs[0].cache_metadata == CacheMetadata(it.entries[KEYS[0]].generation, 0, 0b111)


@pytest.mark.parametrize("seed", range(20))
def test_everything_wanted_gets_cached_over_a_network_that_loses_doubles_and_reorders(
    seed: int,
) -> None:
    it = rack(ROUGH, seed, max_in_flight=16)
    it.start()
    it.tell(Preload(tuple(KEYS[:100])))
    it.run_until(it.control.ready, 60 * SECOND)
    # Eight tries may all be lost; such a key is given up, and nothing else.
    statistics = it.control.statistics()
    lost = statistics.get("not_admitted", 0) + statistics.get("not_installed", 0)
    assert len(cached(it)) == 100 - lost
    assert lost <= 10
    assert_settled(it)


@pytest.mark.parametrize("seed", range(20))
def test_cache_stays_consistent_under_churn_restarts_and_faults(seed: int) -> None:
    it = rack(ROUGH, seed, capacity=40, rows=24, max_in_flight=8, hot_threshold=10)
    it.values = {key: it.random.choice((1, 16, 17, 50, 128, 300)) for key in KEYS}
    it.start()
    it.tell(Preload(tuple(KEYS[:30])))
    for _ in range(300):
        what = it.random.random()
        key = it.random.choice(KEYS)
        if what < 0.80:
            for entry in it.entries:
                it.counts[entry] = it.random.randrange(50)
            it.hot(key, it.random.randrange(10, 100))
        elif what < 0.90:
            it.outgrown(key)
        elif what < 0.95:
            it.values[key] = it.random.choice((1, 16, 128, 300))
            if key in it.entries and it.values[key] > it.entries[key].bitmap.bit_count() * 16:
                it.outgrown(key)
        elif what < 0.97:
            it.restart_switch()
        else:
            it.servers_up = not it.servers_up
        it.run(it.random.randrange(100 * MILLISECOND))
    it.servers_up = True
    assert it.control.statistics()["insertions"] > 20
    assert_settled(it)


def test_full_cache_gives_the_place_of_its_coldest_drawn_entry_to_a_hotter_key() -> None:
    it = started(capacity=4, drawn=4)
    it.tell(Preload(tuple(KEYS[:4])))
    it.run_until(it.control.ready, SECOND)
    it.counts = {KEYS[0]: 90, KEYS[1]: 20, KEYS[2]: 70, KEYS[3]: 80}
    it.hot(KEYS[9], 50)
    it.run(100 * MILLISECOND)
    assert cached(it) == {KEYS[0], KEYS[2], KEYS[3], KEYS[9]}
    assert it.readable(KEYS[9])
    assert KEYS[1] in {key for key, _ in it.forgotten}


def test_full_cache_keeps_entries_that_are_hotter() -> None:
    it = started(capacity=4, drawn=4)
    it.tell(Preload(tuple(KEYS[:4])))
    it.run_until(it.control.ready, SECOND)
    it.counts = dict.fromkeys(KEYS[:4], 50)
    it.hot(KEYS[9], 50)
    it.run(100 * MILLISECOND)
    assert cached(it) == set(KEYS[:4])
    assert it.control.statistics()["contests_lost"] == 1


def test_counts_of_different_epochs_are_not_compared() -> None:
    it = started(capacity=1)
    it.tell(Preload(tuple(KEYS[:1])))
    it.run_until(it.control.ready, SECOND)
    # Reported in this epoch, but the counters arrive when the next has begun and all are 0.
    deadline = it.control.deadline()
    assert deadline is not None
    it.run(deadline - it.now - 1)
    it.hot(KEYS[9], 50)
    it.run(500 * MILLISECOND)
    assert cached(it) == {KEYS[0]}


def test_entry_number_and_cells_are_not_reused_before_the_switch_confirms_the_deletion() -> None:
    it = started(capacity=1, rows=1)
    it.hot(KEYS[0], 100)
    it.run(50 * MILLISECOND)
    it.outgrown(KEYS[0])
    sent = len(it.sent)
    it.tell(Preload((KEYS[1],)))
    assert not [m for m in it.sent[sent:] if m.op is Op.ADMIT]
    it.run(100 * MILLISECOND)
    it.hot(KEYS[1], 100)
    it.run(100 * MILLISECOND)
    assert cached(it) == {KEYS[1]}


def test_outgrown_value_leaves_the_switch_and_its_server_is_told() -> None:
    it = started()
    it.hot(KEYS[0], 100)
    it.run(50 * MILLISECOND)
    generation = it.records[KEYS[0]]
    it.outgrown(KEYS[0])
    it.run(50 * MILLISECOND)
    assert KEYS[0] not in it.entries
    assert (KEYS[0], generation) in it.forgotten
    assert [m for m in it.sent if m.op is Op.OUTGROWN_REPLY]


def test_late_outgrown_of_an_older_insertion_does_not_evict_the_new_one() -> None:
    it = started()
    it.hot(KEYS[0], 100)
    it.run(50 * MILLISECOND)
    late = Message(
        Op.OUTGROWN, KEYS[0], 1, 0x8000, cache_metadata=CacheMetadata(it.records[KEYS[0]])
    )
    it.outgrown(KEYS[0])
    it.run(50 * MILLISECOND)
    it.hot(KEYS[0], 100)
    it.run(50 * MILLISECOND)
    it.tell(PacketIn(2, encode(late, 0x0A020000, CONTROLLER_IP)))
    it.run(50 * MILLISECOND)
    assert it.readable(KEYS[0])


def test_restarted_switch_gets_all_entries_again_under_new_generations() -> None:
    it = started()
    it.tell(Preload(tuple(KEYS[:50])))
    it.run_until(it.control.ready, 5 * SECOND)
    before = {entry.generation for entry in it.entries.values()}
    it.restart_switch()
    assert not it.control.ready()
    it.run_until(it.control.ready, 5 * SECOND)
    assert set(it.entries) == set(KEYS[:50])
    assert not before & {entry.generation for entry in it.entries.values()}
    assert it.other_tables == {"NetkvIngress.partition.owner": 2, "NetkvIngress.route.ipv4": 4}
    assert_settled(it)


def test_answers_from_before_a_switch_restart_change_nothing() -> None:
    it = started()
    it.hot(KEYS[0], 100)
    admit = it.sent[-1]
    it.restart_switch()
    frame = encode(admit.reply(length=128), destination=CONTROLLER_IP)
    it.tell(PacketIn(2, frame))
    it.tell(TableWritten(3, True))
    it.run(200 * MILLISECOND)
    assert it.readable(KEYS[0])
    assert it.entries[KEYS[0]].generation != admit.cache_metadata.generation  # type: ignore[union-attr]


def test_key_without_a_value_and_value_over_128_bytes_are_not_cached() -> None:
    it = started()
    it.values[KEYS[1]] = 129
    del it.values[KEYS[0]]
    it.tell(Preload(tuple(KEYS[:3])))
    it.run_until(it.control.ready, SECOND)
    assert cached(it) == {KEYS[2]}
    assert it.control.statistics()["not_admitted"] == 2
    assert_settled(it)


def test_dead_server_costs_its_key_the_place_but_nothing_else() -> None:
    it = started()
    it.servers_up = False
    it.hot(KEYS[0], 100)
    it.run(10 * SECOND)
    assert KEYS[0] not in it.entries
    admits = [m for m in it.sent if m.op is Op.ADMIT]
    assert len(admits) == TRIES
    assert len({m.request for m in admits}) == 1
    assert_settled(it)


def test_preload_keeps_a_bounded_number_in_flight() -> None:
    it = started(max_in_flight=5)
    it.tell(Preload(tuple(KEYS)))
    most = 0
    while not it.control.ready():
        it.run(MILLISECOND)
        most = max(most, it.control.statistics()["in_flight"])
    assert most == 5
    assert cached(it) == set(KEYS)


def test_preload_beyond_the_capacity_caches_the_first_and_ends() -> None:
    it = started(capacity=50)
    it.tell(Preload(tuple(KEYS)))
    it.run_until(it.control.ready, 5 * SECOND)
    assert cached(it) == set(KEYS[:50])


def test_refused_lookup_entry_frees_its_place_and_is_noted() -> None:
    it = started()
    it.refuse = lambda write: isinstance(write, InsertEntry) and write.table == LOOKUP
    it.hot(KEYS[0], 100)
    it.run(100 * MILLISECOND)
    assert [note.what for note in it.notes][-1] == "table write refused"
    assert_settled(it)


def test_entry_that_cannot_be_deleted_is_not_given_to_another_key() -> None:
    it = started(capacity=2)
    it.tell(Preload(tuple(KEYS[:2])))
    it.run_until(it.control.ready, SECOND)
    it.refuse = lambda write: isinstance(write, DeleteEntry)
    it.outgrown(KEYS[0])
    it.run(100 * MILLISECOND)
    it.hot(KEYS[5], 100)  # FakeRack asserts that no two live entries share a number
    it.run(100 * MILLISECOND)
    assert it.control.statistics()["free_entries"] == 0


def test_refused_route_means_not_ready() -> None:
    it = rack()
    it.refuse = lambda write: isinstance(write, InsertEntry) and "route" in write.table
    it.start()
    it.run(SECOND)
    assert not it.control.ready()
    assert "table write refused" in {note.what for note in it.notes}


def test_reorganisation_moves_a_short_value_and_then_caches_the_long_one() -> None:
    it = started(capacity=10, rows=2, max_in_flight=1)
    lengths = {0: 48, 1: 80, 2: 48, 3: 16, 4: 96}
    for number, length in lengths.items():
        it.values[KEYS[number]] = length
    it.tell(Preload(tuple(KEYS[:4])))  # row 0: 3 + 5; row 1: 3 + 1
    it.run_until(it.control.ready, SECOND)
    it.outgrown(KEYS[0])  # row 0: 5, 3 free; row 1: 4 free
    it.run(50 * MILLISECOND)
    it.values[KEYS[4]] = 80  # 5 chunks: fits once the 1 moves to row 0
    it.tell(Preload((KEYS[4],)))
    it.run_until(it.control.ready, SECOND)
    assert cached(it) == {KEYS[1], KEYS[2], KEYS[3], KEYS[4]}
    assert it.control.statistics()["moves"] == 1
    assert_settled(it)


def test_hot_key_finds_a_place_when_cells_and_not_entries_run_out() -> None:
    it = started(capacity=100, rows=4, drawn=4)
    it.tell(Preload(tuple(KEYS[:4])))
    it.run_until(it.control.ready, SECOND)
    it.counts = {KEYS[0]: 90, KEYS[1]: 20, KEYS[2]: 70, KEYS[3]: 80}
    it.hot(KEYS[9], 50)
    it.run(200 * MILLISECOND)
    assert cached(it) == {KEYS[0], KEYS[2], KEYS[3], KEYS[9]}
    assert_settled(it)


def test_statistics_are_cleared_every_epoch_also_when_the_message_is_lost() -> None:
    it = started(Network(loss=0.3), seed=3)
    epoch = it.epoch
    it.run(20 * SECOND)
    assert abs(it.epoch - epoch - 20) <= 1
    assert 0 not in {
        m.cache_metadata.version for m in it.sent if m.op is Op.EPOCH and m.cache_metadata
    }


def test_epoch_after_the_last_is_1_and_never_0() -> None:
    it = rack()
    it.now = 0xFFFD * SECOND
    it.start()
    it.run_until(lambda: it.epoch == 0xFFFF, 2 * SECOND)
    it.run_until(lambda: it.epoch < 0xFFFF, 2 * SECOND)
    assert it.epoch == 1


def test_new_controller_goes_on_above_the_generations_of_the_old_one() -> None:
    it = started()
    it.records = dict.fromkeys(KEYS[:20], 5000)
    it.tell(Preload(tuple(KEYS[:20])))
    it.run_until(it.control.ready, 5 * SECOND)
    assert cached(it) == set(KEYS[:20])
    assert min(entry.generation for entry in it.entries.values()) > 5000 - 1


def test_server_that_rejects_for_another_reason_is_not_asked_for_ever() -> None:
    it = started()
    it.hot(KEYS[0], 100)
    for _ in range(3):
        admit = it.sent[-1]
        reply = admit.reply(status=Status.REJECTED, cache_metadata=admit.cache_metadata)
        it.tell(PacketIn(2, encode(reply, destination=CONTROLLER_IP)))
    assert len([m for m in it.sent if m.op is Op.ADMIT]) == 1
    assert it.control.statistics()["not_admitted"] == 1


def test_stray_and_broken_frames_are_counted_and_change_nothing() -> None:
    it = started()
    before = it.control.statistics()
    it.tell(PacketIn(1, b"\x00" * 20))
    reply = Message(Op.ADMIT_REPLY, KEYS[0], 77, status=Status.OK, length=5)
    it.tell(PacketIn(1, encode(reply, destination=CONTROLLER_IP)))
    after = it.control.statistics()
    assert (after["malformed_frames"], after["stray_replies"]) == (1, 1)
    assert after["cached"] == before["cached"] == 0


def test_more_hot_keys_than_may_wait_are_dropped_and_counted() -> None:
    it = started(max_in_flight=1, max_waiting=10)
    for key in KEYS[:50]:
        it.hot(key, 100)
    statistics = it.control.statistics()
    assert statistics["waiting"] == 10
    assert statistics["hot_keys_dropped"] == 39


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"capacity": 0}, "capacity"),
        ({"capacity": 70_000}, "capacity"),
        ({"sample_rate": 1.5}, "sample_rate"),
        ({"hot_threshold": 0}, "hot_threshold"),
    ],
)
def test_wrong_option_is_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        NetCacheParameters(**options)
