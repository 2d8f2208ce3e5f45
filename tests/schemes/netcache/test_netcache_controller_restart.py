"""A new controller without state replaces one that crashed at any step."""

from dataclasses import replace

import pytest

from netkv.control.base import MILLISECOND, SECOND, Preload
from netkv.model.messages import Op
from netkv.schemes.netcache.control_plane import NetCache
from tests.schemes.netcache.netcache_rack import (
    DEFAULTS,
    LEASE,
    TOPOLOGY,
    UNIMPAIRED,
    NetCacheRack,
)
from tests.schemes.scripted_rack import key_of
from tests.schemes.virtual_rack import Network

KEYS = [key_of(i) for i in range(60)]
SMALL = DEFAULTS.changed(cache_entries=4, cache_rows=2, drawn=4, max_in_flight=1)


def new_rack(seed: int, network: Network) -> NetCacheRack:
    lengths = (48, 80, 48, 16, 80, 16)
    values = {key: lengths[i % len(lengths)] for i, key in enumerate(KEYS)}
    return NetCacheRack(NetCache(TOPOLOGY, *SMALL), values, seed, network)


def run_all_kinds_of_steps(rack: NetCacheRack) -> None:
    """Preload, hot keys, evictions, moves: all kinds of steps."""
    rack.handle(Preload(tuple(KEYS[:4])))
    rack.run(60 * MILLISECOND)
    rack.outgrown(KEYS[0])
    rack.run(30 * MILLISECOND)
    rack.handle(Preload((KEYS[4],)))
    rack.run(60 * MILLISECOND)
    for key in rack.entries:
        rack.read(key, 5)
    rack.hot(KEYS[9], 50)
    rack.run(60 * MILLISECOND)


def assert_recovered(rack: NetCacheRack, wanted: list[bytes]) -> None:
    """Check that no write is blocked and that all entries are valid and known."""
    rack.impair(UNIMPAIRED)
    rack.run_until(rack.control.ready, 30 * SECOND)
    rack.run(LEASE)
    assert not rack.held(*{m.key for m in rack.messages if m.op is Op.ADMIT})
    assert set(rack.entries) == set(rack.control.cached_keys()) == set(wanted)
    assert rack.serves(rack.entries)
    statistics = rack.control.statistics()
    assert statistics["in_flight"] == 0
    assert len(rack.entries) + statistics["free_entries"] == SMALL.options.cache_entries
    cells = sum(entry["bitmap"].bit_count() for entry in rack.entries.values())
    assert statistics["free_cells"] == 2 * 8 - cells
    assert rack.control.statistics()["epoch"] == rack.switch.epoch


def run_and_replace(steps_of_controllers: list[int], pause: int) -> NetCacheRack:
    """Kill each controller after a number of steps; start the next one after `pause` ns."""
    rack = new_rack(0, UNIMPAIRED)
    rack.steps_left = steps_of_controllers[0]
    rack.start_controller()
    rack.run(60 * MILLISECOND)
    run_all_kinds_of_steps(rack)
    for steps in [*steps_of_controllers[1:], None]:
        rack.run(pause)
        rack.replace_controller(NetCache(TOPOLOGY, *SMALL))
        rack.steps_left = steps
        rack.handle(Preload(tuple(KEYS[:3])))
        rack.run(20 * MILLISECOND if steps is not None else 0)
    return rack


def steps_of_a_run() -> int:
    rack = new_rack(0, UNIMPAIRED)
    rack.start_controller()
    rack.run(60 * MILLISECOND)
    run_all_kinds_of_steps(rack)
    done = rack.control.statistics()
    kinds = {"moves", "evictions", "contests_won", "outgrown"}
    assert kinds <= done.keys(), "a kind of step is missing"
    return rack.steps


@pytest.mark.parametrize("pause", [0, 40 * MILLISECOND])
def test_controller_crash_at_any_step_leaves_no_stale_state(pause: int) -> None:
    steps = steps_of_a_run()
    assert steps > 80
    for step in range(steps):
        rack = run_and_replace([step], pause)
        assert_recovered(rack, KEYS[:3])
        assert rack.count("late") == 0


def test_two_crashes_in_a_row_leave_no_stale_state() -> None:
    for second in range(60):
        rack = run_and_replace([40, second], 0)
        assert_recovered(rack, KEYS[:3])
        assert rack.count("late") == 0


@pytest.mark.parametrize("seed", range(20))
def test_crashes_on_an_impaired_network_leave_no_stale_state(seed: int) -> None:
    rack = new_rack(seed, Network(loss=0.2, duplication=0.2, max_delay=40 * MILLISECOND))
    rack.start_controller()
    for _ in range(8):
        rack.handle(Preload(tuple(KEYS[:4])))
        for _ in range(rack.random.randrange(10)):
            rack.hot(rack.random.choice(KEYS), rack.random.randrange(10, 100))
            rack.run(rack.random.randrange(50 * MILLISECOND))
        rack.steps_left = rack.random.randrange(50)
        rack.run(rack.random.randrange(300 * MILLISECOND))
        rack.replace_controller(NetCache(TOPOLOGY, *SMALL))
    rack.impair(UNIMPAIRED)
    rack.handle(Preload(tuple(KEYS[:3])))
    assert_recovered(rack, KEYS[:3])


def test_servers_accept_message_numbers_of_a_new_controller() -> None:
    configuration = DEFAULTS.changed(cache_entries=20)
    keys = [key_of(i) for i in range(3000)]
    rack = NetCacheRack(NetCache(TOPOLOGY, *configuration), dict.fromkeys(keys, 128))
    rack.start_controller()
    rack.run(100 * MILLISECOND)
    for number in range(0, 3000, 100):
        for key in keys[number : number + 100]:
            rack.hot(key, 100)
            rack.run(2 * MILLISECOND)
    assert len(rack.sent) > 5000
    rack.replace_controller(NetCache(TOPOLOGY, *configuration))
    before = len(rack.sent)
    rack.handle(Preload(tuple(keys[:20])))
    rack.run_until(rack.control.ready, 10 * SECOND)
    assert set(rack.entries) == set(keys[:20])
    assert rack.count("late") == 0
    assert rack.control.statistics()["messages_repeated"] < (len(rack.sent) - before) / 10


def test_late_messages_of_the_old_controller_have_no_effect() -> None:
    rack = new_rack(0, UNIMPAIRED)
    rack.start_controller()
    rack.run(60 * MILLISECOND)
    run_all_kinds_of_steps(rack)
    old = [hop for hop in rack.sent if hop.op in (Op.ADMIT, Op.INSTALL, Op.EVICTED)]
    rack.replace_controller(NetCache(TOPOLOGY, *SMALL))
    rack.handle(Preload(tuple(KEYS[:3])))
    rack.run_until(rack.control.ready, SECOND)
    for server in rack.servers.values():
        server.restart()  # so that it does not detect the copies
    assert not rack.held(*KEYS[:3])  # and knows the entries again
    for hop in old:
        rack.deliver(replace(hop, sessions=rack.sessions(rack.switch)))
        rack.run(MILLISECOND)
    assert_recovered(rack, KEYS[:3])
