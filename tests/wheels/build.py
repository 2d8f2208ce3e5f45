"""Builds wheels that run on any Linux with a glibc of the last ten years, on any machine.

Rust compiles for the other processor; zig links with the symbols of the old glibc. maturin and zig
have an environment of their own (`make wheels`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import zipfile
from pathlib import Path

from tests.wheels.targets import DIST, GLIBC, ROOT, WORK, Target

TOOLS = WORK / "venv/bin"


class NotBuiltError(Exception):
    """A sentence: why a wheel is not built, and what to do."""


def build(target: Target) -> Path:
    """The wheel, built now."""
    _standard_library(target)
    begun = time.monotonic()
    print(f"==> wheel for {target.arch}, glibc {GLIBC.replace('_', '.')} and later", flush=True)
    for old in DIST.glob(f"netkv-*_{target.arch}*.whl"):
        old.unlink()
    subprocess.run([ROOT / ".ci/engine", "record"], check=True)
    command = [
        str(TOOLS / "maturin"),
        *("build", "-q", "--release", "--locked", "--zig", "--target", target.triple),
        *("--compatibility", f"manylinux_{GLIBC}", "--out", str(DIST)),
    ]
    # maturin looks for zig beside its Python.
    environment = {**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}"}
    if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
        raise NotBuiltError(f"maturin has not built the wheel for {target.arch}; see above.")
    wheel = target.wheel()
    if wheel is None:
        names = ", ".join(it.name for it in DIST.glob("netkv-*.whl"))
        raise NotBuiltError(f"maturin has built another wheel than expected: {names}.")
    size = wheel.stat().st_size / 1e6
    boms = ", ".join(sorted(Path(it).name for it in _boms(wheel)))
    print(f"    {wheel.relative_to(ROOT)} ({size:.1f} MB; SBOM: {boms})")
    print(f"    took {time.monotonic() - begun:.0f} s")
    return wheel


def _boms(wheel: Path) -> list[str]:
    """The bills of materials in a wheel; raises `NotBuiltError` without one."""
    with zipfile.ZipFile(wheel) as archive:
        found = [it for it in archive.namelist() if ".dist-info/sboms/" in it]
    if not found:
        raise NotBuiltError(f"{wheel.name} has no SBOM; maturin 1.11 and later write one.")
    return found


def _standard_library(target: Target) -> None:
    """Installs Rust's standard library for the processor, if rustup knows how."""
    sysroot = _output("rustc", "--print", "sysroot")
    if sysroot and (Path(sysroot) / "lib/rustlib" / target.triple / "lib").is_dir():
        return
    if not shutil.which("rustup"):
        raise NotBuiltError(
            f"Rust has no standard library for {target.triple}, and there is no rustup to add it: "
            f"install it with what Rust came with."
        )
    print(f"==> rustup: the standard library for {target.triple}", flush=True)
    if subprocess.run(["rustup", "target", "add", target.triple], check=False).returncode:
        raise NotBuiltError(f"rustup has not installed {target.triple}; see above.")


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()
