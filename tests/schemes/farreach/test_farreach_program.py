"""FarReach's control plane and p4/farreach, on netkv's engine: effects of faults on users."""

from dataclasses import replace

import pytest

from netkv.control.base import MILLISECOND, SECOND
from tests.schemes.farreach.farreach_load import KEYS, SMALL, Load
from tests.schemes.farreach.farreach_rack import ROUGH, Rack


@pytest.mark.parametrize("pipelines", [1, 2, 4])
@pytest.mark.parametrize("rough", [False, True])
def test_users_notice_nothing_of_crashes_snapshots_and_evictions(
    pipelines: int, rough: bool
) -> None:
    options = replace(SMALL, hot_threshold=6, pipelines=pipelines, sample_rate=1.0)
    it = Rack(options, pipelines, clients=3, servers=3)
    if rough:
        it.net, it.channel = replace(ROUGH), replace(ROUGH)
    for key in KEYS:
        it.store(key, b"first " + key[:4])
    it.start(preload=tuple(KEYS[:4]))
    load = Load(it)
    for crash in (it.crash_switch, it.replace_controller, it.crash_switch):
        it.run(500 * MILLISECOND)
        crash()
    it.run_until(it.control.ready)
    it.run(500 * MILLISECOND)
    load.on = False
    it.run(2 * SECOND)
    statistics = it.control.statistics()
    assert it.recoveries
    assert statistics["snapshots"] >= 5
    assert statistics["in_flight"] == 0
    assert it.judge.reads > 100
    assert it.complaints() == []


def test_switch_answers_writes_of_what_was_preloaded_and_an_eviction_keeps_them() -> None:
    options = replace(SMALL, capacity=2, hot_threshold=3, sample_rate=1.0, snapshot_period=0)
    it = Rack(options)
    for key in KEYS:
        it.store(key, b"first " + key[:4])
    it.start(preload=tuple(KEYS[:2]))
    assert it.put(1, KEYS[0], b"in the switch").cache_hit
    assert it.get(2, KEYS[0]) == b"in the switch"
    for key in KEYS[5:9]:
        it.run(options.epoch)
        for _ in range(6):
            it.get(1, key)
        it.run(20 * MILLISECOND)
    assert KEYS[0] not in it.cached()
    assert it.control.statistics()["evictions"] >= 2
    assert it.get(2, KEYS[0]) == b"in the switch"
    assert it.complaints() == []
