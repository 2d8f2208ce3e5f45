"""A cache of 0 entries, the first point of a sweep: every scheme runs, and caches nothing."""

from __future__ import annotations

import pytest

from netkv import schemes
from netkv.model.scheme_options import SwitchCache
from netkv.runs import Store, StoreSink
from netkv.scenarios import loader
from netkv.scenarios.runner import run_scenario

CACHES = [each.name for each in schemes.all_schemes() if issubclass(each.options, SwitchCache)]

TEXT = """
name: empty
schemes: [SCHEME]
lab: {servers: 4, server_processes: 2, hot_threshold: 2}
workload: {keys: 200, writes: 0.2, arrivals: {outstanding: 8}}
sweep: {lab.cache_entries: [0, 8]}
warmup: 0.1
duration: 0.4
"""


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("home")
    return Store(f"sqlite:///{folder}/runs.db")


def test_the_caches_are_tried() -> None:
    assert {"netcache", "farreach", "distcache", "distreach"} <= set(CACHES)


@pytest.mark.parametrize("scheme", CACHES)
async def test_simulated_cache_without_entries_caches_nothing(scheme: str, store: Store) -> None:
    scenario = loader.loads(TEXT.replace("SCHEME", scheme), "empty.yaml", ["mode=sim"], to_run=True)
    with StoreSink(store) as sink:
        empty, some = (await run_scenario(scenario, sink=sink)).runs
    assert (empty.status, some.status) == ("done", "done")
    assert (empty.hit_ratio, empty.linearizable, empty.acked_writes_lost) == (0, True, 0)
    assert some.hit_ratio > 0


@pytest.mark.live
@pytest.mark.parametrize("scheme", CACHES)
async def test_live_cache_without_entries_caches_nothing(scheme: str, store: Store) -> None:
    changes = ["sweep={}", "lab.cache_entries=0", "warmup=0", "duration=1"]
    scenario = loader.loads(TEXT.replace("SCHEME", scheme), "empty.yaml", changes, to_run=True)
    with StoreSink(store) as sink:
        (run,) = (await run_scenario(scenario, sink=sink)).runs
    assert (run.status, run.reason) == ("done", None)
    assert (run.hit_ratio, run.acked_writes_lost) == (0, 0)
    assert run.throughput_ops > 0
