"""`finished=`: simulated runs whose results are in the store are not repeated."""

from __future__ import annotations

import pytest

from netkv.errors import UsageError
from netkv.runs import Store, StoreSink
from netkv.runs.schema import RunRow
from netkv.scenarios import loader, provenance
from netkv.scenarios.execution import Progress
from netkv.scenarios.results import RunResult
from netkv.scenarios.runner import run_scenario

TEXT = """\
name: known
schemes: [nocache]
mode: sim
lab: {servers: 2, service_rate: 500}
workload: {keys: 100, arrivals: {outstanding: 4}}
warmup: 0
duration: 1
sweep: {workload.writes: [0.0, 0.5]}
"""


@pytest.fixture
def revision(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commit of the checkout, which a test may change."""
    found = ["abc"]
    monkeypatch.setattr(provenance, "_revision", lambda: found[0])
    return found


async def run(store: Store, *changes: str) -> tuple[list[RunResult], list[str]]:
    """The results, and the ids of the runs that were not in the store."""
    phases: dict[str, str] = {}

    def on_progress(now: Progress) -> None:
        phases[now.run.id] = now.phase

    with StoreSink(store) as sink:
        scenario = loader.loads(TEXT, "known.yaml", changes)
        found = await run_scenario(
            scenario, sink=sink, on_progress=on_progress, finished=store.result_like
        )
    assert set(phases.values()) <= {"done", "known"}
    assert {name for name, phase in phases.items() if phase == "done"} == set(sink.finished)
    return found.runs, sink.finished


@pytest.mark.usefixtures("revision")
async def test_stored_run_is_not_repeated(store: Store) -> None:
    first, made = await run(store)
    assert sorted(made) == sorted(each.id for each in first)
    again, made = await run(store)
    assert made == []
    documents = [[each.model_dump_json() for each in runs] for runs in (again, first)]
    assert documents[0] == documents[1]


@pytest.mark.usefixtures("revision")
async def test_only_missing_runs_are_run(store: Store) -> None:
    first, _ = await run(store)
    store.delete([first[1].id])
    again, made = await run(store)
    assert made == [first[1].id]
    assert [each.id for each in again] == [each.id for each in first]


@pytest.mark.usefixtures("revision")
async def test_id_of_a_run_does_not_depend_on_other_runs(store: Store) -> None:
    """Nor on its texts, expectations and plots: they do not change its result."""
    first, _ = await run(store)
    changes = [
        ["schemes=[nocache, netcache]"],
        ["schemes=[netcache, nocache]"],
        ["sweep={workload.writes: [0.5, 0.0, 1.0]}"],
        ["repeat=2"],
        ["title=Another", "description=text", "expect=[nocache.lost_ops == 0]"],
        ["plots=[{y: lost_ops}]"],
    ]
    for more in changes:
        again, _ = await run(store, *more)
        assert {each.id for each in first} <= {each.id for each in again}, more


@pytest.mark.usefixtures("revision")
async def test_what_a_run_does_is_part_of_its_id(store: Store) -> None:
    first, _ = await run(store)
    for change in ("duration=2", "workload.keys=99", "lab.servers=3", "deadline=3"):
        again, _ = await run(store, change)
        assert not {each.id for each in first} & {each.id for each in again}, change


async def test_another_seed_or_source_is_another_run(store: Store, revision: list[str]) -> None:
    await run(store)
    _, made = await run(store, "seed=2")
    assert len(made) == 2
    revision[0] = "def"
    _, made = await run(store)
    assert len(made) == 2


async def test_runs_of_uncommitted_changes_are_repeated(store: Store, revision: list[str]) -> None:
    revision[0] = "abc+"
    await run(store)
    _, made = await run(store)
    assert len(made) == 2


@pytest.mark.usefixtures("revision")
async def test_failed_run_is_repeated(store: Store) -> None:
    first, _ = await run(store)
    with store.transaction() as session:
        session.get_one(RunRow, first[0].id).status = "failed"
    _, made = await run(store)
    assert made == [first[0].id]


@pytest.mark.parametrize("jobs", [1, 2])
async def test_run_that_another_process_executes_is_refused(store: Store, jobs: int) -> None:
    scenario = loader.loads(TEXT, "known.yaml")
    with StoreSink(store) as sink:
        first, _ = (await run_scenario(scenario, sink=sink)).runs
    with store.transaction() as session:
        session.get_one(RunRow, first.id).status = "running"
    with (
        pytest.raises(UsageError, match=f"{first.id} is already in progress"),
        StoreSink(store) as sink,
    ):
        await run_scenario(scenario, sink=sink, jobs=jobs)
    with store.transaction() as session:
        assert session.get_one(RunRow, first.id).status == "running"
