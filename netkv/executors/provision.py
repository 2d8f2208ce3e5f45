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
        data_home = 'printf %s "${XDG_DATA_HOME:-$HOME/.local/share}"'
        share = (await _run(connection, host, data_home)).decode()
        folder = f"{share}/netkv/{hashlib.sha256(data).hexdigest()[:12]}"
        command, file = f"{folder}/bin/netkv", f"{folder}/{name}"
        venv, pip = shlex.quote(folder), shlex.quote(f"{folder}/bin/pip")
        # The command is there when all before it has succeeded.
        script = (
            f"[ -x {shlex.quote(command)} ] && exec cat >/dev/null; "
            f"python3 -m venv {venv} && cat > {shlex.quote(file)} && "
            f"{pip} install -q {shlex.quote(f'{file}[{EXTRAS}]')}"
        )
        await _run(connection, host, script, data)
    return command


async def _run(
    connection: asyncssh.SSHClientConnection, host: Host, script: str, data: bytes = b""
) -> bytes:
    """What a shell script says; raises `NetkvError` with the end of its errors if it fails."""
    done = await connection.run(f"sh -c {shlex.quote(script)}", input=data, encoding=None)
    said, output = done.stderr, done.stdout
    assert isinstance(said, bytes)
    assert isinstance(output, bytes)
    if done.exit_status != 0:
        lines = said.decode(errors="replace").strip().splitlines() or ["no reason was given"]
        raise NetkvError(f"netkv was not installed on {host.name}: {lines[-1].rstrip('.')}.")
    return output
