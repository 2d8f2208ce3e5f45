"""Builds a module with cocotb's entry point and runs a bench of `fpga/tests` on it."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import cocotb_tools.config
import find_libpython
import pytest

from netkv import rtl_sources as sources
from netkv.fpga import verilate
from netkv.fpga.tools import compiler, compiler_version, verilator
from netkv.kits import design_mutants as mutants

BENCHES = sources.folder() / "tests"
CACHE = Path(__file__).resolve().parents[2] / ".cache" / "fpga"
# Benches see the signals of the module itself.
OPTIONS = ("--vpi", "--public-depth", "1", "--timing", "-O3")
# Small modules run for milliseconds: the time of the compiler counts.
FLAGS = ("-O1", "-DVM_TRACE=0")
# Headers that all simulations begin with. Most of the compiler's time goes into them.
HEADERS = (
    "verilated.h",
    "verilated_vpi.h",
    "verilated_dpi.h",
    "verilated_sym_props.h",
    "verilated_syms.h",
    "verilated_timing.h",
)


def load(name: str) -> ModuleType:
    """The module of a bench: it names its TOP and its PARAMETERS."""
    spec = importlib.util.spec_from_file_location(name, BENCHES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    sys.path.insert(0, str(BENCHES))
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCHES))
    return module


def cases(*folders: str, apart: Sequence[str] = ()) -> list[Any]:
    """The benches of the modules in some folders of RTL, or in all but those `apart`.

    Tests of a file run in one process: benches in several files run side by side.
    """
    return [
        pytest.param(path.stem, module.TOP, parameters, id=f"{path.stem[6:]}-{number}")
        for path in sorted(BENCHES.glob("bench_*.py"))
        for module in [load(path.stem)]
        for folder in [sources.find(module.TOP).parent.name]
        if (folder in folders if folders else folder not in apart)
        for number, parameters in enumerate(module.PARAMETERS)
    ]


def build(top: str, parameters: dict[str, int], further: Sequence[Path] = ()) -> Path:
    """The simulation of module `top` under cocotb. Kept until a source of it changes.

    `further` are folders of RTL that are searched first.
    """
    content = b"".join(each.read_bytes() for each in sources.closure(top, further))
    key = hashlib.sha256(
        content
        + repr((top, sorted(parameters.items()), OPTIONS, FLAGS, verilator().version)).encode()
    ).hexdigest()[:16]
    place = CACHE / f"bench-{top}-{key}"
    if place.exists():
        return place / "sim"
    # A build that is interrupted leaves nothing that counts.
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=CACHE, prefix=".new-"))
    try:
        _build(top, parameters, folder, further)
        with contextlib.suppress(OSError):  # another process was faster
            folder.rename(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return place / "sim"


def _build(top: str, parameters: dict[str, int], folder: Path, further: Sequence[Path]) -> None:
    files, options = sources.of(top, further)
    verilate.translate(
        files,
        top,
        folder,
        parameters=parameters,
        options=(*options, *OPTIONS),
    )
    main = cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp"
    unit = folder / "unit.cc"
    unit.write_text("".join(f'#include "{each}"\n' for each in [*folder.glob("*.cpp"), main]))
    objects = verilate.compile_all(
        [unit], folder, flags=(*FLAGS, "-include", str(headers())), includes=[folder]
    )
    libraries = cocotb_tools.config.libs_dir
    verilate.link(
        [
            *objects,
            *verilate.runtime(
                CACHE,
                flags=FLAGS,
                parts=(
                    "verilated_vpi.cpp",
                    "verilated_timing.cpp",
                    "verilated_random.cpp",
                    "verilated_dpi.cpp",
                ),
            ),
        ],
        folder / "sim",
        flags=(f"-Wl,-rpath,{libraries}", f"-L{libraries}", "-lcocotbvpi_verilator"),
    )


def headers() -> Path:
    """A header for all simulations, with its precompiled form beside it where GCC finds it."""
    content = "".join(f'#include "{each}"\n' for each in HEADERS)
    version = compiler_version(compiler())
    key = hashlib.sha256(f"{content}{FLAGS}{version}{verilator().version}".encode()).hexdigest()[
        :16
    ]
    header = CACHE / f"headers-{key}" / "common.h"
    compiled = header.with_name("common.h.gch")
    if not compiled.exists():
        header.parent.mkdir(parents=True, exist_ok=True)
        # Several tests may get here at once: each writes under a name of its own.
        private = header.parent / f"{os.getpid()}"
        private.mkdir(exist_ok=True)
        source = private / "common.h"
        source.write_text(content)
        (made,) = verilate.compile_all([source], private, flags=(*FLAGS, "-x", "c++-header"))
        source.replace(header)
        made.replace(compiled)
        private.rmdir()
    return header


def run(
    name: str,
    top: str,
    parameters: dict[str, int],
    folder: Path,
    seed: int = 1,
    cases: Sequence[str] = (),
    mutant: int | None = None,
) -> None:
    """Runs the bench `name`; raises AssertionError with cocotb's words if a test of it fails.

    Args:
        name: of the bench.
        top: the module.
        parameters: of the module.
        folder: for results.
        seed: of random numbers.
        cases: of the bench; empty: all.
        mutant: the RTL is built with all mutants, and this one is chosen; 0: none.
    """
    chosen = (sources.folder() / "mutants" / "bench", mutants.folder())
    further = () if mutant is None else chosen
    results = folder / "results.xml"
    environment = {
        **os.environ,
        **({"COCOTB_TEST_FILTER": f"({'|'.join(cases)})(/|$)"} if cases else {}),
        "COCOTB_TOPLEVEL": top,
        "COCOTB_TEST_MODULES": name,
        "COCOTB_RESULTS_FILE": str(results),
        "COCOTB_RANDOM_SEED": str(seed),
        "COCOTB_LOG_LEVEL": "WARNING",
        "COCOTB_TRUST_INERTIAL_WRITES": "1",
        # cocotb loads pytest for its assertions, not for its plugins.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "TOPLEVEL_LANG": "verilog",
        "PYGPI_PYTHON_BIN": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(BENCHES), *sys.path]),
        "GPI_USERS": f"{find_libpython.find_libpython()};{cocotb_tools.config.pygpi_entry_point()}",
    }
    done = subprocess.run(
        [build(top, parameters, further), f"+mutant={mutant or 0}"],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    printed = (done.stdout + done.stderr)[-6000:]
    print(printed)  # figures of the bench, with `pytest -s`
    assert results.exists(), f"the simulation ended without results:\n{printed}"
    ran = list(ElementTree.parse(results).getroot().iter("testcase"))
    names = [case.get("name", "").partition("/")[0] for case in ran]
    assert ran, f"{name} has no case"
    missing = [case for case in cases if case not in names]
    assert not missing, f"{name} has no case '{missing[0]}'"
    failed = [
        case.get("name")
        for case in ran
        if case.find("failure") is not None or case.find("error") is not None
    ]
    assert not failed, f"{', '.join(map(str, failed))} of {name} with {parameters}:\n{printed}"
