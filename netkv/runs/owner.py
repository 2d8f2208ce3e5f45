"""Who is writing a run: a process, told apart from a later one that got the same number.

A process number comes back after a while, and all of them after a reboot. The start time of the
process (in clock ticks since boot) and the id of the boot make it unique on a host.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Owner:
    """A process of some host."""

    host: str
    boot: str
    pid: int
    started: int
    """Clock ticks between boot and the start of the process."""

    @classmethod
    def this_process(cls) -> Owner:
        """The process that calls."""
        pid = os.getpid()
        return cls(socket.gethostname(), _boot_id(), pid, _start_ticks(pid) or 0)

    @property
    def is_local(self) -> bool:
        """Whether it is a process of this host, so that its life can be judged from here."""
        return self.host == socket.gethostname()

    @property
    def is_alive(self) -> bool:
        """Whether it still runs. A process of another host counts as alive: nobody can tell."""
        if not self.is_local:
            return True
        return self.boot == _boot_id() and _start_ticks(self.pid) == self.started


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _start_ticks(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat; None for no such process, or one that is only waited for."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The second field is the command in parentheses and may itself hold spaces and parentheses.
    fields = stat[stat.rindex(")") + 2 :].split()
    return None if fields[0] in "ZX" else int(fields[19])
