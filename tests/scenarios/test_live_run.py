"""Scenarios on live racks: results, failed nodes, events, interruption."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import statistics
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from netkv.live import state
from netkv.live.process import NodeProcess
from netkv.processes import identity
from netkv.scenarios import loader
from netkv.scenarios.execution import Progress
from netkv.scenarios.model import Scenario
from netkv.scenarios.results import (
    CANCELLED,
    RunEvent,
    RunResult,
    RunSample,
    RunStart,
    ScenarioResult,
    Threshold,
)
from netkv.scenarios.runner import run_scenario
from tests.scenarios.samples import LATE_S, throughput
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.live

TEXT = """\
name: small
schemes: [nocache, netcache]
lab: {servers: 4, server_processes: 2, service_rate: 500, cache_entries: 200}
workload: {keys: 5000, zipf: 0.99, writes: 0.05, arrivals: {outstanding: 8}}
warmup: 1
duration: 3
"""


class Sink:
    """A sink that records all calls and checks their order."""

    def __init__(self) -> None:
        self.runs: list[RunStart] = []
        self.samples: list[RunSample] = []
        self.events: list[RunEvent] = []
        self.results: list[RunResult] = []
        self.verdicts: list[Threshold] = []
        self.open: str | None = None
        self.planned: list[dict[str, Any]] = []
        self.progressed: list[dict[str, Any]] = []

    def plan(self, entries: Sequence[dict[str, Any]]) -> None:
        assert not self.runs
        self.planned += entries

    def progress(self, document: dict[str, Any]) -> None:
        assert self.planned
        self.progressed.append(document)

    def adopt(self, run_id: str) -> None:
        raise AssertionError(f"{run_id} is live")

    def memory(self, run_id: str, peak: int) -> None:
        raise AssertionError(f"{run_id} has no process of its own ({peak} bytes)")

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()

    def begin(self, run: RunStart) -> None:
        assert self.open is None
        self.open = run.id
        self.runs.append(run)

    def sample(self, run_id: str, sample: RunSample) -> None:
        assert run_id == self.open
        self.samples.append(sample)

    def event(self, run_id: str, event: RunEvent) -> None:
        assert run_id == self.open
        self.events.append(event)

    def finish(self, result: RunResult) -> None:
        assert result.id == self.open
        self.open = None
        self.results.append(result)

    def verdict(self, run_ids: list[str], thresholds: list[Threshold]) -> None:
        assert run_ids == [run.id for run in self.runs]
        self.verdicts = thresholds


def small(*more: str, text: str = TEXT) -> Scenario:
    return loader.loads(text, "small.yaml", more)


def node_pid(name: str) -> int | None:
    """Pid of a node of the current run."""
    for lab_name in state.names():
        lab = state.load(lab_name)
        if lab is not None and name in lab.nodes:
            return lab.nodes[name].pid
    return None


def kill_in_measured_part(name: str) -> object:
    """A progress callback that kills a node once, in the middle of the measured part."""
    done: list[int] = []

    def on_progress(progress: Progress) -> None:
        if not done and progress.phase == "measure" and progress.sample is not None:
            pid = node_pid(name)
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            done.append(pid)

    return on_progress


def assert_times(run: RunResult, times: list[float]) -> None:
    """Samples have these times, without those at which a busy machine gave none."""
    found, intervals = run.series["time"], run.series["interval"]
    assert set(found) <= set(times)
    assert found == sorted(found)
    assert found[-1] == times[-1]
    # Whatever the samples are, they are about the whole run.
    assert sum(intervals) == pytest.approx(len(times), abs=0.8)
    for before, time, interval in zip(found, found[1:], intervals[1:], strict=False):
        assert interval == pytest.approx(time - before, abs=0.8)


async def test_result_has_the_figures_of_both_schemes() -> None:
    text = TEXT + "expect:\n  - netcache.hit_ratio >= nocache.hit_ratio + 0.3\n"
    sink = Sink()
    result = await run_scenario(small(text=text), sink=sink)
    assert result.ok, result.thresholds
    nocache, netcache = result.runs
    assert nocache.hit_ratio == 0
    assert nocache.predicted_hit_ratio is None
    assert netcache.hit_ratio is not None
    assert netcache.predicted_hit_ratio is not None
    assert abs(netcache.hit_ratio - netcache.predicted_hit_ratio) < 0.1
    for run in result.runs:
        assert run.status == "done"
        assert run.acked_writes_lost == 0
        assert run.stale_reads == 0
        assert run.completed_ops > 0
        assert len(run.server_load) == 4
        assert run.latency_us.p50 is not None
        assert run.latency_us.p99 is not None
        assert 0 < run.latency_us.p50 <= run.latency_us.p99
        lengths = {len(column) for column in run.series.values()}
        assert len(lengths) == 1
        assert_times(run, [0, 1, 2, 3])
        # Completed operations = operations served by servers + hits in the switch.
        served = sum(run.server_load) + (run.hit_ratio or 0) * run.throughput_ops
        assert served >= 0.8 * run.throughput_ops
    assert sink.results == result.runs
    assert sink.verdicts == result.thresholds
    assert [each.time for each in sink.samples] == nocache.series["time"] + netcache.series["time"]
    assert ScenarioResult.model_validate_json(result.model_dump_json()) == result
    start = sink.runs[1]
    assert start.parameters["workload"]["zipf"] == 0.99
    assert start.provenance.program == "netcache.p4"
    assert int(start.provenance.program_hash, 16)
    assert state.names() == []


@pytest.mark.parametrize("node", ["switch", "servers-1", "client"])
async def test_run_with_a_killed_node_fails_and_the_next_one_works(node: str) -> None:
    sink = Sink()
    scenario = small("schemes=[nocache]")
    result = await run_scenario(
        scenario,
        sink=sink,
        on_progress=kill_in_measured_part(node),  # type: ignore[arg-type]
    )
    [run] = result.runs
    assert run.status == "failed"
    assert run.reason is not None
    assert f"'{node}' was killed by signal 9" in run.reason
    assert run.completed_ops > 0, "the samples from before are kept"
    assert any(event.kind == "failed" and event.node == node for event in run.events)
    assert not result.ok
    assert sink.open is None
    assert state.names() == []
    again = await run_scenario(small("schemes=[nocache]", "duration=1", "warmup=0"))
    assert again.runs[0].status == "done"


async def test_run_continues_after_a_server_failure_if_requested() -> None:
    scenario = small("schemes=[nocache]", "on_failure=continue", "deadline=0.3")
    result = await run_scenario(
        scenario,
        on_progress=kill_in_measured_part("servers-1"),  # type: ignore[arg-type]
    )
    [run] = result.runs
    assert run.status == "done"
    assert run.acked_writes_lost is None, "half the keys cannot be read back"
    assert run.lost_ops > 0
    assert any("not verified" in event.text for event in run.events)


async def test_events_are_carried_out_in_order_while_samples_are_taken() -> None:
    """The controller is killed at its time or when the switch is up again, whichever is later."""
    events = "[{at: 0.5, kill: switch}, {at: 0.6, start: switch}, {at: 0.7, kill: controller}]"
    result = await run_scenario(
        small("schemes=[nocache]", "warmup=0", text=f"{TEXT}events: {events}\n")
    )
    [run] = result.runs
    assert run.status == "done", run.reason
    nodes = [(each.node, each.kind) for each in run.events if each.node in ("switch", "controller")]
    order = [("switch", "killed"), ("switch", "started"), ("controller", "killed")]
    assert [each for each in nodes if each in order] == order
    assert_times(run, [1, 2, 3])


async def test_restart_of_the_switch_loses_no_acknowledged_write() -> None:
    text = TEXT + "events:\n  - {at: 0.5, kill: switch}\n  - {at: 1, start: switch}\n"
    result = await run_scenario(small("schemes=[netcache]", "duration=6", text=text))
    [run] = result.runs
    assert run.status == "done", run.reason
    assert run.acked_writes_lost == 0
    assert run.stale_reads == 0
    # No sample waits for the switch to start, which takes about a second.
    assert_times(run, [0, 1, 2, 3, 4, 5, 6])
    again = [at for at, time in enumerate(run.series["time"]) if time > 2]
    assert any(run.series["throughput_ops"][at] for at in again)
    ratios = [run.series["hit_ratio"][at] or 0 for at in again]
    assert max(ratios) > 0.2, "the cache is filled again"


async def test_restart_of_a_leaf_loses_no_acknowledged_write() -> None:
    text = TEXT + "events:\n  - {at: 0.5, kill: leaf-1}\n  - {at: 1, start: leaf-1}\n"
    changes = ["schemes=[netcache]", "duration=6", "lab.topology.kind=spine-leaf"]
    result = await run_scenario(small(*changes, text=text))
    [run] = result.runs
    assert run.status == "done", run.reason
    assert (run.acked_writes_lost, run.stale_reads) == (0, 0)
    again = [at for at, time in enumerate(run.series["time"]) if time > 2]
    assert any(run.series["throughput_ops"][at] for at in again)


async def test_rate_and_shift_events_change_the_load() -> None:
    text = TEXT + (
        "events:\n  - {at: 2, rate: 50}\n  - {at: 2.5, shift: {kind: hot-in, keys: 100}}\n"
    )
    result = await run_scenario(small("schemes=[netcache]", "duration=8", text=text))
    [run] = result.runs
    assert run.status == "done", run.reason
    changed = next(event.time for event in run.events if event.kind == "load")
    before = max(throughput(run, 0, changed))
    after = statistics.median(throughput(run, changed + LATE_S, run.series["time"][-1]))
    assert before > 3 * after
    assert 25 < after < 100
    assert [e.text for e in run.events if e.kind == "load"] == [
        "rate 50",
        "shift hot-in of 100 keys",
    ]


async def test_interrupted_run_is_stored_as_cancelled_and_cleaned_up() -> None:
    sink = Sink()
    reached = asyncio.Event()

    def on_progress(progress: Progress) -> None:
        if progress.phase == "measure":
            reached.set()

    task = asyncio.create_task(run_scenario(small(), sink=sink, on_progress=on_progress))
    await asyncio.wait_for(reached.wait(), PATIENCE_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [run] = sink.results
    assert (run.status, run.reason) == ("cancelled", CANCELLED)
    assert state.names() == []


def test_files_of_a_killed_runner_are_removed_by_the_next(
    tmp_path: Path,
) -> None:
    (tmp_path / "small.yaml").write_text(TEXT)
    program = textwrap.dedent(
        """
        import asyncio, sys
        from pathlib import Path
        from netkv.scenarios import loader
        from netkv.scenarios.runner import run_scenario

        scenario = loader.load(Path(sys.argv[1]))
        asyncio.run(run_scenario(scenario, on_progress=lambda p: print(p.phase, flush=True)))
        """
    )
    runner = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "small.yaml")],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert runner.stdout is not None
    with runner.stdout:
        for line in runner.stdout:
            if line.strip() == "measure":
                break
        pids = [node_pid(name) for name in ("switch", "servers-0", "servers-1", "client")]
        assert None not in pids
        runner.kill()
        runner.wait()
    until(lambda: not any(identity(pid) for pid in pids if pid), "no node is left")
    assert len(state.sweep()) == 1
    assert state.names() == []


async def test_compile_error_is_a_failed_run_with_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from netkv.schemes import Scheme

    program = tmp_path / "broken.p4"
    program.write_text("header h_t { bit<8 a; }\n")
    monkeypatch.setattr(Scheme, "program_path", property(lambda _: program))
    sink = Sink()
    result = await run_scenario(small("schemes=[nocache]"), sink=sink)
    assert result.runs[0].status == "failed"
    assert "broken.p4:1" in (result.runs[0].reason or "")
    assert sink.open is None
    assert state.names() == []


def _full(error: int) -> Callable[..., object]:
    def fails(*_: object, **__: object) -> object:
        raise OSError(error, os.strerror(error))

    return fails


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
async def test_full_disk_ends_no_run_that_has_begun(
    monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """The file of the rack cannot be written from the first sample on, nor that of the next."""

    def fill(progress: Progress) -> None:
        if progress.sample is not None:
            monkeypatch.setattr(state.Lab, "create", _full(error))

    found = await run_scenario(small("repeat=2", "schemes=[nocache]"), on_progress=fill)
    first, second = found.runs
    assert (first.status, first.reason) == ("done", None)
    assert first.throughput_ops > 0
    assert second.status == "failed"
    assert os.strerror(error) in str(second.reason)


async def test_full_disk_at_the_start_of_a_node_fails_its_run_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spawn = NodeProcess.spawn
    starts = 0

    async def fails(process: NodeProcess) -> None:
        nonlocal starts
        starts += 1
        if starts == 2:
            _full(errno.ENOSPC)()
        await spawn(process)

    monkeypatch.setattr(NodeProcess, "spawn", fails)
    found = await run_scenario(small())
    assert [each.status for each in found.runs] == ["failed", "done"]
    assert "No space left on device" in str(found.runs[0].reason)
