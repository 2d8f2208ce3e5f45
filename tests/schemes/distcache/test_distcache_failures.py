"""DistCache's control plane under failures at any point of its work, and random ones on a bad
network. No read returns an old value, every request is answered, and caches serve in the end."""

from __future__ import annotations

from random import Random

import pytest

from netkv.control.base import MILLISECOND, SECOND, Preload
from netkv.schemes.distcache.control_plane import DistCache
from tests.schemes.distcache.distcache_rack import (
    CONFIGURATION,
    KEYS,
    LEAVES,
    NETWORK,
    SPINES,
    DistCacheRack,
)
from tests.schemes.distcache.test_distcache_traps import (
    KEY,
    LEAF,
    SERVER,
    SPINE,
    IgnoresRestarted,
    IgnoresRestarts,
    rack_of,
)
from tests.schemes.virtual_rack import Network

pytestmark = pytest.mark.slow


def work(rack: DistCacheRack) -> None:
    """All kinds of steps: evictions, admissions, a restarted server, a lost and a restarted spine
    and leaf."""
    rack.outgrown(KEY, upper=True)
    rack.run(3 * MILLISECOND)
    rack.handle(Preload((KEY,)))
    rack.run(3 * MILLISECOND)
    rack.outgrown(KEY, upper=False)
    rack.run(3 * MILLISECOND)
    rack.start_server(SERVER)
    rack.run(3 * MILLISECOND)
    for switch in (SPINE, LEAF):
        rack.crash(switch)
        rack.run(3 * MILLISECOND)
        rack.recover(switch)
        rack.run(4 * MILLISECOND)


def assert_serves(rack: DistCacheRack, *switches: str) -> None:
    """All requests are answered, and the caches serve, once the network works."""
    rack.net = rack.channel = Network(max_delay=20_000)
    rack.run_until(lambda: rack.control.statistics()["in_flight"] == 0, 5 * SECOND)
    rack.handle(Preload(KEYS))  # A key that is being evicted is not admitted again.
    rack.run_until(rack.control.ready, 5 * SECOND)
    rack.run(200 * MILLISECOND)
    assert not rack.late(), "no answer"
    for switch in switches:
        assert rack.serves(switch), f"{switch} does not serve"
    assert rack.control.statistics()["in_flight"] == 0


def steps_of_the_work() -> tuple[int, int]:
    """The numbers of the controller's events and actions before and after `work`."""
    rack = rack_of(DistCache)
    before = rack.steps
    work(rack)
    return before, rack.steps


def test_controller_crash_at_any_step_does_no_harm() -> None:
    """The controller is killed after each of its events and actions, and replaced while clients
    read and write."""
    before, after = steps_of_the_work()
    assert after - before > 120
    for step in range(after - before):
        rack = rack_of(DistCache)
        assert rack.steps == before, "runs are the same until the crash"
        rack.steps_left = step
        work(rack)
        assert rack.controller_down
        rack.replace_controller(DistCache(NETWORK, *CONFIGURATION))
        rack.handle(Preload((KEY,)))
        rack.run_until(rack.control.ready, 5 * SECOND)
        rack.run(15 * MILLISECOND)
        assert not rack.late(), f"no answer after a crash at step {step}"
        assert rack.control.cached_keys() == [KEY]
        counts = rack.servers[SERVER].role.counts()
        assert counts["cached_keys"] == counts["upper_copies"] == 1, step


MOMENTS = range(0, 30 * 40_000, 40_000)
"""Times after the beginning of an admission, until after its end."""


def crash_within_an_admission(
    control: type[DistCache], switch: str, down_for: int, moment: int
) -> None:
    """The switch fails at a moment of the admission of two copies, and runs again."""
    rack = rack_of(control, preload=False)
    rack.handle(Preload((KEY,)))
    rack.run(moment)
    rack.crash(switch, notices=MILLISECOND // 2)
    rack.run(down_for * MILLISECOND)
    rack.recover(switch)
    rack.run_until(rack.control.ready, SECOND)
    rack.run(5 * MILLISECOND)
    assert rack.control.cached_keys() == [KEY], moment
    assert rack.control.statistics()["cached"] == 2, moment


@pytest.mark.parametrize("switch", [SPINE, LEAF])
@pytest.mark.parametrize("down_for", [1, 7])
def test_switch_crash_at_any_time_of_an_admission_does_no_harm(switch: str, down_for: int) -> None:
    for moment in MOMENTS:
        crash_within_an_admission(DistCache, switch, down_for, moment)


def restart_within_an_admission(control: type[DistCache], moment: int) -> None:
    """The server starts anew at a moment of the admission of two copies."""
    rack = rack_of(control, preload=False)
    rack.handle(Preload((KEY,)))
    rack.run(moment)
    rack.start_server(SERVER)
    rack.run_until(rack.control.ready, SECOND)
    rack.run(10 * MILLISECOND)
    assert rack.knows_its_copies(SERVER), moment
    assert rack.control.statistics()["cached"] == 2, moment


def test_server_restart_at_any_time_of_an_admission_does_no_harm() -> None:
    every_restart(DistCache)


def every_restart(control: type[DistCache]) -> None:
    for moment in MOMENTS:
        restart_within_an_admission(control, moment)


def every_crash(control: type[DistCache]) -> None:
    for moment in MOMENTS:
        crash_within_an_admission(control, SPINE, 7, moment)


def test_failures_within_an_admission_find_missing_protections() -> None:
    """Otherwise the tests above would prove nothing."""
    with pytest.raises(AssertionError):
        every_restart(IgnoresRestarted)
    with pytest.raises(AssertionError):
        every_crash(IgnoresRestarts)


@pytest.mark.parametrize("seed", [*range(8), 15, 36])
def test_random_failures_on_a_bad_network_do_no_harm(seed: int) -> None:
    """Frames are lost, duplicated and reordered on every hop; everything fails at random."""
    bad = Network(loss=0.03, duplication=0.05, max_delay=200_000)
    rack = DistCacheRack(DistCache(NETWORK, *CONFIGURATION), seed, bad, bad)
    rack.start()
    rack.run_until(rack.control.ready)
    rack.handle(Preload(KEYS))
    rack.load(*KEYS[:2])
    draw = Random(seed)
    switches = [*SPINES, *LEAVES, "edge-0"]
    for _ in range(8):
        rack.run(draw.randrange(15) * MILLISECOND)
        match draw.randrange(5):
            case 0:
                rack.start_server(draw.choice(sorted(rack.servers)))
            case 1 | 2:
                switch = draw.choice(switches)
                rack.crash(switch, notices=draw.randrange(5) * MILLISECOND)
                rack.run(draw.randrange(12) * MILLISECOND)
                rack.recover(switch)
            case 3:
                rack.steps_left = draw.randrange(30)
                rack.run(draw.randrange(12) * MILLISECOND)
                rack.kill_controller()
                rack.replace_controller(DistCache(NETWORK, *CONFIGURATION))
            case 4:
                rack.outgrown(draw.choice(KEYS[:2]), upper=draw.random() < 0.5)
        rack.handle(Preload(KEYS))
    assert_serves(rack, *SPINES, *LEAVES)
