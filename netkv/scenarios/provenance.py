"""Provenance of a run: revision of the source, the program, the machine."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

from netkv import __version__, resources
from netkv.machine import host
from netkv.scenarios.results import Provenance


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
