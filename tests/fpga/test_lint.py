"""Verilator has no warning about any module of the RTL, with its default parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv import rtl_sources as sources
from netkv.fpga import verilate

MODULES = [
    each for each in sorted(sources.folder().glob("rtl/**/*.sv")) if not each.stem.endswith("_pkg")
]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_no_warnings(module: Path) -> None:
    files, options = sources.of(module.stem)
    verilate.lint(files, module.stem, options=options)
