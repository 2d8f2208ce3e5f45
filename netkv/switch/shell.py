"""`netkv switch shell`: p4runtime-shell on a running switch, in an environment of its own.

The shell pins versions of protobuf and IPython that cannot share a process with netkv's. uv makes
an environment for it the first time, which takes seconds and the package registry, and keeps it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from netkv.errors import NetkvError

REQUIREMENT = "p4runtime-shell==0.0.6"
PYTHON = "3.11"
"""Newer ones have no build of the protobuf that the shell needs."""


def command(address: str, device_id: int, election_id: int, rest: Sequence[str]) -> list[str]:
    """The words that start the shell; `rest` are options of its own. Raises `NetkvError`."""
    return [
        _uv(),
        *("tool", "run", "--quiet", "--python", PYTHON, "--from", REQUIREMENT),
        *("python", "-m", "p4runtime_sh"),
        *("--grpc-addr", address, "--device-id", str(device_id)),
        *("--election-id", f"{election_id >> 64},{election_id & (1 << 64) - 1}"),
        *rest,
    ]


def replace(words: Sequence[str]) -> None:
    """Replaces this process by the program, which gets the terminal, signals and exit status."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(words[0], list(words))


def _uv() -> str:
    beside = str(Path(sys.executable).parent)
    found = shutil.which("uv") or shutil.which("uv", path=beside)
    if found is None:
        raise NetkvError(
            "'netkv switch shell' needs uv, which makes the environment of p4runtime-shell, and uv "
            "is not on PATH. Install it (pip install uv), or run p4runtime-shell from an "
            "environment of your own."
        )
    return found
