"""An SSH server that runs commands of this user, and the keys for it.

Without Debian's sshd it is one of asyncssh.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from netkv.live.ports import free_ports
from tests.cli.commands import ROOT
from tests.waiting import until

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@dataclass(frozen=True)
class Server:
    """Where the server is."""

    port: int
    home: Path
    """A home directory with what a client needs in `.ssh`."""

    @property
    def name(self) -> str:
        """As in a file of hosts."""
        return f"{getpass.getuser()}@127.0.0.1:{self.port}"


@contextmanager
def server(folder: Path, *, real: bool) -> Iterator[Server]:
    """A server whose files are in this folder; `real`: Debian's."""
    port = free_ports(1)[0]
    home = keys(folder, ["127.0.0.1"], port)
    with _listening(folder, command(folder, "127.0.0.1", port, real=real), port):
        yield Server(port, home)


def keys(folder: Path, addresses: list[str], port: int) -> Path:
    """Makes the keys of servers at these addresses and of their user; returns the user's home."""
    home = folder / "user"
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    keys = {name: asyncssh.generate_private_key("ssh-ed25519") for name in ("host", "user")}
    keys["host"].write_private_key(str(folder / "host_key"))
    keys["user"].write_private_key(str(home / ".ssh" / "id_ed25519"))
    keys["user"].write_public_key(str(folder / "authorized_keys"))
    for file in (folder / "host_key", home / ".ssh" / "id_ed25519"):
        file.chmod(0o600)
    public = keys["host"].export_public_key().decode()
    known = "".join(f"[{address}]:{port} {public}" for address in addresses)
    (home / ".ssh" / "known_hosts").write_text(known)
    return home


def command(folder: Path, address: str, port: int, *, real: bool) -> list[str]:
    """The command of a server, with the keys of the folder."""
    if real:
        return _sshd(folder, address, port)
    return [sys.executable, "-m", "tests.executors.ssh_server", str(folder), address, str(port)]


@contextmanager
def _listening(folder: Path, command: list[str], port: int) -> Iterator[None]:
    with (folder / "sshd.log").open("wb") as log:
        environment = {**os.environ, **_environment(folder)}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        until(lambda: _answers(port), "the server listens")
        yield
    finally:
        process.kill()
        process.wait()


def _environment(folder: Path) -> dict[str, str]:
    """What commands get: a place for data that is not the user's, and the Python of the tests."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"XDG_DATA_HOME": str(folder / "data"), "PATH": path}


def _sshd(folder: Path, address: str, port: int) -> list[str]:
    config = folder / f"sshd_config-{address}"
    config.write_text(
        f"ListenAddress {address}:{port}\nHostKey {folder}/host_key\n"
        f"AuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\nUsePAM no\n"
        f"PidFile {folder}/sshd-{address}.pid\nPermitRootLogin yes\nPasswordAuthentication no\n"
        "SetEnv"
        + "".join(f" {name}={value}" for name, value in _environment(folder).items())
        + "\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    assert SSHD is not None, "the test is skipped without it"
    return [SSHD, "-D", "-e", "-f", str(config)]


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


# The server of asyncssh, a process.


async def _serve(folder: str, address: str, port: int) -> None:
    await asyncssh.listen(
        address,
        port,
        server_host_keys=[f"{folder}/host_key"],
        authorized_client_keys=f"{folder}/authorized_keys",
        process_factory=_run,
        server_factory=_Forwards,
        encoding=None,
    )
    await asyncio.Event().wait()


class _Forwards(asyncssh.SSHServer):
    """As sshd does, it leads connections of its clients to ports of its loopback and to sockets."""

    def connection_requested(
        self,
        dest_host: str,
        dest_port: int,  # noqa: ARG002
        orig_host: str,  # noqa: ARG002
        orig_port: int,  # noqa: ARG002
    ) -> bool:
        return dest_host == "127.0.0.1"

    def unix_connection_requested(self, dest_path: str) -> bool:  # noqa: ARG002
        return True


async def _run(process: asyncssh.SSHServerProcess[bytes]) -> None:
    """Runs the command of a client with its input and outputs."""
    # The end that the command reads stays open here, so what comes after its end breaks nothing.
    reads, writes = os.pipe()
    command = await asyncio.create_subprocess_shell(
        f"exec {process.command}",
        stdin=reads,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # Its outputs end with it, not with the first of them.
    await process.redirect(
        stdin=writes, stdout=command.stdout, stderr=command.stderr, send_eof=False
    )
    ended = asyncio.create_task(command.wait())
    lost = asyncio.create_task(process.channel.get_connection().wait_closed())
    await asyncio.wait({ended, lost}, return_when=asyncio.FIRST_COMPLETED)
    os.close(reads)
    if not ended.done():
        command.terminate()
        return
    lost.cancel()
    status = ended.result()
    await process.stderr.drain()
    if status < 0:
        process.exit_with_signal("KILL")
    else:
        process.exit(status)


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], sys.argv[2], int(sys.argv[3])))
