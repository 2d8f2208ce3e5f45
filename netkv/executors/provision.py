"""Installs netkv on hosts: a wheel of this machine, in an environment of its own there."""

from __future__ import annotations

import asyncio
import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import asyncssh

from netkv.errors import NetkvError
from netkv.executors import ssh
from netkv.executors.host_file import Host

EXTRAS = "cluster"
_INSTALL_S = 600.0


def install(hosts: Sequence[Host], wheel: Path) -> list[Host | str]:
    """Installs a wheel on all hosts at once, unless it is there. Returns each host with its
    command, or why it was not installed, as a sentence."""
    data = wheel.read_bytes()

    async def on(host: Host) -> Host | str:
        try:
            async with asyncio.timeout(_INSTALL_S):
                return replace(host, netkv=await _install(host, wheel.name, data))
        except NetkvError as error:
            return str(error)
        except TimeoutError:
            return f"The installation on {host.name} has not ended for {_INSTALL_S:g} s."
        except (OSError, asyncssh.Error) as error:
            return f"The connection to {host.name} has ended: {error}."

    async def on_all() -> list[Host | str]:
        return await asyncio.gather(*map(on, hosts))

    return asyncio.run(on_all())


async def _install(host: Host, name: str, data: bytes) -> str:
    async with await ssh.connect(host) as connection:

        async def run(*words: str, given: bytes = b"") -> asyncssh.SSHCompletedProcess:
            return await connection.run(shlex.join(words), input=given, encoding=None)

        share = _text((await run("printenv", "XDG_DATA_HOME")).stdout).strip()
        if not share:
            share = _text((await run("printenv", "HOME")).stdout).strip() + "/.local/share"
        folder = f"{share}/netkv/{hashlib.sha256(data).hexdigest()[:12]}"
        command, file = f"{folder}/bin/netkv", f"{folder}/{name}"
        if (await run("test", "-x", command)).exit_status == 0:
            return command
        # The command is there when all before it has succeeded.
        _check(host, await run("python3", "-m", "venv", folder))
        _check(host, await run("dd", f"of={file}", "status=none", given=data))
        _check(host, await run(f"{folder}/bin/pip", "install", "-q", f"{file}[{EXTRAS}]"))
    return command


def _check(host: Host, done: asyncssh.SSHCompletedProcess) -> None:
    """Raises `NetkvError` with the end of what a command has said, if it has failed."""
    if done.exit_status != 0:
        # Debian's 'venv' says on stdout that it lacks a package.
        said = _text(done.stderr).strip() or _text(done.stdout).strip() or "no reason was given"
        raise NetkvError(
            f"netkv was not installed on {host.name}: {said.splitlines()[-1].rstrip('.')}."
        )


def _text(said: object) -> str:
    assert isinstance(said, bytes)
    return said.decode(errors="replace")
