"""Results of a large pool: packed, and the same documents."""

from __future__ import annotations

import asyncio
import json
import pickle

import pytest

from netkv.cli import output
from netkv.scenarios import loader, packed
from netkv.scenarios.packed import PackedRuns
from netkv.scenarios.results import ScenarioResult
from netkv.scenarios.runner import run_scenario

TEXT = """\
name: packed
schemes: [nocache, netcache]
mode: sim
lab: {servers: 2, service_rate: 500, cache_entries: 10}
workload: {keys: 100, writes: 0.1, arrivals: {outstanding: 4}}
warmup: 0
duration: 1
repeat: 2
sweep: {workload.zipf: [0.5, 0.9]}
expect: [each.linearizable == 1, netcache.throughput_ops > 2 * nocache.throughput_ops]
"""


def executed() -> ScenarioResult:
    return asyncio.run(run_scenario(loader.loads(TEXT, "packed.yaml")))


def test_packed_results_make_the_same_document(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = executed()
    assert isinstance(plain.runs, list)
    monkeypatch.setattr(packed, "FROM", 3)
    many = executed()
    assert isinstance(many.runs, PackedRuns)
    assert list(many.runs) == plain.runs
    assert many.runs[-1] == plain.runs[-1]
    assert list(many.runs[2:4]) == plain.runs[2:4]
    assert many.ok == plain.ok
    output.print_json(plain.model_dump(mode="json"))
    expected = capsys.readouterr().out
    output.print_result(many)
    assert capsys.readouterr().out == expected
    assert len(json.loads(expected)["runs"]) == 8


def test_document_without_runs_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    empty = executed().model_copy(update={"runs": []})
    output.print_result(empty)
    assert json.loads(capsys.readouterr().out) == empty.model_dump(mode="json")


def test_results_from_other_processes_share_their_names() -> None:
    run = executed().runs[0]
    one, other = (pickle.loads(pickle.dumps(run)) for _ in range(2))
    assert one == other == run
    assert one.__pydantic_fields_set__ is other.__pydantic_fields_set__
    assert {id(name) for name in one.__dict__} == {id(name) for name in other.__dict__}
    assert {id(name) for name in one.series} == {id(name) for name in other.series}
