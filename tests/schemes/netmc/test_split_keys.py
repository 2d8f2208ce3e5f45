"""NetMC's width of KEYIDX (`lab.split_keys`) and the size of packets (`lab.mtu`)."""

from __future__ import annotations

import pytest

from netkv.errors import UsageError
from netkv.scenarios import loader
from netkv.scenarios.results import RunResult
from netkv.scenarios.runner import run_scenario

TEXT = """\
name: split-keys
schemes: [netmc]
mode: sim
lab: {servers: 5, clients: 2, profile: netmc-sources}
workload: {keys: 1000, key_size: 4, value_size: 256, writes: 0.05, multiget: 100}
warmup: 0.01
duration: 0.02
"""


async def run(*changes: str) -> RunResult:
    (found,) = (await run_scenario(loader.loads(TEXT, "split-keys.yaml", changes))).runs
    assert found.status == "done"
    assert not found.violations
    assert found.lost_ops == 0
    return found


async def test_a_wider_keyidx_splits_multigets_into_fewer_sub_requests() -> None:
    """100 keys of 5 servers are 5 sub-requests, and one more for each request that ends within a
    server."""
    found = [
        (await run(f"lab.split_keys={keys}", "workload.writes=0")).groups_per_request
        for keys in (16, 32, 64, 128)
    ]
    assert found[0] > found[1] > found[2] > found[3]
    assert found[3] == pytest.approx(5, abs=0.05)


async def test_larger_packets_make_replies_fewer() -> None:
    usual, large = await run("lab.split_keys=128"), await run("lab.split_keys=128", "lab.mtu=9000")
    assert large.throughput_ops > 1.2 * usual.throughput_ops


def test_larger_packets_are_refused_live() -> None:
    text = TEXT.replace("mode: sim", "mode: live").replace(", profile: netmc-sources", "")
    loader.loads(text, "split-keys.yaml", to_run=True)
    with pytest.raises(UsageError, match=r"live, 'lab\.mtu' must be 1,500, not 9,000"):
        loader.loads(text, "split-keys.yaml", ["lab.mtu=9000"], to_run=True)
