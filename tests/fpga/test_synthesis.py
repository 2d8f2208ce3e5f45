"""yosys takes every file of the RTL that can be synthesised."""

from __future__ import annotations

import shutil
from pathlib import Path

from netkv.fpga import sources, yosys

MODULES = [
    each for each in sorted(sources.folder().glob("rtl/**/*.sv")) if not each.stem.endswith("_pkg")
]


def _tops() -> list[str]:
    """Modules that no other module contains; between them they contain all."""
    inside = {
        file.stem
        for module in MODULES
        for file in sources.closure(module.stem)
        if file.stem != module.stem
    }
    return [each.stem for each in MODULES if each.stem not in inside]


def test_yosys_takes_every_file(tmp_path: Path) -> None:
    """Hierarchy, processes and checks: no loops, no several drivers, no missing modules."""
    names = []
    for file in [*sources.packages(), *MODULES]:
        shutil.copy(file, tmp_path / file.name)
        names.append(file.name)
    tops = _tops()
    assert {"lake_top", "emu_top", "wire_top"} <= set(tops)
    steps = [f"read_verilog -sv {' '.join(names)}", "design -save all"]
    for top in tops:
        steps += ["design -load all", f"hierarchy -check -top {top}", "proc", "check -assert"]
    done = yosys.run("; ".join(steps), tmp_path)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
