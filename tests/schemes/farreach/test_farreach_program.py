"""FarReach's control plane and program on netkv's engine: no violation despite faults."""

from dataclasses import replace

import pytest

from netkv.control.base import MILLISECOND, SECOND
from tests.schemes.farreach.farreach_load import KEYS, SMALL, Load, stocked_rack
from tests.schemes.farreach.farreach_rack import IMPAIRED, Rack


@pytest.mark.parametrize("pipelines", [1, 2, 4])
@pytest.mark.parametrize("rough", [False, True])
def test_crashes_snapshots_and_evictions_cause_no_violation(pipelines: int, rough: bool) -> None:
    configuration = SMALL.changed(hot_threshold=6, pipelines=pipelines, sample_rate=1.0)
    rack = Rack(configuration, pipelines, clients=3, servers=3)
    if rough:
        rack.net, rack.channel = replace(IMPAIRED), replace(IMPAIRED)
    for key in KEYS:
        rack.store(key, b"first " + key[:4])
    rack.start(preload=tuple(KEYS[:4]))
    load = Load(rack)
    for crash in (rack.crash_switch, rack.replace_controller, rack.crash_switch):
        rack.run(500 * MILLISECOND)
        crash()
    rack.run_until(rack.control.ready)
    rack.run(500 * MILLISECOND)
    load.running = False
    rack.run(2 * SECOND)
    statistics = rack.control.statistics()
    assert rack.recoveries
    assert statistics["snapshots"] >= 5
    assert statistics["in_flight"] == 0
    assert rack.checker.reads > 100
    assert rack.violations() == []


def test_write_to_a_preloaded_key_survives_its_eviction() -> None:
    configuration = SMALL.changed(
        cache_entries=2, hot_threshold=3, sample_rate=1.0, snapshot_period=0.0
    )
    rack = stocked_rack(configuration).start(preload=tuple(KEYS[:2]))
    assert rack.put(1, KEYS[0], b"in the switch").cache_hit
    assert rack.get(2, KEYS[0]) == b"in the switch"
    for key in KEYS[5:9]:
        rack.run(configuration.options.epoch_ns)
        for _ in range(6):
            rack.get(1, key)
        rack.run(20 * MILLISECOND)
    assert KEYS[0] not in rack.cached()
    assert rack.control.statistics()["evictions"] >= 2
    assert rack.get(2, KEYS[0]) == b"in the switch"
    assert rack.violations() == []
