"""Starts the program of a node (`netkv.live.node`) as a child of this process."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import IO

from netkv import __file__ as package_file

LINE_LIMIT = 64 * 1024 * 1024
"""Maximum bytes of a line between a node and its parent."""


def child_environment() -> dict[str, str]:
    """The environment of a child, in which Python imports this same netkv, installed or not."""
    root = str(Path(package_file).resolve().parent.parent)
    inherited = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "PYTHONPATH": root + (os.pathsep + inherited if inherited else ""),
        "PYTHONUNBUFFERED": "1",
    }


async def start(kind: str, stderr: IO[bytes] | int) -> asyncio.subprocess.Process:
    """Starts a node of a kind; the first line on its stdin will be its configuration."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "netkv.live.node",
        kind,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
        env=child_environment(),
        limit=LINE_LIMIT,
        # Its own session: Ctrl-C reaches only the supervisor, which stops it in order.
        start_new_session=True,
    )
