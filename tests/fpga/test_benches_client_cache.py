"""Benches of the modules of the client-side cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fpga import bench

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("name", "top", "parameters"), bench.cases("client_cache"))
def test_bench(name: str, top: str, parameters: dict[str, int], tmp_path: Path) -> None:
    bench.run(name, top, parameters, tmp_path)
