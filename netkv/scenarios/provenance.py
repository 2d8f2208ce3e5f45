"""Provenance of a run: revision of the source, the program, the machine."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from netkv import __version__, resources
from netkv.machine import host
from netkv.scenarios.results import Provenance

_planned_by: ContextVar[tuple[str | None] | None] = ContextVar("planned_by", default=None)


@contextmanager
def planned_by(revision: str | None) -> Iterator[None]:
    """Within this context, runs are of this revision: a worker that executes what another process
    has planned has the same files, and may not know their revision."""
    token = _planned_by.set((revision,))
    try:
        yield
    finally:
        _planned_by.reset(token)


def revision() -> str | None:
    """The revision of runs that are planned here."""
    given = _planned_by.get()
    return _revision() if given is None else given[0]


def provenance(program: str, program_hash: str) -> Provenance:
    """The provenance of a run of `program` (file name) on this machine."""
    return Provenance(
        netkv_version=__version__,
        source_revision=revision(),
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
