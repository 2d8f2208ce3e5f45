"""Translates RTL to C++ with Verilator, and compiles it.

`translate` writes C++ into a folder, `compile_all` makes object files of it (in parallel), `link`
makes a shared library or a program. Verilator's own runtime is compiled once for each set of
flags and kept in the cache of builds.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from netkv.errors import NetkvError
from netkv.fpga.tools import compiler, compiler_version, processor, verilator

RUNTIME = ("verilated.cpp", "verilated_threads.cpp")
LANGUAGE = ("-std=gnu++20", "-DVERILATOR=1", "-fPIC", "-w")

# Every module gets all packages, and uses few of their constants.
WARNINGS = ("--Wall", "-Wno-UNUSEDPARAM")


class BuildError(NetkvError):
    """Verilator or the compiler refused the sources; the text is theirs."""


def _run(command: Sequence[str | Path], *, root: Path | None = None) -> str:
    environment = dict(os.environ)
    if root is not None:
        environment["VERILATOR_ROOT"] = str(root)
    done = subprocess.run(
        [str(each) for each in command], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise BuildError((done.stderr or done.stdout).strip())
    return done.stderr


def translate(
    sources: Sequence[Path],
    top: str,
    into: Path,
    *,
    parameters: Mapping[str, int | str] | None = None,
    options: Sequence[str] = (),
) -> None:
    """Writes the C++ of module `top` into the folder `into`, as class `Vtop`.

    Raises:
        BuildError: Verilator refuses the sources. Warnings count as errors.
    """
    found = verilator()
    values = [f"-G{name}={value}" for name, value in (parameters or {}).items()]
    into.mkdir(parents=True, exist_ok=True)
    _run(
        [
            found.program,
            "--cc",
            *WARNINGS,
            "--prefix",
            "Vtop",
            "--top-module",
            top,
            "--Mdir",
            into,
            "--x-initial",
            "unique",
            "--x-assign",
            "unique",
            *options,
            *values,
            *sources,
        ],
        root=found.root,
    )


def lint(
    sources: Sequence[Path],
    top: str,
    *,
    parameters: Mapping[str, int | str] | None = None,
    options: Sequence[str] = (),
) -> None:
    """Checks module `top` without a translation.

    Raises:
        BuildError: Verilator has a warning or an error.
    """
    found = verilator()
    values = [f"-G{name}={value}" for name, value in (parameters or {}).items()]
    _run(
        [found.program, "--lint-only", *WARNINGS, "--top-module", top, *options, *values, *sources],
        root=found.root,
    )


def compile_all(
    sources: Iterable[Path],
    into: Path,
    *,
    flags: Sequence[str],
    includes: Sequence[Path] = (),
    jobs: int | None = None,
    done: Callable[[], None] | None = None,
) -> list[Path]:
    """Compiles each C++ source to an object file in `into`; those files in the same order.

    Calls `done` after each source, from several threads.
    """
    program = compiler()
    folders = [
        f"-I{each}" for each in (*includes, verilator().include, verilator().include / "vltstd")
    ]

    def one(source: Path) -> Path:
        target = into / (source.stem + ".o")
        _run([program, *LANGUAGE, *flags, *folders, "-c", source, "-o", target])
        if done is not None:
            done()
        return target

    into.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        return list(pool.map(one, sources))


def runtime(cache: Path, *, flags: Sequence[str], parts: Sequence[str] = ()) -> list[Path]:
    """The object files of Verilator's runtime, compiled once for these flags.

    Args:
        cache: the folder that keeps them.
        flags: what the compiler gets.
        parts: further files of the runtime, such as `verilated_vpi.cpp`.
    """
    found = verilator()
    program = compiler()
    key = hashlib.sha256(
        "\n".join([found.version, compiler_version(program), processor(), *flags]).encode()
    ).hexdigest()[:16]
    folder = cache / f"runtime-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    objects = []
    for name in (*RUNTIME, *parts):
        target = folder / (Path(name).stem + ".o")
        if not target.exists():
            # Several builds may run at once: each compiles under a name of its own.
            private = _private(target)
            _run(
                [
                    program,
                    *LANGUAGE,
                    *flags,
                    f"-I{found.include}",
                    f"-I{found.include / 'vltstd'}",
                    "-c",
                    found.include / name,
                    "-o",
                    private,
                ]
            )
            private.replace(target)
        objects.append(target)
    return objects


def _private(target: Path) -> Path:
    """A name for this thread's copy of a file that others may make at the same time."""
    return target.with_name(f"{os.getpid()}-{threading.get_ident()}-{target.name}")


def link(objects: Sequence[Path], target: Path, *, flags: Sequence[str] = ()) -> None:
    """Links object files to a program, or with `-shared` among the flags to a shared library."""
    private = _private(target)
    _run([compiler(), *objects, "-o", private, "-pthread", *flags])
    private.replace(target)
