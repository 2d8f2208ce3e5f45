"""Live runs with faults lose no acknowledged write and read no old value."""

from __future__ import annotations

import pytest

from netkv.errors import UsageError
from netkv.live import state
from netkv.scenarios import loader
from netkv.scenarios.model import Scenario
from netkv.scenarios.results import RunResult
from netkv.scenarios.runner import run_scenario
from tests.scenarios.samples import LATE_S, throughput

pytestmark = pytest.mark.live

TEXT = """\
name: small
schemes: [nocache, netcache]
lab: {servers: 4, server_processes: 2, service_rate: 2000, cache_entries: 200, hot_threshold: 4}
workload: {keys: 3000, zipf: 0.99, writes: 0.2, deletes: 0.02, arrivals: {outstanding: 16}}
deadline: 60
warmup: 0.5
duration: 4
"""


def scenario(text: str, *overrides: str) -> Scenario:
    return loader.loads(TEXT + text, "small.yaml", overrides)


def assert_no_loss(run: RunResult) -> None:
    assert run.status == "done", run.reason
    assert run.completed_ops > 100
    assert run.acked_writes_lost == 0
    assert run.stale_reads == 0
    assert run.phantom_reads == 0
    assert run.lost_ops == 0


@pytest.mark.parametrize(
    "fault",
    [
        *("loss: 0.05", "duplicate: 0.3", "corrupt: 0.1"),
        *("reorder: 0.3, reorder_span: 0.005", "delay: 0.002"),
    ],
)
async def test_impaired_links_cause_no_loss(fault: str) -> None:
    nodes = ("client", "servers-0", "servers-1")
    events = "".join(f"  - {{at: 0, link: {{node: {node}, {fault}}}}}\n" for node in nodes)
    result = await run_scenario(scenario(f"events:\n{events}", "duration=2"))
    for run in result.runs:
        assert_no_loss(run)
        assert run.retries > 0 or not fault.startswith(("loss", "corrupt"))
        assert [event.node for event in run.events if event.kind == "fault"] == list(nodes)


@pytest.mark.parametrize("scheme", ["farreach", "netmc", "memcached"])
async def test_corrupted_frames_are_not_stored_or_read(scheme: str) -> None:
    """A write-back cache, multigets, and requests that are sent once."""
    nodes = ("client", "servers-0", "servers-1")
    events = "".join(f"  - {{at: 0, link: {{node: {node}, corrupt: 0.1}}}}\n" for node in nodes)
    lab = "lab={servers: 4, server_processes: 2}"
    options = (f"schemes=[{scheme}]", "duration=2", lab)
    deadline = "deadline=0.5" if scheme == "memcached" else "deadline=60"
    result = await run_scenario(scenario(f"events:\n{events}", *options, deadline))
    (run,) = result.runs
    assert run.status == "done", run.reason
    assert run.completed_ops > 50
    assert (run.acked_writes_lost, run.stale_reads, run.phantom_reads) == (0, 0, 0)


async def test_cut_link_stops_the_load_until_it_heals() -> None:
    text = """\
events:
  - {at: 1, link: {node: client, direction: to, loss: 1}}
  - {at: 6, link: {node: client, direction: to}}
"""
    result = await run_scenario(scenario(text, "schemes=[netcache]", "duration=10"))
    [run] = result.runs
    assert_no_loss(run)
    cut, healed = (event.time for event in run.events if event.change is not None)
    rates = throughput(run, cut + LATE_S, healed - LATE_S)
    assert rates
    assert sum(rates) < 0.01 * run.completed_ops
    assert sum(throughput(run, healed, run.series["time"][-1])) > 0


async def test_restart_of_the_controller_loses_no_acknowledged_write() -> None:
    text = """\
events:
  - {at: 0.5, kill: controller}
  - {at: 1, start: controller}
  - {at: 2, stop: controller}
  - {at: 2.5, kill: switch}
  - {at: 3, start: switch}
  - {at: 3.5, start: controller}
"""
    result = await run_scenario(scenario(text, "duration=8"))
    for run in result.runs:
        assert_no_loss(run)
        after = [at for at, time in enumerate(run.series["time"]) if time > 4]
        assert any(run.series["throughput_ops"][at] for at in after)
        changes = [
            (e.kind, e.node) for e in run.events if e.kind in ("killed", "stopped", "started")
        ]
        assert ("killed", "controller") in changes
        assert ("stopped", "controller") in changes
        assert changes.count(("started", "controller")) == 2


async def test_partitioned_controller_loses_no_acknowledged_write() -> None:
    text = """\
events:
  - {at: 0.5, partition: controller}
  - {at: 1.5, shift: {kind: hot-in, keys: 100}}
  - {at: 2.5, heal: controller}
"""
    result = await run_scenario(scenario(text))
    for run in result.runs:
        assert_no_loss(run)


async def test_random_faults_are_events_and_lose_no_write() -> None:
    text = """\
random_faults: {every: 0.3, last: 0.5}
"""
    result = await run_scenario(scenario(text, "duration=5", "seed=3"))
    changes = []
    for run in result.runs:
        assert_no_loss(run)
        changes.append([event.change for event in run.events if event.change is not None])
    assert changes[0] == changes[1]
    begun = {change.begins for change in changes[0]} - {None}
    assert begun == {number for change in changes[0] for number in change.ends}, "each fault ends"
    assert len(begun) >= 5


async def test_simulator_only_event_is_refused_before_the_run() -> None:
    text = "events:\n  - {at: 1, kill: servers-0}\n  - {at: 2, start: servers-0, storage: kept}\n"
    with pytest.raises(UsageError, match="'storage: kept'"):
        await run_scenario(scenario(text))
    assert state.names() == []
