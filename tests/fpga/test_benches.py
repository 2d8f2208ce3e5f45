"""Each module of the RTL has a bench in `fpga/bench`, which cocotb runs on Verilator."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv.fpga import sources
from tests.fpga import bench

CASES = [
    pytest.param(path.stem, module.TOP, parameters, id=f"{path.stem[6:]}-{number}")
    for path in sorted(bench.BENCHES.glob("bench_*.py"))
    for module in [bench.load(path.stem)]
    for number, parameters in enumerate(module.PARAMETERS)
]


@pytest.mark.parametrize(("name", "top", "parameters"), CASES)
def test_bench(name: str, top: str, parameters: dict[str, int], tmp_path: Path) -> None:
    bench.run(name, top, parameters, tmp_path)


def test_every_module_has_a_bench() -> None:
    modules = {each.stem for each in sources.folder().glob("rtl/**/*.sv")}
    missing = {each for each in modules if not (bench.BENCHES / f"bench_{each}.py").exists()}
    assert {each for each in missing if not each.endswith("_pkg")} == set()
