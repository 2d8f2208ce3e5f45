"""Provenance of a run: revision of the source, the program, the machine."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netkv import __version__, resources
from netkv.scenarios.results import Provenance

_MACHINE = ("name", "machine", "processor", "processors")
"""Parts of `host` by which `same_machine` compares machines."""


def provenance(program: str, program_hash: str) -> Provenance:
    """The provenance of a run of `program` (file name) on this machine."""
    return Provenance(
        netkv_version=__version__,
        source_revision=_revision(),
        program=program,
        program_hash=program_hash,
        host=host(),
    )


@functools.cache
def _revision() -> str | None:
    """Commit of the checkout, with `+` if files differ from it; None for an installed wheel."""
    root = resources.checkout()
    if root is None:
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+" if changed else "")


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()


@functools.cache
def host() -> dict[str, Any]:
    """This machine: name, system, processor, memory."""
    return {
        "name": platform.node(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "processor": _processor(),
        "processors": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "python": platform.python_version(),
    }


def same_machine(other: Mapping[str, Any]) -> bool:
    """Whether an earlier result of `host` describes this machine, or one like it."""
    here = host()
    return all(other.get(part) == here[part] for part in _MACHINE)


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor()
