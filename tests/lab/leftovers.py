"""Finds processes that a test of labs has left running."""

from __future__ import annotations

import os
from pathlib import Path


def processes_of(home: Path) -> list[int]:
    """Pids of the nodes and supervisors that belong to a state directory."""
    wanted = f"NETKV_HOME={home}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            environment = (entry / "environ").read_bytes()
            folder = (entry / "cwd").readlink()
        except OSError:
            continue
        ours = b"netkv.live" in command and wanted in environment.split(b"\0")
        # A redis-server overwrites its environment with its title.
        if ours or (b"redis-server" in command and folder.is_relative_to(home.parent)):
            found.append(int(entry.name))
    return found
