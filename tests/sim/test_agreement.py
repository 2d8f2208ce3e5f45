"""Live and simulated racks agree: a shortened quickstart in both modes.

The compared figures do not depend on other load of the machine: the hit ratio, the distribution of
requests over the servers, and that the live rack is not faster than the emulated rate of its
servers permits. How much slower it is, is a measurement (docs/use/simulator.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from netkv.scenarios import loader
from netkv.scenarios.results import RunResult
from netkv.scenarios.runner import run_scenario

SHORT = ("warmup=1", "duration=3", "expect=[]")
THROUGHPUT = 0.25
"""By how much the live throughput may exceed the simulated one, as a share."""
HIT_RATIO = 0.015
"""Largest difference: one point, and half a point for the sampling error of 20,000 reads."""
SERVER_SHARE = 0.03
"""Largest difference, as a share of all requests to servers."""

pytestmark = pytest.mark.live


async def quickstart(*changes: str) -> dict[str, RunResult]:
    """A result of each scheme."""
    scenario = loader.load(loader.find("quickstart"), [*SHORT, *changes])
    result = await run_scenario(scenario)
    for run in result.runs:
        assert run.status == "done", run.reason
        assert run.acked_writes_lost == 0
        assert run.stale_reads == 0
    return {run.scheme: run for run in result.runs}


def differences(simulated: dict[str, RunResult], live: dict[str, RunResult]) -> list[str]:
    """A sentence for each figure in which live and simulated runs differ too much."""
    assert set(simulated) == set(live) == {"nocache", "netcache"}
    found = []
    for scheme, run in simulated.items():
        reference = live[scheme]
        ratio = reference.throughput_ops / run.throughput_ops
        if ratio > 1 + THROUGHPUT:
            found.append(f"{scheme}: the live throughput is {ratio:.2f} of the simulated one")
        apart = abs((run.hit_ratio or 0.0) - (reference.hit_ratio or 0.0))
        if apart > HIT_RATIO:
            found.append(f"{scheme}: hit ratios are {100 * apart:.1f} points apart")
        pairs = zip(shares(run.server_load), shares(reference.server_load), strict=True)
        worst = max(abs(a - b) for a, b in pairs)
        if worst > SERVER_SHARE:
            found.append(f"{scheme}: shares of a server are {100 * worst:.1f} points apart")
    return found


def shares(load: Sequence[float]) -> list[float]:
    return [each / sum(load) for each in load]


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETKV_HOME", str(tmp_path))


async def test_simulated_quickstart_agrees_with_the_live_one() -> None:
    live = await quickstart("mode=live")
    simulated = await quickstart("mode=sim")
    assert differences(simulated, live) == []


async def test_comparison_detects_a_different_rack() -> None:
    usual = await quickstart("mode=sim")
    slower = await quickstart("mode=sim", "lab.service_rate=350")
    assert any("throughput" in sentence for sentence in differences(slower, usual))
    smaller = await quickstart("mode=sim", "lab.cache_entries=1500")
    assert any("hit ratios" in sentence for sentence in differences(smaller, usual))
