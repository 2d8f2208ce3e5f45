"""The steps of a benchmark or another long command in a file, for programs that start it and show
how far it is.

$NETKV_STEPS    the file; without it nothing is written
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

VARIABLE = "NETKV_STEPS"


class Steps:
    """Writes each step that begins, if somebody wants to know."""

    def __init__(self) -> None:
        self._file = os.environ.get(VARIABLE)
        self._began = time.time()

    def __call__(self, at: int, count: int, label: str) -> None:
        """`at`: the step, from 0; `count`: the number of steps."""
        if self._file is None:
            return
        found = {"at": at, "count": count, "label": label, "began": self._began}
        draft = Path(f"{self._file}.new")
        # Nothing but the display depends on the file.
        with contextlib.suppress(OSError):
            draft.write_text(json.dumps({**found, "written": time.time()}), encoding="utf-8")
            draft.replace(self._file)


def time_left(fraction: float, passed: float) -> float | None:
    """Seconds left of work that proceeds at one speed; None before it has begun."""
    return passed * (1 - fraction) / fraction if fraction > 0 else None


def read(file: Path) -> dict[str, Any] | None:
    """`at`, `count`, `label`, `began` and `written` of the newest step; None if there is none."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
