"""The processor cores of a live lab's processes (`lab.cores`)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping

from netkv.errors import MisfitError
from netkv.model.hardware import Pinned


def check(cores: Mapping[Pinned, Iterable[int]]) -> None:
    """Raises `MisfitError` if this process, and so its children, may not use one of the cores."""
    allowed = os.sched_getaffinity(0)
    for kind, wanted in cores.items():
        missing = sorted(set(wanted) - allowed)
        if missing:
            raise MisfitError(
                f"The processes '{kind}' are to use core {missing[0]}, which this machine does not "
                f"have, or which netkv may not use; it may use {_listed(allowed)}.",
                "lab",
                "cores",
                kind,
            )


def pin(pid: int, cores: Iterable[int]) -> None:
    """Lets a process that was just started, and its later threads, run on these cores only."""
    wanted = set(cores)
    if not wanted:
        return
    # A process that has ended is reported when it does not become ready.
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), wanted)


def _listed(cores: Iterable[int]) -> str:
    return ", ".join(str(core) for core in sorted(cores))
