"""A controller dies at any step, and a new one without state takes over."""

import pytest

from netkv.control.base import MILLISECOND, SECOND, Preload
from netkv.control.topology import Topology
from netkv.schemes.netcache.control_plane import NetCache
from netkv.schemes.netcache.parameters import NetCacheParameters
from tests.schemes.netcache.netcache_rack import LEASE, FakeRack, key_of
from tests.schemes.virtual_rack import Network

TOPOLOGY = Topology.of_ports([1], [2, 3])
KEYS = [key_of(i) for i in range(60)]
SMALL = NetCacheParameters(capacity=4, rows=2, drawn=4, max_in_flight=1)


def new_rack(seed: int, network: Network) -> FakeRack:
    lengths = (48, 80, 48, 16, 80, 16)
    values = {key: lengths[i % len(lengths)] for i, key in enumerate(KEYS)}
    return FakeRack(NetCache(TOPOLOGY, SMALL), values, seed, network)


def eventful_run(it: FakeRack) -> None:
    """Preload, hot keys, evictions, moves: all kinds of steps."""
    it.tell(Preload(tuple(KEYS[:4])))
    it.run(60 * MILLISECOND)
    it.outgrown(KEYS[0])
    it.run(30 * MILLISECOND)
    it.tell(Preload((KEYS[4],)))
    it.run(60 * MILLISECOND)
    it.counts = dict.fromkeys(it.entries, 5)
    it.hot(KEYS[9], 50)
    it.run(60 * MILLISECOND)


def assert_well(it: FakeRack, wanted: list[bytes]) -> None:
    """No trace of earlier controllers: no write is blocked, every entry is right and known."""
    assert isinstance(it.control, NetCache)
    it.network = Network()
    it.run_until(it.control.ready, 30 * SECOND)
    it.run(LEASE)
    assert not [key for key in KEYS if it.blocked(key)]
    assert set(it.entries) == set(it.control.cached_keys()) == set(wanted)
    assert all(it.readable(key) for key in it.entries)
    statistics = it.control.statistics()
    assert statistics["in_flight"] == 0
    assert len(it.entries) + statistics["free_entries"] == SMALL.capacity
    cells = sum(entry.bitmap.bit_count() for entry in it.entries.values())
    assert statistics["free_cells"] == SMALL.rows * 8 - cells
    assert it.control.statistics()["epoch"] == it.epoch


def run_and_replace(deaths: list[int], pause: int) -> FakeRack:
    """Each controller dies after some steps; the next one starts after `pause` ns."""
    it = new_rack(0, Network())
    it.steps_left = deaths[0]
    it.start()
    it.run(60 * MILLISECOND)
    eventful_run(it)
    for steps in [*deaths[1:], None]:
        it.run(pause)
        it.replace_controller(NetCache(TOPOLOGY, SMALL))
        it.steps_left = steps
        it.tell(Preload(tuple(KEYS[:3])))
        it.run(20 * MILLISECOND if steps is not None else 0)
    return it


def steps_of_a_run() -> int:
    it = new_rack(0, Network())
    it.start()
    it.run(60 * MILLISECOND)
    eventful_run(it)
    done = it.control.statistics()
    assert {"moves", "evictions", "contests_won", "outgrown"} <= done.keys(), "it has every step"
    return it.steps


@pytest.mark.parametrize("pause", [0, 40 * MILLISECOND])
def test_controller_that_dies_between_any_two_steps_leaves_no_trace(pause: int) -> None:
    steps = steps_of_a_run()
    assert steps > 80
    for step in range(steps):
        it = run_and_replace([step], pause)
        assert_well(it, KEYS[:3])
        assert it.late == 0


def test_second_death_soon_after_the_first_leaves_no_trace_either() -> None:
    for second in range(60):
        it = run_and_replace([40, second], 0)
        assert_well(it, KEYS[:3])
        assert it.late == 0


@pytest.mark.parametrize("seed", range(20))
def test_controllers_that_keep_dying_on_a_bad_network_leave_no_trace(seed: int) -> None:
    it = new_rack(seed, Network(loss=0.2, doubling=0.2, slowest=40 * MILLISECOND))
    it.start()
    for _ in range(8):
        it.tell(Preload(tuple(KEYS[:4])))
        for _ in range(it.random.randrange(10)):
            it.hot(it.random.choice(KEYS), it.random.randrange(10, 100))
            it.run(it.random.randrange(50 * MILLISECOND))
        it.steps_left = it.random.randrange(50)
        it.run(it.random.randrange(300 * MILLISECOND))
        it.replace_controller(NetCache(TOPOLOGY, SMALL))
    it.network = Network()
    it.tell(Preload(tuple(KEYS[:3])))
    assert_well(it, KEYS[:3])


def test_server_takes_the_messages_of_a_new_controller_after_thousands_of_the_old_one() -> None:
    options = NetCacheParameters(capacity=100)
    keys = [key_of(i) for i in range(3000)]
    it = FakeRack(NetCache(TOPOLOGY, options), dict.fromkeys(keys, 128))
    it.start()
    it.run(100 * MILLISECOND)
    for number in range(0, 3000, 100):
        for key in keys[number : number + 100]:
            it.hot(key, 100)
            it.run(2 * MILLISECOND)
    assert len(it.sent) > 5000
    it.replace_controller(NetCache(TOPOLOGY, options))
    before = len(it.sent)
    it.tell(Preload(tuple(keys[:100])))
    it.run_until(it.control.ready, 10 * SECOND)
    assert set(it.entries) == set(keys[:100])
    assert it.late == 0
    assert it.control.statistics()["messages_repeated"] < (len(it.sent) - before) / 10


def test_old_controllers_late_messages_do_not_disturb_the_new_one() -> None:
    it = new_rack(0, Network())
    it.start()
    it.run(60 * MILLISECOND)
    eventful_run(it)
    old = [message for message in it.sent if message.op.name in ("ADMIT", "INSTALL", "EVICTED")]
    it.replace_controller(NetCache(TOPOLOGY, SMALL))
    it.tell(Preload(tuple(KEYS[:3])))
    it.run_until(it.control.ready, SECOND)
    it.windows.clear()  # the servers have forgotten that they know these messages
    for message in old:
        it._at_server(message)
        it.run(MILLISECOND)
    assert_well(it, KEYS[:3])
