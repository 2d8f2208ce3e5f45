"""How far a scenario is, as its runs report it to the store and to whoever shows it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any
from unittest.mock import Mock

import pytest

from netkv.api.models.jobs import JobProgress
from netkv.control.base import Recovered
from netkv.executors.executor import Worker
from netkv.model.report import EventKind, RackEvent
from netkv.runs import Store, StoreSink
from netkv.scenarios import execution, loader, provenance
from netkv.scenarios.recovery import recovering_after
from netkv.scenarios.results import RunStart
from netkv.scenarios.run_plan import plan
from netkv.scenarios.runner import run_scenario
from netkv.scenarios.schedule import ENDED, PHASES, State, Step
from netkv.scenarios.tracker import Tracker
from netkv.sim import rack as sim_rack
from netkv.sim.rack_nodes import SimClient
from tests.waiting import until_async

TEXT = """\
name: progress
schemes: [nocache, netcache]
mode: sim
lab: {servers: 2, service_rate: 500, cache_entries: 10}
workload: {keys: 100, writes: 0.1, arrivals: {outstanding: 4}}
warmup: 0.5
duration: 1
repeat: 2
"""


class Sink(StoreSink):
    """A sink that also keeps the documents."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.calls: list[str] = []
        self.planned: list[dict[str, Any]] = []
        self.documents: list[dict[str, Any]] = []

    def plan(self, entries: Sequence[dict[str, Any]]) -> None:
        self.calls.append("plan")
        self.planned += entries
        super().plan(entries)

    def begin(self, run: RunStart) -> None:
        self.calls.append("begin")
        super().begin(run)

    def progress(self, document: dict[str, Any]) -> None:
        self.documents.append(document)
        super().progress(document)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs report so often that no phase passes without a report."""
    monkeypatch.setattr(execution, "_TICK_S", 0.005)
    monkeypatch.setattr(sim_rack, "_COUNT_INTERVAL_S", 0.0)


@pytest.mark.parametrize("jobs", [1, 2])
async def test_store_has_plan_and_progress_of_all_runs(store: Store, jobs: int) -> None:
    """Runs in processes report as those in this one do."""
    scenario = loader.loads(TEXT, "progress.yaml")
    states: list[State] = []
    with Sink(store) as sink:
        found = await run_scenario(scenario, sink=sink, on_state=states.append, jobs=jobs)
    assert found.ok
    assert sink.calls == ["plan", *["begin"] * 4]
    assert [(each["scheme"], each["repeat"]) for each in sink.planned] == [
        ("nocache", 0),
        ("netcache", 0),
        ("nocache", 1),
        ("netcache", 1),
    ]
    assert {each["params"] == {} for each in sink.planned} == {True}
    for seen in (states[-1].document(0), sink.documents[-1]):
        assert (seen["done"], seen["total"], seen["runs"]) == (4, 4, [])
        assert (seen["fraction"], seen["left_seconds"], seen["phase"]) == (1, 0, "done")
    shares = [each.fraction for each in states]
    assert shares == sorted(shares)
    for document in sink.documents:
        JobProgress.model_validate(document)  # what the API makes of it
    stored = [run for document in sink.documents for run in document["runs"]]
    assert {run["index"] for run in stored} == {0, 1, 2, 3}
    assert {run["scheme"] for run in stored} == {"nocache", "netcache"}
    for index in range(4):
        # Each change of a phase is stored at once, however short the phase is.
        phases = list(dict.fromkeys(run["phase"] for run in stored if run["index"] == index))
        assert phases == [each for each in PHASES if each != "preload"]


@pytest.mark.usefixtures("often")
async def test_filling_a_cache_is_a_phase_with_a_fraction() -> None:
    changes = ["lab.cache_entries=2000", "lab.preload=true", "workload.keys=10000"]
    scenario = loader.loads(TEXT, "progress.yaml", [*changes, "schemes=[netcache]", "repeat=1"])
    states: list[State] = []
    await run_scenario(scenario, on_state=states.append)
    runs = [run for state in states for run in state.runs]
    filled = [run.fraction for run in runs if run.phase == "preload"]
    assert filled == sorted(filled)
    assert len(set(filled)) > 2
    assert 0 <= filled[0] < filled[-1] <= 1
    phases = list(dict.fromkeys(run.phase for run in runs))
    assert phases == list(PHASES), "in this order"
    loads = [run.fraction for run in runs if run.phase == "measure"]
    assert any(0 < fraction < 1 for fraction in loads)


@pytest.mark.usefixtures("often")
async def test_measured_part_does_not_begin_as_far_as_the_warm_up_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine, the clients get the command to begin late."""
    fast = SimClient.command
    states: list[State] = []

    def measured() -> list[float]:
        return [run.fraction for state in states for run in state.runs if run.phase == "measure"]

    async def slow(client: SimClient, command: dict[str, Any]) -> dict[str, Any]:
        if command.get("name") == "measure":
            await until_async(lambda: len(measured()) >= 4, "the run has reported")
        return await fast(client, command)

    monkeypatch.setattr(SimClient, "command", slow)
    scenario = loader.loads(TEXT, "progress.yaml", ["schemes=[nocache]", "repeat=1"])
    await run_scenario(scenario, on_state=states.append)
    assert max(measured()[:4]) < 1


async def test_progress_says_that_a_switch_recovers() -> None:
    """A run measures while its switch recovers; the phase stays what it is."""
    events = "events: [{at: 0.3, kill: switch}, {at: 0.4, start: switch}]\n"
    changes = ["schemes=[farreach]", "repeat=1", "lab.cache_entries=500", "workload.keys=1000"]
    scenario = loader.loads(TEXT + events, "progress.yaml", [*changes, "lab.preload=true"])
    texts: list[str] = []
    await run_scenario(
        scenario, on_state=lambda state: texts.extend(run.text for run in state.runs)
    )
    assert "measuring, switch recovers" in texts
    assert texts[-1] == "stopping"


def _event(kind: EventKind, node: str) -> RackEvent:
    recovered = Recovered((), {}) if kind == "recovered" else None
    return RackEvent(0.0, kind, node, "", recovered)


def _recovering(events: Sequence[tuple[EventKind, str]]) -> Iterator[list[str]]:
    switches: list[str] = []
    for kind, node in events:
        switches = recovering_after(switches, _event(kind, node))
        yield switches


def test_recovery_ends_with_its_completion_or_its_interruption() -> None:
    begin: list[tuple[EventKind, str]] = [("recovering", "leaf-0"), ("recovering", "leaf-1")]
    for further, left in [
        (("recovered", "leaf-0"), ["leaf-1"]),
        (("killed", "leaf-1"), ["leaf-0"]),
        (("failed", "controller"), []),
        (("killed", "servers-0"), ["leaf-0", "leaf-1"]),
        (("recovering", "leaf-0"), ["leaf-1", "leaf-0"]),
    ]:
        *_, last = _recovering([*begin, further])  # type: ignore[list-item]
        assert last == left, further


def test_workers_rate_and_failures_are_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    executor = Mock(link="http://127.0.0.1:8787", **{"workers.return_value": []})
    states: list[State] = []
    with Sink(store) as sink:
        tracker = Tracker(
            plan(loader.loads(TEXT, "progress.yaml")), None, 2, sink, states.append, executor
        )
        tracker.step(Step(0, "warmup"))
        assert not states[-1].workers
        assert states[-1].rate is None
        executor.workers.return_value = [Worker("a", "host", running=1, done=1)]
        now = 101.0
        tracker.failed("nocache", "It broke.")
        tracker.step(Step(0, "failed"))
        assert not states[-1].workers, "they are asked for at intervals"
        assert (states[-1].failed, states[-1].failures) == (1, ("nocache: It broke.",))
        assert states[-1].rate == 1
        now = 104.0
        tracker.step(Step(1, "done"))
        assert states[-1].workers == (Worker("a", "host", running=1, done=1),)
        assert states[-1].rate == 0.5
    document = sink.documents[-1]
    assert (document["failed"], document["link"]) == (1, "http://127.0.0.1:8787")
    assert [each["name"] for each in document["workers"]] == ["a"]


async def test_stored_runs_count_as_ended(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = loader.loads(TEXT, "progress.yaml")
    monkeypatch.setattr(provenance, "_revision", lambda: "abc")
    with StoreSink(store) as sink:
        await run_scenario(scenario, sink=sink)
    states: list[State] = []
    with StoreSink(store) as sink:
        await run_scenario(scenario, sink=sink, finished=store.result_like, on_state=states.append)
    assert [state.done for state in states if not state.runs] == [1, 2, 3, 4]
    assert states[-1].fraction == 1
    assert set(ENDED).isdisjoint(run.phase for state in states for run in state.runs)
