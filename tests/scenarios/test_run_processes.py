"""Simulated runs side by side, each in a process."""

from __future__ import annotations

import asyncio
import multiprocessing

import pytest

from netkv.errors import UsageError
from netkv.executors.executor import UnitCrashedError
from netkv.executors.processes import Processes
from netkv.runs import Store, StoreSink
from netkv.scenarios import loader, provenance
from netkv.scenarios.execution import Progress
from netkv.scenarios.results import CANCELLED, ScenarioResult
from netkv.scenarios.run_plan import PlannedRun
from netkv.scenarios.runner import Job, run_scenario, run_scenarios
from netkv.scenarios.schedule import State
from netkv.scenarios.units import run_units
from tests.waiting import until_async

TEXT = """\
name: side-by-side
schemes: [nocache, netcache]
mode: sim
lab: {servers: 2, service_rate: 500, cache_entries: 10}
workload: {keys: 100, writes: 0.1, arrivals: {outstanding: 4}}
warmup: 0.5
duration: 1
repeat: 2
events: [{at: 0.5, kill: switch}, {at: 0.7, start: switch}]
expect: [each.linearizable == 1]
"""
LONG = ("duration=1000", "events=[]", "expect=[]", "repeat=1")


async def in_a_process(planned: PlannedRun) -> None:
    with Processes(1) as executor:
        await run_units(
            executor,
            iter([(0, planned)]),
            1,
            threads=1,
            sink=lambda _: None,
            on_progress=lambda _: None,
            on_result=lambda _index, _result: None,
        )


async def test_scenarios_in_one_pool_have_the_results_that_each_has_alone(store: Store) -> None:
    one = loader.loads(TEXT, "side-by-side.yaml", ["repeat=1"])
    other = loader.loads(TEXT, "side-by-side.yaml", ["name=other", "duration=2", "repeat=1"])
    expected = [await run_scenario(each) for each in (one, other, one)]
    found: dict[int, ScenarioResult] = {}
    states: list[State] = []
    with StoreSink(store) as first, StoreSink(store) as second, StoreSink(store) as third:
        jobs = [Job(one, first), Job(other, second), Job(one, third)]
        await run_scenarios(jobs, found.__setitem__, processes=2, on_state=states.append)
    documents = [found[at].model_dump_json() for at in range(3)]
    assert documents == [each.model_dump_json() for each in expected]
    # The third scenario has the runs of the first: they were executed once.
    assert [len(sink.finished) for sink in (first, second, third)] == [2, 2, 0]
    assert (states[-1].done, states[-1].total) == (6, 6)
    assert [each.fraction for each in states] == sorted(each.fraction for each in states)


async def test_longest_runs_of_a_pool_begin_first() -> None:
    texts = [["name=short", "repeat=1"], ["name=long", "duration=3", "repeat=1"]]
    begun: list[str] = []
    await run_scenarios(
        [Job(loader.loads(TEXT, "side-by-side.yaml", changes)) for changes in texts],
        lambda _index, _result: None,
        on_progress=lambda now: begun.append(now.run.scenario),
    )
    assert list(dict.fromkeys(begun)) == ["long", "short"]


async def test_results_are_those_of_a_single_process(store: Store) -> None:
    scenario = loader.loads(TEXT, "side-by-side.yaml")
    alone = await run_scenario(scenario)
    phases: dict[str, list[str]] = {}
    with StoreSink(store) as sink:
        together = await run_scenario(
            scenario,
            sink=sink,
            on_progress=lambda now: phases.setdefault(now.run.id, []).append(now.phase),
            jobs=3,
        )
    assert together.model_dump_json() == alone.model_dump_json()
    assert together.ok
    assert sorted(sink.finished) == sorted(run.id for run in alone.runs)
    assert len(store.records(sink.finished)) == 4
    # Each run has its bar, from its beginning to its end.
    assert {run: (seen[0], seen[-1]) for run, seen in phases.items()} == {
        run.id: ("starting", "done") for run in alone.runs
    }


async def test_process_that_dies_costs_only_its_run(store: Store) -> None:
    # The first two runs have more samples than fit into a pipe, so they cannot end unnoticed.
    changes = ["events=[]", "repeat=1", "sweep={duration: [1000, 1]}"]
    scenario = loader.loads(TEXT, "side-by-side.yaml", changes)
    killed = False
    phases: dict[int, str] = {}

    def on_progress(now: Progress) -> None:
        nonlocal killed
        phases[now.index] = now.phase
        if now.phase == "measure" and not killed:
            killed = True
            for process in multiprocessing.active_children():
                process.kill()

    with StoreSink(store) as sink:
        found = await run_scenario(scenario, sink=sink, on_progress=on_progress, jobs=2)
    assert [run.status for run in found.runs] == ["failed", "failed", "done", "done"]
    assert {run.reason for run in found.runs[:2]} == {"Its process ended by signal SIGKILL."}
    assert all(run.linearizable for run in found.runs[2:])
    assert sorted(sink.finished) == sorted(run.id for run in found.runs)
    assert sorted(sink.failed) == sorted(run.id for run in found.runs[:2])
    assert [phases[at] for at in range(4)] == ["failed", "failed", "done", "done"]


async def test_interrupted_runs_are_stored_with_what_they_have(store: Store) -> None:
    scenario = loader.loads(TEXT, "side-by-side.yaml", LONG)
    measuring: set[str] = set()
    phases: dict[str, str] = {}

    def on_progress(now: Progress) -> None:
        phases[now.run.id] = now.phase
        if now.phase == "measure" and now.sample is not None:
            measuring.add(now.run.id)

    with StoreSink(store) as sink:
        task = asyncio.create_task(
            run_scenario(scenario, sink=sink, on_progress=on_progress, jobs=2)
        )
        await until_async(lambda: len(measuring) == 2, "both runs are measured")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert sorted(sink.cancelled) == sorted(measuring)
    assert set(phases.values()) == {"cancelled"}
    for record in store.records(sink.cancelled):
        assert (record.status, record.reason) == ("cancelled", CANCELLED)
        assert record.throughput_ops > 0
    assert multiprocessing.active_children() == []


def test_second_ctrl_c_cancels_the_run_too(store: Store) -> None:
    """The first one cancels the task of the scenario; asyncio raises the second one in it."""
    scenario = loader.loads(TEXT, "side-by-side.yaml", LONG)

    def on_progress(now: Progress) -> None:
        if now.phase == "measure":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), StoreSink(store) as sink:
        asyncio.run(run_scenario(scenario, sink=sink, on_progress=on_progress, jobs=1))
    (head,) = store.heads()
    assert (head.status, head.reason) == ("cancelled", CANCELLED)
    assert sink.cancelled == [head.id]


async def test_internal_error_of_a_run_ends_the_scenario_with_its_traceback() -> None:
    scenario = loader.loads(TEXT, "side-by-side.yaml")
    broken = PlannedRun(scenario.model_copy(update={"events": None}), "nocache", {}, 0, 1)
    with pytest.raises(UnitCrashedError, match=r"(?s)Error.*Traceback.*units.py"):
        await in_a_process(broken)
    assert multiprocessing.active_children() == []


async def test_error_of_the_user_is_the_same_in_a_process() -> None:
    scenario = loader.loads(TEXT, "side-by-side.yaml")
    with pytest.raises(UsageError, match="no-such-scheme"):
        await in_a_process(PlannedRun(scenario, "no-such-scheme", {}, 0, 1))


async def test_stored_runs_are_not_repeated(store: Store) -> None:
    scenario = loader.loads(TEXT, "side-by-side.yaml")
    made = []
    for _ in range(2):
        with StoreSink(store) as sink:
            found = await run_scenario(scenario, sink=sink, finished=store.result_like, jobs=2)
        made.append(sorted(sink.finished))
    all_runs = sorted(run.id for run in found.runs)
    # A run from files that differ from the commit is repeated.
    assert made == [all_runs, all_runs if found_uncommitted() else []]


def found_uncommitted() -> bool:
    return provenance.provenance("forwarding.p4", "").uncommitted
