"""A redis-server of a rack, as a child process.

It does not speak the protocol of `netkv.live.node`, but has the interface of `NodeProcess`: PING on
the socket in its directory shows that it is ready and healthy. It ends with the process that
started it (`netkv.live.ends_with_parent`).
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from netkv.live import ends_with_parent
from netkv.live.machine import Machine
from netkv.live.process import READY_TIMEOUT, STOP_TIMEOUT, NodeProcess
from netkv.live.redis_start import Fsync, command_line
from netkv.model.nodes import NodeError

_START_POLL_S = 0.02
"""Seconds between two PINGs during the start."""
_HEALTH_POLL_S = 1.0
"""Seconds between two PINGs afterwards."""
_PING_TIMEOUT_S = 3.0
"""Seconds to wait for the answer to PING."""


@contextlib.contextmanager
def running(directory: Path, fsync: Fsync) -> Iterator[None]:
    """A server without a rack, with the records in `directory`; it may still be loading them when
    this returns."""
    process = subprocess.Popen(
        ends_with_parent.words(command_line(fsync)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        cwd=directory,
        process_group=0,
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


class RedisServer(NodeProcess):
    """A running redis-server. It cannot be restarted; create another one on the same directory."""

    def __init__(
        self,
        name: str,
        directory: Path,
        fsync: Fsync,
        log: Path,
        on_exit: Callable[[NodeProcess], None],
        on_note: Callable[[str], object],
        machine: Machine,
    ) -> None:
        """`on_note` is called with a text when it stops answering and when it answers again."""
        super().__init__(name, "redis", {}, log, on_exit, machine)
        self._directory = directory
        self._fsync = fsync
        self._on_note = on_note
        self._health: asyncio.Task[None] | None = None

    async def spawn(self) -> None:
        """Starts the process; raises NetkvError if redis-server is not installed."""
        self._process = await self._machine.spawn_redis(self._directory, self._fsync, self.log)
        self.identity = self._machine.identity(self._process)
        self._reader = asyncio.create_task(self._wait(), name=f"wait for {self.name}")

    async def configure(self, timeout: float = READY_TIMEOUT) -> None:  # noqa: ASYNC109
        """Waits until it answers; raises `NodeError`, after killing it, if it does not."""
        deadline = time.monotonic() + timeout
        try:
            while not await self._answers():
                if not self.running:
                    raise NodeError(f"The node '{self.name}' {self.exit_message()}")
                if time.monotonic() > deadline:
                    raise NodeError(
                        f"The node '{self.name}' was not ready within {timeout:g} s.{self._tail()}"
                    )
                await asyncio.sleep(_START_POLL_S)
        except BaseException:
            await self.kill()
            raise
        self.ready = {"socket": str(self._directory)}
        self._health = asyncio.create_task(self._check_health(), name=f"health of {self.name}")

    async def command(
        self,
        do: str,
        arguments: dict[str, Any] | None = None,  # noqa: ARG002
        timeout: float | None = 0,  # noqa: ARG002, ASYNC109
    ) -> Any:
        """Raises `NodeError`: a redis-server has no commands of netkv."""
        raise NodeError(f"The node '{self.name}' is a redis-server; it does not know '{do}'.")

    async def stop(self) -> None:
        """Ends the process with SIGTERM; kills it if that takes too long."""
        self.expected_to_exit = True
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_TIMEOUT):
                    await self._process.wait()
        await self.kill()

    async def _wait(self) -> None:
        assert self._process is not None
        await self._process.wait()
        if self._health is not None:
            self._health.cancel()
        if self.ready:
            # An end before that is raised by `configure`.
            self._on_exit(self)

    async def _check_health(self) -> None:
        healthy = True
        while True:
            await asyncio.sleep(_HEALTH_POLL_S)
            answers = await self._answers()
            if answers != healthy and self.running:
                word = "answers again" if answers else f"has not answered for {_PING_TIMEOUT_S:g} s"
                self._on_note(f"The node '{self.name}' {word}.")
                healthy = answers

    async def _answers(self) -> bool:
        """Whether it answers PING with PONG; while it loads its records it does not."""
        from netkv.servers.redis_places import short_path

        try:
            with short_path(self._directory) as path:
                async with asyncio.timeout(_PING_TIMEOUT_S):
                    reader, writer = await asyncio.open_unix_connection(path)
                    try:
                        writer.write(b"PING\r\n")
                        return await reader.readline() == b"+PONG\r\n"
                    finally:
                        writer.close()
        except OSError:  # TimeoutError is one
            return False
