"""Processes of this machine, distinct from later ones with the same pid.

A process is identified by its pid, its start time and the boot of its host. So if the kernel reuses
a pid for another process, that process is never killed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Identity:
    """A process, distinct from later ones with the same pid."""

    pid: int
    start: int
    """Clock ticks from boot to its start."""
    boot: str
    """Id of the boot of the machine."""

    @property
    def alive(self) -> bool:
        """Whether the process still runs (a zombie does not)."""
        return identity(self.pid) == self


def identity(pid: int) -> Identity | None:
    """The process that has this pid now; None if there is none or it is a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name, in parentheses, may itself contain blanks and parentheses.
    state, *fields = text[text.rindex(")") + 2 :].split()
    if state in ("Z", "X"):
        return None
    return Identity(pid, int(fields[18]), boot())


def boot() -> str:
    """Id of this boot of the machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
