"""NetCache's updates without the comparison of versions, or without waiting for their answers."""

from __future__ import annotations

import pytest

from netkv.scenarios import loader
from netkv.scenarios.results import RunResult
from netkv.scenarios.runner import run_scenario

TEXT = """\
name: versions
schemes: [netcache]
mode: sim
lab: {servers: 2, service_rate: 20000, cache_entries: 50, hot_threshold: 4}
workload: {keys: 100, writes: 0.3, arrivals: {outstanding: 64}}
warmup: 0.2
duration: 0.5
"""
# An answer of the switch takes 2 ms and more, so one key that is always written gets at most 500
# writes a second if they wait for it.
ONE_KEY = """\
name: far
schemes: [netcache]
mode: sim
lab: {servers: 1, cache_entries: 1, profile_changes: {server_link.delay: 1000}}
workload: {keys: 1, writes: 1, arrivals: {outstanding: 16}}
warmup: 0.2
duration: 0.5
"""
LATE_UPDATES = """\
events:
  - {at: 0, link: {node: servers-0, loss: 0.1, reorder: 0.3, reorder_span: 0.002}}
"""


async def run(text: str, *changes: str) -> RunResult:
    (found,) = (await run_scenario(loader.loads(text, "versions.yaml", changes))).runs
    assert found.status == "done"
    return found


@pytest.mark.parametrize("awaited", ["true", "false"])
@pytest.mark.parametrize(("compare", "stale"), [("true", False), ("false", True)])
async def test_late_updates_cause_stale_reads_without_comparison(
    compare: str, stale: bool, awaited: str
) -> None:
    options = (f"lab.compare_versions={compare}", f"lab.await_updates={awaited}")
    found = await run(TEXT + LATE_UPDATES, *options)
    assert found.hit_ratio
    assert (found.stale_reads > 0) == stale
    assert bool(found.violations) == stale


async def test_without_the_comparison_more_reads_hit() -> None:
    """Without it an UPDATE makes an entry valid although a later write has passed the switch."""
    compared = await run(TEXT)
    not_compared = await run(TEXT, "lab.compare_versions=false")
    assert compared.hit_ratio is not None
    assert not_compared.hit_ratio is not None
    assert not_compared.hit_ratio > compared.hit_ratio


async def test_writes_of_a_key_need_not_wait_for_the_switch() -> None:
    awaited = await run(ONE_KEY)
    sent_once = await run(ONE_KEY, "lab.await_updates=false")
    assert awaited.throughput_ops <= 500
    assert sent_once.throughput_ops > 4 * awaited.throughput_ops
