"""Simulated runs whose results are in the store are not repeated when that is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netkv.runs import Store, StoreSink
from netkv.runs.schema import RunRow
from netkv.scenarios import loader, provenance
from netkv.scenarios.results import RunResult
from netkv.scenarios.runner import Progress, run_scenario

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
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


@pytest.fixture
def revision(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commit of the checkout, which a test may change."""
    found = ["abc"]
    monkeypatch.setattr(provenance, "_revision", lambda: found[0])
    return found


async def run(store: Store, *changes: str) -> tuple[list[RunResult], list[str]]:
    """The results, and which runs were made anew."""
    phases: dict[str, str] = {}

    def on_progress(now: Progress) -> None:
        phases[now.run.id] = now.phase

    with StoreSink(store) as sink:
        scenario = loader.loads(TEXT, "known.yaml", changes)
        found = await run_scenario(
            scenario, sink=sink, on_progress=on_progress, finished=store.result
        )
    assert set(phases.values()) <= {"done", "known"}
    assert {name for name, phase in phases.items() if phase == "done"} == set(sink.finished)
    return found.runs, sink.finished


@pytest.mark.usefixtures("revision")
async def test_a_run_from_before_has_its_result_again(store: Store) -> None:
    first, made = await run(store)
    assert sorted(made) == sorted(each.id for each in first)
    again, made = await run(store)
    assert made == []
    for stored, original in zip(again, first, strict=True):
        assert stored.finished_at is not None
        same: dict[str, Any] = {"series": {}, "finished_at": None}
        assert stored.model_copy(update=same) == original.model_copy(update=same)
        # The store has more columns.
        assert original.series.items() <= stored.series.items()


@pytest.mark.usefixtures("revision")
async def test_only_what_is_missing_is_run(store: Store) -> None:
    first, _ = await run(store)
    store.delete([first[1].id])
    again, made = await run(store)
    assert made == [first[1].id]
    assert [each.id for each in again] == [each.id for each in first]


async def test_another_seed_or_source_is_another_run(store: Store, revision: list[str]) -> None:
    await run(store)
    _, made = await run(store, "seed=2")
    assert len(made) == 2
    revision[0] = "def"
    _, made = await run(store)
    assert len(made) == 2


async def test_files_that_differ_from_their_commit_prove_nothing(
    store: Store, revision: list[str]
) -> None:
    revision[0] = "abc+"
    await run(store)
    _, made = await run(store)
    assert len(made) == 2


@pytest.mark.usefixtures("revision")
async def test_a_run_that_failed_is_run_again(store: Store) -> None:
    first, _ = await run(store)
    with store.transaction() as session:
        session.get_one(RunRow, first[0].id).status = "failed"
    _, made = await run(store)
    assert made == [first[0].id]
