"""`netkv bench` without a name: what all benchmarks together print, not the measured speed."""

# Hooks have the parameters of the interface, whether they use them or not.
# ruff: noqa: ARG002

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netkv.bench import catalogue, data_plane, simulator, stores, suite
from netkv.bench.benchmark import Benchmark, Figure, Outcome, Progress
from netkv.bench.benchmarks import gateway, redis
from netkv.bench.benchmarks.data_plane import main_figures
from netkv.bench.benchmarks.simulator import rack_goal
from netkv.bench.result import this_machine
from netkv.errors import NetkvError
from netkv.labs import daemon
from tests.cli.commands import Netkv


def silent(_at: int, _count: int, _label: str) -> None:
    """Progress that nobody sees."""


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replaces the benchmarks, which take minutes."""

    def replace(*instead: Benchmark) -> None:
        monkeypatch.setattr(catalogue, "in_suite", lambda: instead)

    return replace


class Measured(Benchmark):
    name = "one"

    def run(self, plan: Any, progress: Progress) -> Outcome:
        raise AssertionError("it is measured for the suite only")

    def run_in_suite(self, seconds: float | None, progress: Progress) -> Outcome:
        figures = [
            Figure(name="fast", value=0.8, at_least=0.5),
            Figure(name="slow", value=4.0, at_most=3.0),
            Figure(name="filled in", value=0.2, unit="s", at_most=0.25),
            Figure(name="known", value=17.0),
        ]
        return Outcome({"seconds": seconds}, figures=figures)


class Failing(Measured):
    name = "two"

    def run_in_suite(self, seconds: float | None, progress: Progress) -> Outcome:
        raise NetkvError("It does not answer.")


class Missing(Measured):
    name = "two"

    def run_in_suite(self, seconds: float | None, progress: Progress) -> Outcome:
        raise stores.NotInstalledError("There is no such server.")


def test_figures_stand_beside_their_goals(
    netkv_in_process: Netkv, benchmarks: Callable[..., None]
) -> None:
    benchmarks(Measured())
    result = netkv_in_process("bench")
    assert result.status == 0
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert "netkv one fast 0.80 at least 0.50 reached" in lines
    assert "slow 4.00 at most 3.00 not reached" in lines
    assert "filled in 0.20 s at most 0.25 s reached" in lines
    assert "known 17.00" in lines


def test_json_has_the_document_of_each_benchmark(
    netkv_in_process: Netkv, benchmarks: Callable[..., None]
) -> None:
    benchmarks(Measured(), Missing())
    result = netkv_in_process("bench", "--seconds", "0.1", "--json")
    assert result.status == 0
    one, two = result.document["parts"]
    assert one["document"] == {"seconds": 0.1}
    assert one["figures"][0] == {
        "name": "fast",
        "value": 0.8,
        "unit": "",
        "at_least": 0.5,
        "at_most": None,
    }
    assert two["left_out"] == ["There is no such server."]
    assert two["document"] is None
    assert "Left out: There is no such server." in result.err
    assert result.document["machine"] == json.loads(this_machine().model_dump_json())


def test_benchmark_that_fails_does_not_stop_the_others(
    netkv_in_process: Netkv, benchmarks: Callable[..., None]
) -> None:
    benchmarks(Failing(), Measured())
    result = netkv_in_process("bench", "--json")
    assert result.status == 1
    assert "Failed: It does not answer." in result.err
    assert [part["failed"] for part in result.document["parts"]] == ["It does not answer.", None]


@pytest.mark.parametrize("options", [("--json",), ("--seconds", "1")])
def test_option_before_the_name_of_a_benchmark_is_refused(
    netkv_in_process: Netkv, options: tuple[str, ...]
) -> None:
    result = netkv_in_process("bench", *options, "redis")
    assert result.status == 2
    assert "Options of a benchmark follow its name: 'netkv bench redis --json'." in result.err


def test_goals_of_the_data_plane() -> None:
    def rates(program: str, path: str, entries: int, **pps: float) -> list[dict[str, Any]]:
        sizes = {"entries": entries, "value_size": 128, "key_width": 128}
        return [
            {"program": program, "path": path, "executor": executor, "pps": rate, **sizes}
            for executor, rate in pps.items()
        ]

    found = data_plane.DataPlaneBenchmark.model_validate(
        {
            "machine": this_machine().model_dump(),
            "results": [
                *rates("cache_read", "read-hit", 10_000, compiled=8.0, handwritten=10.0),
                *rates("cache_read", "read-hit", 100, compiled=5.0, handwritten=10.0),
                *rates("cache_read", "write", 10_000, compiled=4.0, handwritten=10.0),
                *rates("another", "read", 10_000, compiled=30.0, interpreter=2.0),
            ],
            "loads": [],
            "table_writes": [
                {"program": "another", "table": "cache", "entries": 10_000, "seconds": 0.3}
            ],
        }
    )
    assert [
        (each.name, each.value, each.at_least or each.at_most, each.reached)
        for each in main_figures(found)
    ] == [
        ("cache_read read-hit: compiled/by hand", 0.8, 0.75, True),
        ("cache_read read-hit, 100 entries: compiled/by hand", 0.5, 0.6, False),
        ("cache_read write: compiled/by hand", 0.4, 0.5, False),
        ("another read: compiled/interpreter", 15.0, None, None),
        ("another: 10,000 entries through P4Runtime", 0.3, 0.25, False),
    ]


def test_goals_of_racks_depend_on_the_cache() -> None:
    goals = {
        row.case.scheme: rack_goal(row)
        for row in simulator.plan([], [], [], 1.0)
        if row.beside_program and row.case.zipf
    }
    assert (goals["nocache"], goals["netcache"], goals["farreach"]) == (5.0, 3.0, 3.0)
    assert goals["distnocache"] is None, "a request passes several switches"
    assert goals["memcached"] is None, "it has the switch of another baseline"


def test_start_up_is_measured_beside_a_bare_interpreter(netkv: Netkv) -> None:
    result = netkv("bench", "startup", "--rounds", "1", "--json")
    assert result.status == 0, result.err
    document = result.document
    assert len(document["seconds"]) == 4
    assert all(seconds > 0 for seconds in document["seconds"].values())
    bare = document["seconds"]["python -c pass"]
    assert document["ratios"]["netkv --help"] == pytest.approx(
        document["seconds"]["netkv --help"] / bare, rel=0.1
    )


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_gateway_gets_a_lab_that_is_taken_down() -> None:
    part = suite.run(gateway.BENCHMARK, 0.1, silent)
    if shutil.which("redis-benchmark") is None:
        assert part.left_out
        assert "redis-benchmark" in part.left_out[0]
    else:
        assert part.failed is None, part.failed
        assert [each.at_least for each in part.figures] == [0.5] * 4 + [0.3] * 4
    assert daemon.all_labs() == []


@pytest.mark.parametrize(
    "benchmark", [gateway.BENCHMARK, redis.BENCHMARK], ids=lambda each: each.name
)
def test_missing_program_is_named(
    benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (sentence,) = suite.run(benchmark, 0.1, silent).left_out
    assert "apt-get install redis" in sentence
