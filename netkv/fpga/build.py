"""Shared libraries of designs, and the cache of them.

A library is known by the hash of everything that it follows from: sources of the design and of the
harness, parameters, flags, versions of Verilator and the compiler. It stays in `HASH/design.so` of
the cache (`netkv.library_cache`). A lock on the hash lets one of several processes build.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from netkv import library_cache
from netkv import rtl_sources as sources
from netkv.errors import NetkvError
from netkv.fpga import verilate
from netkv.fpga.tools import (
    compiler,
    compiler_version,
    is_gcc,
    processor,
    require_headers,
    verilator,
)
from netkv.library_cache import LIBRARY, QUICK
from netkv.model.manifest import Manifest

Progress = Callable[[int, int, str], None]
"""Gets the step (from 0), the number of steps, and a label."""

ABOUT = "about.json"
# Verilator's data-flow graph computes the branches that are not taken, too.
TRANSLATION = ("-O3", "--no-timing", "-fno-dfg")
FAST = ("-O2", "-march=native", "-fno-semantic-interposition")
SLOW = ("-O1",)
"""For code that runs once, such as the initialisation of a design."""
COUNTING = ("-fprofile-generate", "-fprofile-update=single")
COUNTED = ("-fprofile-use", "-fprofile-correction")
"""For the fast code: it is compiled with counters of branches, and again with their counts."""
TRAINING = Path(__file__).with_name("training.py")
TRAINING_SECONDS = 60
HIDDEN = ("-fvisibility=hidden", "-DVL_USER_FINISH", "-DVL_USER_STOP", "-DVL_USER_FATAL")
TRACE_PARTS = ("verilated_fst_c.cpp",)
PORTS = (
    *("clk", "rst", "seed"),
    *(f"{side}_{name}" for side in ("rx", "tx") for name in ("valid", "ready", "data", "last")),
    *("rx_meta_length", "tx_meta_length"),
    *("reg_address", "reg_write", "reg_wdata", "reg_read", "reg_rdata"),
)
"""Ports of a top-level module."""
FUNCTION_PORTS = (
    *(f"m_axi_aw{name}" for name in ("id", "addr", "len", "user", "valid", "ready")),
    *(f"m_axi_w{name}" for name in ("data", "strb", "last", "valid", "ready")),
    *(f"m_axi_b{name}" for name in ("id", "resp", "valid", "ready")),
    *(f"m_axi_ar{name}" for name in ("id", "addr", "len", "user", "valid", "ready")),
    *(f"m_axi_r{name}" for name in ("id", "data", "resp", "last", "valid", "ready")),
    *("bar_function", "bar_address", "bar_write", "bar_strobe", "bar_wdata", "bar_read"),
    *("bar_rdata", "irq"),
)
"""Further ports of a module with virtio functions."""


@dataclass(frozen=True)
class Library:
    """A design that was built."""

    path: Path
    manifest: Manifest
    trace: bool
    """Whether it can record signals."""
    cached: bool
    """Whether it was there already."""
    seconds: float
    """Time of the build, also of an earlier one."""


def build(
    manifest: Manifest,
    *,
    trace: bool = False,
    progress: Progress | None = None,
) -> Library:
    """The shared library of a design, from the cache or newly built.

    Raises `NetkvError`: a tool is missing, or the sources are wrong.
    """
    show = progress or _quiet
    place = library_cache.folder() / key(manifest, trace=trace)
    if (place / LIBRARY).is_file():
        return _found(place, manifest, trace, cached=True)
    if trace:
        require_headers()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with _locked(place, lambda: show(0, 1, "waiting for another build of this design")):
            if (place / LIBRARY).is_file():
                return _found(place, manifest, trace, cached=True)
            folder = Path(tempfile.mkdtemp(dir=place.parent, prefix=".new-"))
            try:
                _build(manifest, trace, folder, show)
                folder.rename(place)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise NetkvError(f"The design cannot be kept in {place.parent}: {error}.") from error
    return _found(place, manifest, trace, cached=False)


def is_built(manifest: Manifest, *, trace: bool = False) -> bool:
    """Whether the library of a design is in the cache. Raises `NetkvError`: a tool is missing."""
    return (library_cache.folder() / key(manifest, trace=trace) / LIBRARY).is_file()


def _quiet(at: int, count: int, label: str) -> None:
    pass


def key(manifest: Manifest, *, trace: bool) -> str:
    """The hash of everything that a library follows from."""
    content = [each.read_bytes() for each in (*_files(manifest), TRAINING)]
    facts = [
        manifest.top,
        sorted(manifest.module_parameters.items()),
        (len(manifest.ports), manifest.bus_cycles()),
        (TRANSLATION, FAST, SLOW, COUNTING, COUNTED, HIDDEN, TRACE_PARTS, trace),
        _counts(trace=trace),
        (verilator().version, compiler_version(compiler()), processor()),
        [hashlib.sha256(each).hexdigest() for each in content],
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


def harness() -> list[Path]:
    """The sources of the C interface, `fpga/harness`."""
    return sorted((sources.folder() / "harness").glob("*.*"))


def _files(manifest: Manifest) -> list[Path]:
    return [*sources.waivers(), *sources.closure(manifest.top, manifest.rtl), *harness()]


def _build(manifest: Manifest, trace: bool, folder: Path, progress: Progress) -> None:
    began = time.monotonic()
    work = folder / "work"
    progress(0, 1, f"{manifest.name}: translating {manifest.top} to C++")
    options = (*TRANSLATION, *(("--trace-fst",) if trace else ()))
    files, search = sources.of(manifest.top, manifest.rtl)
    try:
        verilate.translate(
            files,
            manifest.top,
            work,
            parameters=manifest.module_parameters,
            options=(*search, *options),
        )
    except verilate.BuildError as error:
        raise verilate.BuildError(f"Verilator refuses '{manifest.name}':\n{error}") from error
    _check_ports(manifest, work / "Vtop.h")
    trained = _compile(manifest, trace, work, folder / LIBRARY, progress)
    shutil.rmtree(work)
    about = {
        "design": manifest.name,
        "parameters": manifest.module_parameters,
        "trace": trace,
        "trained": trained,
        "verilator": verilator().version,
        "compiler": compiler_version(compiler()),
        "seconds": round(time.monotonic() - began, 1),
    }
    (folder / ABOUT).write_text(json.dumps(about, indent=2) + "\n")


def _compile(
    manifest: Manifest, trace: bool, work: Path, library: Path, progress: Progress
) -> bool:
    """Compiles the C++ in `work` and links it to `library`; whether counts of branches helped."""
    header = sources.folder() / "harness" / "print.h"
    common = (
        *HIDDEN,
        f"-DVM_TRACE={int(trace)}",
        f"-DVM_TRACE_FST={int(trace)}",
        f"-DNETKV_PORTS={len(manifest.ports)}",
        f"-DNETKV_FUNCTIONS={manifest.functions}",
        *(
            f"-DNETKV_{name}_CYCLES={cycles}"
            for name, cycles in zip(
                ("READ", "WRITE", "REGISTER"), manifest.bus_cycles(), strict=True
            )
        ),
        f"-DNETKV_WORD_BYTES={manifest.word_bytes}",
        f"-DNETKV_TRACE={int(trace)}",
        "-include",
        str(header),
    )
    generated = sorted(work.glob("*.cpp"))
    slow = [each for each in generated if each.stem.endswith(("__Slow", "__Syms"))]
    fast = [each for each in generated if each not in slow]
    own = [each for each in harness() if each.suffix == ".cpp"]
    # The largest first, so that no processor is idle at the end.
    fast = sorted((*fast, *own), key=lambda each: -each.stat().st_size)
    trained = _counts(trace=trace)
    count = len(fast) * (2 if trained else 1) + len(slow) + (3 if trained else 2)
    done, lock = [1], threading.Lock()

    def compiled() -> None:
        with lock:
            done[0] += 1
            progress(done[0], count, f"{manifest.name}: compiling")

    progress(1, count, f"{manifest.name}: compiling")
    runtime = verilate.runtime(
        library_cache.folder(),
        # The runtime is the same for all designs.
        flags=(*FAST, *HIDDEN, f"-DVM_TRACE={int(trace)}", "-include", str(header)),
        parts=TRACE_PARTS if trace else (),
    )

    def objects(files: list[Path], *flags: str) -> list[Path]:
        return verilate.compile_all(
            files,
            work,
            flags=(*flags, *common),
            includes=[work, header.parent],
            done=compiled,
        )

    try:
        rest = [*objects(slow, *SLOW), *runtime]
        if trained:
            counting = work / "counting.so"
            verilate.link(
                [*objects(fast, *FAST, *COUNTING), *rest], counting, flags=("-shared", *COUNTING)
            )
            done[0] += 1
            progress(done[0], count, f"{manifest.name}: counting branches")
            trained = _train(counting, manifest)
        parts = [*objects(fast, *FAST, *(COUNTED if trained else ())), *rest]
    except verilate.BuildError as error:
        raise verilate.BuildError(
            f"The C++ of '{manifest.name}' does not compile:\n{error}"
        ) from error
    progress(count - 1, count, f"{manifest.name}: linking")
    verilate.link(parts, library, flags=("-shared", *(("-lz", "-llz4") if trace else ())))
    return trained


def _counts(*, trace: bool) -> bool:
    """Whether a build counts branches. Recorded signals take more time than the design."""
    return not trace and is_gcc(compiler()) and not is_quick()


def is_quick() -> bool:
    """Whether designs are compiled once, without counts."""
    return os.environ.get(QUICK) == "1"


def _train(library: Path, manifest: Manifest) -> bool:
    """Runs the load of `netkv.fpga.training` on a design with counters of branches.

    Returns whether it ran to its end. A design that fails is compiled with the counts that there
    are.
    """
    path = os.pathsep.join(each for each in sys.path if each)
    try:
        done = subprocess.run(
            [sys.executable, "-m", f"netkv.fpga.{TRAINING.stem}"],
            input=pickle.dumps((library, manifest)),
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            timeout=TRAINING_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _check_ports(manifest: Manifest, header: Path) -> None:
    """Raises `BuildError` unless the translated module has the ports of a design."""
    found = set(re.findall(r"VL_(?:IN|OUT)\w*\(&?\(?&?(\w+)", header.read_text()))
    wanted = (*PORTS, *(FUNCTION_PORTS if manifest.functions else ()))
    if missing := [name for name in wanted if name not in found]:
        raise verilate.BuildError(
            f"The module '{manifest.top}' does not have the ports of a design (docs/use/fpga.md): "
            f"{', '.join(missing)} missing."
        )


@contextlib.contextmanager
def _locked(place: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Holds the lock of a build."""
    descriptor = os.open(place.with_name(f".{place.name}.lock"), os.O_CREAT | os.O_RDWR, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _found(place: Path, manifest: Manifest, trace: bool, *, cached: bool) -> Library:
    about = json.loads((place / ABOUT).read_text())
    return Library(place / LIBRARY, manifest, trace, cached, float(about["seconds"]))


def built(manifests: Iterable[Manifest]) -> dict[str, bool]:
    """Whether the library of each design, by name, is in the cache."""
    return {each.name: is_built(each) for each in manifests}
