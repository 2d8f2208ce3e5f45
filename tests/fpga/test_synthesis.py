"""yosys takes every file of the RTL that can be synthesised, without what only simulations have."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from netkv import rtl_sources as sources
from netkv.fpga import synth, yosys
from netkv.model import manifest
from tests.fpga.conftest import write_manifest

pytestmark = pytest.mark.slow

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


SHAPES = ((2, 1), (3, 2), (8, 8))
"""Functions and controllers of the client-side cache."""


def test_yosys_takes_the_client_cache_with_several_functions(tmp_path: Path) -> None:
    """What only several functions need is in blocks that other shapes leave out."""
    names = []
    for file in sources.closure("client_cache_top"):
        shutil.copy(file, tmp_path / file.name)
        names.append(file.name)
    steps = [f"read_verilog -sv {' '.join(names)}", "design -save all"]
    for functions, controllers in SHAPES:
        shape = f"-chparam FUNCTIONS {functions} -chparam CONTROLLERS {controllers}"
        steps += [
            "design -load all",
            f"hierarchy -check -top client_cache_top {shape} -chparam INDEX_BITS 8",
            "proc",
            "check -assert",
        ]
    done = yosys.run("; ".join(steps), tmp_path)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


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


_COUNTER = """\
module {name} #(
    parameter int NETWORK_PORTS = 1,
    parameter int BYTES = 8
) (
    input  logic        clk,
    {skip}
    output logic [15:0] count
);
  always_ff @(posedge clk) count <= count + 1'b1{more};
endmodule
"""
_SKIP = "input  logic [31:0] skip = '0,\n    output logic [31:0] idle_cycles,"


def test_ports_for_idle_time_cost_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETKV_HOME", str(tmp_path / "home"))
    skips = _COUNTER.format(name="skips", skip=_SKIP, more=" + 16'(skip)")
    skips = skips.replace("  always", "  assign idle_cycles = 32'(count);\n  always")
    (tmp_path / "skips.sv").write_text(skips)
    (tmp_path / "counts.sv").write_text(_COUNTER.format(name="counts", skip="", more=""))
    cells = []
    for name in ("skips", "counts"):
        design = manifest.load(write_manifest(tmp_path, name, name, str(tmp_path)))
        cells.append(synth.synthesise(design).cells)
    assert cells[0] == cells[1]
