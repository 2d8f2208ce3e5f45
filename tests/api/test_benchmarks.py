"""The API's list of benchmarks."""

from __future__ import annotations

import httpx
import typer

from netkv.bench import suite
from netkv.cli import bench, p4
from tests.api.serving import Served
from tests.waiting import PATIENCE_S


def test_every_benchmark_is_listed(served: Served) -> None:
    found = httpx.get(f"{served.url}/api/v1/benchmarks", timeout=PATIENCE_S).json()
    commands = {f"bench {name}" for name in typer.main.get_command(bench.app).commands}  # type: ignore[attr-defined]
    assert "bench" in typer.main.get_command(p4.app).commands  # type: ignore[attr-defined]
    assert {each["name"] for each in found} == commands | {"p4 bench"}
    assert {each["name"] for each in found if each["in_suite"]} == set(suite.BENCHMARKS)
    assert all(each["seconds"] > 0 for each in found)
