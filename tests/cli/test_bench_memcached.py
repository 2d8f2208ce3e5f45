"""The output and the errors of `netkv bench memcached`, not the measured speed."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv.bench.benchmarks.memcached import BENCHMARK, Plan, measure, outcome
from netkv.errors import NetkvError
from netkv.evaluation import document
from netkv.report import benchmark as report
from tests.cli.commands import Netkv

ROOT = Path(__file__).parents[2]
SHORT = ["bench", "memcached", "--seconds", "0.3"]


def table_of(found: measure.Measured) -> str:
    return report.markdown(BENCHMARK, outcome(found))


def test_memcached_and_echo_are_measured_and_written(netkv: Netkv, tmp_path: Path) -> None:
    file = tmp_path / "it.md"
    file.write_text(
        f"a\n<!-- evaluation: {BENCHMARK.marker} -->\n<!-- end -->\nb\n", encoding="utf-8"
    )
    result = netkv(*SHORT, "--write", str(file), "--json")
    assert result.status == 0, result.err
    rows = {each["name"]: each for each in result.document["rows"]}
    assert set(rows) == {"memcached, 1 thread", "UDP echo"}
    for row in rows.values():
        assert 0 < row["requests_per_s"] <= row["best_requests_per_s"]
        assert 0 < row["core_us"] < 1e6
        assert 0 < row["p50_us"] <= row["p99_us"]
    assert result.document["core_to_echo"] > 0
    written = document.bodies(file.read_text(encoding="utf-8"))[BENCHMARK.marker]
    rate = rows["memcached, 1 thread"]["requests_per_s"]
    assert f"| memcached, 1 thread | {rate:,.0f} |" in written
    assert written == table_of(measure.Measured.model_validate(result.document))


def test_load_asks_for_stored_keys() -> None:
    plan = Plan(entries=3, value_size=40)
    queries = measure.queries(plan)
    assert {query[32:] for query in queries} == {b"key:%012d" % number for number in range(3)}
    assert {len(query) for query in queries} == {48}
    assert measure.reply_bytes(plan) == 8 + 24 + 4 + 40


def test_replies_that_are_no_hits_are_an_error() -> None:
    class Server:
        def core_ns(self) -> int:
            return 0

    class Load:
        def run(self, window: int, seconds: float) -> dict[str, float]:
            return {"wrong": window, "replies": 1, "seconds": seconds}

    with pytest.raises(NetkvError, match="7 replies of memcached are no hits"):
        measure.MemcachedTurn(Server(), Load())(7, 0.1)  # type: ignore[arg-type]


def test_missing_memcached_is_reported(netkv: Netkv, tmp_path: Path) -> None:
    result = netkv(*SHORT, PATH=str(tmp_path))
    assert result.status == 1
    assert "'apt-get install memcached' installs it" in result.err


def test_table_of_the_document_is_that_of_its_data() -> None:
    text = (ROOT / "docs/schemes/lake-evaluation.md").read_text(encoding="utf-8")
    found = measure.read(ROOT / "docs" / "evaluation" / f"{BENCHMARK.marker}.json")
    assert document.bodies(text)[BENCHMARK.marker] == table_of(found)
