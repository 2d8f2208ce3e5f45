"""Processes that a test of labs has left behind."""

from __future__ import annotations

import os
from pathlib import Path


def processes_of(place: Path) -> list[int]:
    """Pids of the nodes and supervisors that belong to a state directory."""
    wanted = f"NETKV_HOME={place}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            environment = (entry / "environ").read_bytes()
            here = (entry / "cwd").readlink()
        except OSError:
            continue
        ours = b"netkv.lab" in command and wanted in environment.split(b"\0")
        # A redis-server writes its title over its environment.
        if ours or (b"redis-server" in command and here.is_relative_to(place.parent)):
            found.append(int(entry.name))
    return found
