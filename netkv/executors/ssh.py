"""SSH connections to hosts, with the user's keys and `~/.ssh/config`; unknown hosts are refused."""

from __future__ import annotations

import asyncio

import asyncssh

from netkv.errors import NetkvError
from netkv.executors.host_file import Host

_CONNECT_S = 20.0
_NOT_FOUND = 127
"""The exit status of a shell that does not find a command."""


async def connect(host: Host, keepalive_s: float = 15) -> asyncssh.SSHClientConnection:
    """A connection; raises `NetkvError` with the reason if there can be none.

    It ends when three questions in a row, `keepalive_s` apart, have no answer.
    """
    given = {"port": host.port, "username": host.user}
    # What is not given comes from ~/.ssh/config.
    options = {name: value for name, value in given.items() if value is not None}
    try:
        async with asyncio.timeout(_CONNECT_S):
            return await asyncssh.connect(host.address, keepalive_interval=keepalive_s, **options)
    except (OSError, asyncssh.Error, TimeoutError) as error:
        why = str(error).strip().rstrip(".") or type(error).__name__
        raise NetkvError(f"The host {host.name} cannot be reached: {why}.") from error


def reason(ended: asyncssh.SSHCompletedProcess, said: str) -> str:
    """Why netkv has ended on a host, after what it said on stderr: the end of a sentence, and what
    to do."""
    lines = said.strip().splitlines()
    if lines:
        why = lines[-1].rstrip(".")
    elif ended.exit_status is None:
        why = "its connection was lost"
    else:
        why = f"exit status {ended.exit_status}"
    more = " Give its command there as netkv=/PATH/netkv."
    return f"{why}.{more if ended.exit_status == _NOT_FOUND else ''}"
