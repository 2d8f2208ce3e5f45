"""Each module of the RTL has a bench in `fpga/tests`, which cocotb runs on Verilator."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv import rtl_sources as sources
from tests.fpga import bench

pytestmark = pytest.mark.slow

APART = ("client_cache", "lake", "virtio")
"""Folders of RTL whose benches are in files of their own."""


@pytest.mark.parametrize(("name", "top", "parameters"), bench.cases(apart=APART))
def test_bench(name: str, top: str, parameters: dict[str, int], tmp_path: Path) -> None:
    bench.run(name, top, parameters, tmp_path)


def test_every_module_has_a_bench() -> None:
    modules = {each.stem for each in sources.folder().glob("rtl/**/*.sv")}
    missing = {each for each in modules if not (bench.BENCHES / f"bench_{each}.py").exists()}
    assert {each for each in missing if not each.endswith("_pkg")} == set()


def test_folders_apart_have_files_of_their_own() -> None:
    for folder in APART:
        assert bench.cases(folder)
        assert Path(__file__).with_name(f"test_benches_{folder}.py").is_file()
