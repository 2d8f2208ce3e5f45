"""NetCache's comparison of versions, which `lab.compare_versions` turns off."""

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
LATE_UPDATES = """\
events:
  - {at: 0, link: {node: servers-0, loss: 0.1, reorder: 0.3, reorder_span: 0.002}}
"""


async def run(text: str, *changes: str) -> RunResult:
    (found,) = (await run_scenario(loader.loads(text, "versions.yaml", changes))).runs
    assert found.status == "done"
    return found


@pytest.mark.parametrize(("compare", "stale"), [("true", False), ("false", True)])
async def test_late_updates_cause_stale_reads_without_comparison(compare: str, stale: bool) -> None:
    found = await run(TEXT + LATE_UPDATES, f"lab.compare_versions={compare}")
    assert (found.stale_reads > 0) == stale
    assert bool(found.violations) == stale


async def test_without_the_comparison_more_reads_hit() -> None:
    """Without it an UPDATE makes an entry valid although a later write has passed the switch."""
    compared = await run(TEXT)
    not_compared = await run(TEXT, "lab.compare_versions=false")
    assert compared.hit_ratio is not None
    assert not_compared.hit_ratio is not None
    assert not_compared.hit_ratio > compared.hit_ratio
