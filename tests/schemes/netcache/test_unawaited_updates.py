"""NetCache's servers that await no answer to an update, `lab.await_updates=false`."""

from __future__ import annotations

from netkv.scenarios import loader
from netkv.scenarios.results import RunResult
from netkv.scenarios.runner import run_scenario

# An answer of the switch takes 2 ms and more, so that one key that is always written gets at most
# 500 writes a second where they wait for it.
ONE_KEY = """\
name: far
schemes: [netcache]
mode: sim
lab: {servers: 1, cache_entries: 1, profile_changes: {server_link.delay: 1000}}
workload: {keys: 1, writes: 1, arrivals: {outstanding: 16}}
warmup: 0.2
duration: 0.5
"""
LOSSY = """\
name: lossy
schemes: [netcache]
mode: sim
lab: {servers: 2, service_rate: 20000, cache_entries: 50, hot_threshold: 4}
workload: {keys: 100, writes: 0.3, arrivals: {outstanding: 64}}
warmup: 0.2
duration: 0.5
events:
  - {at: 0, link: {node: servers-0, loss: 0.1, reorder: 0.3, reorder_span: 0.002}}
"""


async def run(text: str, *changes: str) -> RunResult:
    (found,) = (await run_scenario(loader.loads(text, "updates.yaml", changes))).runs
    assert found.status == "done"
    return found


async def test_writes_of_a_key_do_not_wait_for_the_switch() -> None:
    awaited = await run(ONE_KEY)
    sent_once = await run(ONE_KEY, "lab.await_updates=false")
    assert awaited.throughput_ops <= 500
    assert sent_once.throughput_ops > 4 * awaited.throughput_ops


async def test_lost_and_late_updates_make_no_read_stale_if_versions_are_compared() -> None:
    found = await run(LOSSY, "lab.await_updates=false")
    assert found.hit_ratio
    assert found.stale_reads == 0
    assert not found.violations


async def test_as_in_the_artefact_they_do() -> None:
    found = await run(LOSSY, "lab.await_updates=false", "lab.compare_versions=false")
    assert found.stale_reads > 0
