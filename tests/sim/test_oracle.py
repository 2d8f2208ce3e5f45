"""Hot keys that an oracle reports at each shift of popularity (`workload.shift.admit`)."""

from __future__ import annotations

import pytest

from netkv.model.hardware import TopologySpec
from netkv.model.spec import Shift
from netkv.sim.oracle import DELAY, SECOND, Oracle
from netkv.sim.rack import SimRack
from tests.sim.driving import advance, run_phases, small

LAYERS = TopologySpec(kind="spine-leaf", layers=2, switches=2)
TOPOLOGIES = {"distcache": LAYERS, "distreach": LAYERS}
ADMITTING = ["netcache", "farreach", "distcache", "distreach"]
MOVED = 40
"""Keys that change; more than a controller compares with cached ones at once."""
PERIOD = 0.5
SOON = 0.1
"""Seconds in which a controller admits `MOVED` keys."""


def shifting(scheme: str, admit: str | None, kind: str = "hot-in") -> SimRack:
    """A rack with full caches, whose switches detect no hot key; it measures, with shifts."""
    shift = {"kind": kind, "keys": MOVED, "top": 50, "every": PERIOD, "admit": admit}
    load = {"writes": 0.5, "arrivals": {"rate": 20_000}, "shift": shift}
    topology = TOPOLOGIES.get(scheme, TopologySpec(kind="rack"))
    rack = small(scheme, topology=topology, workload=load, hot_threshold=65_535, epoch=100)
    rack.command({"do": "phase", "name": "measure"})
    return rack


def cached_of_hottest(rack: SimRack, count: int) -> int:
    hottest = rack.command({"do": "hottest", "n": count})["keys"]
    return len({bytes.fromhex(key) for key in hottest} & rack.cached_keys())


@pytest.mark.parametrize("scheme", ADMITTING)
def test_new_hot_keys_are_cached_without_detection(scheme: str) -> None:
    rack = shifting(scheme, "new")
    for until_shift in (PERIOD, PERIOD - SOON):
        advance(rack, until_shift)
        assert cached_of_hottest(rack, MOVED) == 0
        advance(rack, SOON)
        assert cached_of_hottest(rack, MOVED) == MOVED
    last = run_phases(rack, "drain", "verify").client_statistics
    assert last["linearizable"] is True
    assert last["acked_writes_lost"] == 0


@pytest.mark.parametrize("scheme", ADMITTING)
def test_without_an_oracle_undetected_keys_stay_out(scheme: str) -> None:
    rack = shifting(scheme, None)
    advance(rack, PERIOD + SOON)
    assert cached_of_hottest(rack, MOVED) == 0


def test_hottest_keys_that_are_cached_evict_nothing() -> None:
    rack = shifting("farreach", "hottest", "hot-out")
    before = rack.cached_keys()
    advance(rack, PERIOD + SOON)
    after = rack.cached_keys()
    # 50 were cached and 40 have become the coldest: 10 of the 40 hottest keys are cached.
    assert len(after - before) == MOVED - 10


def test_scheme_without_a_cache_ignores_the_oracle() -> None:
    rack = shifting("nocache", "new")
    advance(rack, PERIOD + SOON)
    assert rack.take_sample().client.completed > 5_000


def test_oracle_reports_keys_just_after_each_shift() -> None:
    order = [bytes([number]) for number in range(8)]
    reports: list[tuple[bytes, ...]] = []
    shift = Shift(kind="hot-in", keys=2, top=4, every=1.5, admit="new")
    oracle = Oracle(shift, lambda count: order[:count], reports.append)
    oracle.phase("warmup", 0)
    assert oracle.deadline is None
    oracle.phase("measure", SECOND)
    first = SECOND + 3 * SECOND // 2 + DELAY
    assert oracle.deadline == first
    order[:] = [*order[-2:], *order[:-2]]
    oracle.advance(first - 1)
    assert not reports
    oracle.advance(first)
    assert reports == [tuple(order[:2])]
    oracle.advance(first + 3 * SECOND // 2)
    assert reports[1:] == [()]
    oracle.phase("drain", 9 * SECOND)
    assert oracle.deadline is None
