"""Workers on hosts that are reached over SSH.

The invitation to the cluster goes through the connection, and a worker ends with its connection.
"""

from __future__ import annotations

import asyncio
import shlex
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import asyncssh

from netkv.errors import NetkvError
from netkv.executors import ssh
from netkv.executors.credentials import Invitation
from netkv.executors.executor import Warn
from netkv.executors.host_file import Host

_END_S = 10.0
"""Seconds that workers have to end when their connections close."""
_ATTEMPTS = 10
"""How often a worker is started that was killed."""

T = TypeVar("T")


class Hosts:
    """Workers on hosts; see `own_cluster.Workers`."""

    join_seconds: float | None = 120.0

    def __init__(self, hosts: list[Host], warn: Warn) -> None:
        self.name = f"{len(hosts)} host{'s' * (len(hosts) != 1)}"
        self._hosts = hosts
        self._warn = warn
        self._connections: dict[Host, asyncssh.SSHClientConnection] = {}
        self._processes: dict[Host, asyncssh.SSHClientProcess[str]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        """One for each host."""
        self._stopping = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ssh", daemon=True)
        self._thread.start()

    def addresses(self) -> list[str]:
        """See `Workers`: the end of the first connection here."""
        self._do(self._connect())
        ends = (each.get_extra_info("sockname") for each in self._connections.values())
        return [end[0] for end in ends if end]

    def start(self, invitation: Invitation) -> None:
        """See `Workers`."""
        self._do(self._start(invitation))

    def all_ended(self) -> bool:
        """See `Workers`."""
        return all(task.done() for task in self._tasks)

    def stop(self) -> None:
        """See `Workers`."""
        if not self._loop.is_closed():
            self._do(self._stop())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _do(self, what: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result()

    async def _connect(self) -> None:
        failures = await asyncio.gather(*(self._connect_to(each) for each in self._hosts))
        if not self._connections:
            raise NetkvError(f"None of {self.name} can be reached: {next(filter(None, failures))}")
        for failure in filter(None, failures):
            self._warn(failure)

    async def _connect_to(self, host: Host) -> str | None:
        try:
            self._connections[host] = await ssh.connect(host)
        except NetkvError as error:
            return str(error)
        return None

    async def _start(self, invitation: Invitation) -> None:
        for host, connection in self._connections.items():
            self._tasks.append(self._loop.create_task(self._work(host, connection, invitation)))

    async def _work(
        self, host: Host, connection: asyncssh.SSHClientConnection, invitation: Invitation
    ) -> None:
        """Keeps a worker on a host: starts one again that was killed, and says how one ended."""
        for _ in range(_ATTEMPTS):
            try:
                process = await connection.create_process(shlex.join(host.command))
                self._processes[host] = process
                process.stdin.write(invitation.text() + "\n")
                said = await process.stderr.read()
                ended = await process.wait()
            except (OSError, asyncssh.Error) as error:
                self._tell(host, f"{str(error) or type(error).__name__}.")
                return
            if ended.exit_signal is None and (ended.exit_status or 0) <= 128:
                self._tell(host, ssh.reason(ended, said))
                return
            self._tell(host, "it was killed. It is started again.")

    def _tell(self, host: Host, why: str) -> None:
        """`why`: the end of a sentence, and perhaps another one."""
        if not self._stopping:
            self._warn(f"The worker on {host.name} has ended: {why}")

    async def _stop(self) -> None:
        self._stopping = True
        for process in self._processes.values():
            with suppress(OSError, asyncssh.Error):
                process.stdin.write_eof()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_END_S)
        for connection in self._connections.values():
            connection.close()
        await asyncio.gather(*(each.wait_closed() for each in self._connections.values()))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
