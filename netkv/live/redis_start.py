"""Starts a redis-server as a child of this process, with records and socket in a directory."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import IO, Literal

from netkv.errors import NetkvError
from netkv.live import ends_with_parent

Fsync = Literal["always", "everysec", "never"]


def program() -> str:
    """The path of redis-server; raises NetkvError if it is not installed."""
    found = shutil.which("redis-server")
    if found is None:
        raise NetkvError(
            "The back end 'redis' needs redis-server, which is not on PATH: 'apt-get install "
            "redis-server' installs it. Or give 'lab.redis.addresses' of servers that run already."
        )
    return found


def command_line(fsync: Fsync) -> list[str]:
    """The command for a server with its records and its socket in the working directory."""
    from netkv.servers.redis_places import SOCKET

    options = {
        "port": "0",
        "unixsocket": SOCKET,
        "unixsocketperm": "700",
        "dir": ".",
        "databases": "1",
        "daemonize": "no",
        "save": "",
        "appendonly": "yes",
        "appendfsync": "no" if fsync == "never" else fsync,
        "maxmemory": "0",
    }
    return [program(), *(text for name, value in options.items() for text in (f"--{name}", value))]


async def start(
    directory: Path, fsync: Fsync, output: IO[bytes] | int
) -> asyncio.subprocess.Process:
    """Starts a server that ends with this process (`ends_with_parent`).

    Raises NetkvError if it is not installed.
    """
    command = command_line(fsync)
    os.makedirs(directory, exist_ok=True)
    return await asyncio.create_subprocess_exec(
        *ends_with_parent.words(command),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=output,
        stderr=asyncio.subprocess.STDOUT,
        cwd=directory,
        # As with nodes: Ctrl-C reaches the supervisor only.
        start_new_session=True,
    )
