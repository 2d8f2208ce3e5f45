"""The machine that this process runs on, for results and measurements."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_MACHINE = ("name", "machine", "processor", "processors")
"""Parts of `host` by which `same_machine` compares machines."""


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
