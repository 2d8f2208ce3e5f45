"""One node of a rack as a child process: start, commands, log, end.

The child is `python -m netkv.live.node KIND`. The first line on its stdin is its configuration;
then it receives commands and sends replies and events, one JSON document per line. It ends when its
stdin is closed, so a child never outlives this process, not even after a kill -9.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from netkv.live.machine import HERE, Machine, Process
from netkv.model.nodes import NodeError
from netkv.processes import Identity

Kind = Literal[
    "switch", "bmv2", "external-switch", "server", "coordinator", "client", "card", "redis"
]

READY_TIMEOUT = 60.0
"""Seconds for a node to load its data and bind its ports."""
COMMAND_TIMEOUT = 30.0
MAX_COMMANDS = 256
"""Maximum of unanswered commands: those for a node that hangs stay in its pipe."""
STOP_TIMEOUT = 3.0
"""Seconds for a node to exit after its stdin is closed."""
_LOG_TAIL = 5


class BusyPortError(NodeError):
    """An address that the node was to bind is in use."""


class NodeProcess:
    """A running node. Not restartable: make another one with the same configuration."""

    def __init__(
        self,
        name: str,
        kind: Kind,
        config: dict[str, Any],
        log: Path,
        on_exit: Callable[[NodeProcess], None],
        machine: Machine = HERE,
    ) -> None:
        self.name = name
        self.kind = kind
        self.log = log
        self.identity: Identity | None = None
        self.expected_to_exit = False
        """Set before the node is stopped or killed on purpose."""
        self.ready: dict[str, Any] = {}
        """The message that the node sent when it was ready."""
        self.failure: str | None = None
        """Why the node failed, as a sentence from the node."""
        self._config = config
        self._machine = machine
        self._on_exit = on_exit
        self._process: Process | None = None
        self._replies: dict[int, asyncio.Future[Any]] = {}
        self._next_id = 0
        self._unanswered = 0
        """Commands sent without an answer yet, those that timed out included."""
        self._reader: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[None] | None = None

    @property
    def running(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        """Its process id on its machine."""
        return None if self._process is None else self._process.pid

    @property
    def host(self) -> str | None:
        """The host of the lab on which it is; None for this machine."""
        return self._machine.name

    @property
    def returncode(self) -> int | None:
        """Exit status of the process; negative: the signal that ended it."""
        return None if self._process is None else self._process.returncode

    async def spawn(self) -> None:
        """Starts the process."""
        self._process = await self._machine.spawn(self.kind, self.log)
        self.identity = self._machine.identity(self._process)
        self._ready = asyncio.get_running_loop().create_future()
        self._reader = asyncio.create_task(self._read(), name=f"read {self.name}")

    async def pin(self, cores: Sequence[int]) -> None:
        """Lets the process, which was just started, run on these cores only; none: on all."""
        assert self._process is not None
        await self._machine.pin(self._process, cores)

    async def configure(self, timeout: float = READY_TIMEOUT) -> None:  # noqa: ASYNC109
        """Gives the process its configuration and waits until it is ready.

        Raises `BusyPortError` if an address is in use, else `NodeError` with the node's error; in
        both cases the process has ended.
        """
        assert self._ready is not None
        try:
            self._send(await self._machine.own_paths(self._config))
            async with asyncio.timeout(timeout):
                await asyncio.shield(self._ready)
        except TimeoutError:
            await self.kill()
            raise NodeError(
                f"The node '{self.name}' was not ready within {timeout:g} s.{self._tail()}"
            ) from None
        except BaseException:
            await self.kill()
            raise

    async def command(
        self,
        do: str,
        arguments: dict[str, Any] | None = None,
        timeout: float | None = COMMAND_TIMEOUT,  # noqa: ASYNC109
    ) -> Any:
        """Sends a command and returns the node's result; raises `NodeError`, also after `timeout`
        seconds."""
        if not self.running:
            raise NodeError(f"The node '{self.name}' is not running.")
        if self._unanswered >= MAX_COMMANDS:
            raise NodeError(
                f"The node '{self.name}' hangs: it has not answered {MAX_COMMANDS} commands."
            )
        self._unanswered += 1
        self._next_id += 1
        number = self._next_id
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._replies[number] = reply
        try:
            self._send({"id": number, "do": do, **(arguments or {})})
            # Not wait_for: before Python 3.12 it loses a cancellation that comes with the reply.
            async with asyncio.timeout(timeout):
                return await reply
        except TimeoutError:
            raise NodeError(
                f"The node '{self.name}' did not answer '{do}' within {timeout:g} s."
            ) from None
        finally:
            self._replies.pop(number, None)

    async def stop(self) -> None:
        """Ends the process in order; kills it if it does not exit."""
        self.expected_to_exit = True
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(STOP_TIMEOUT):
                await process.wait()
        except TimeoutError:
            pass
        finally:
            await self.kill()

    async def kill(self) -> None:
        """Ends the process at once (SIGKILL)."""
        self.expected_to_exit = True
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.wait()
        if self._reader is not None:
            await self._reader

    def _send(self, document: dict[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        # A closed pipe shows as end of file on stdout, which the reader handles.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, RuntimeError):
            self._process.stdin.write(json.dumps(document).encode() + b"\n")

    async def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            try:
                self._handle(json.loads(line))
            except (ValueError, TypeError, AttributeError):
                self.failure = f"it wrote a line that is no message of the protocol: {line[:80]!r}"
                self._process.kill()
                break
        await self._process.wait()
        error = NodeError(f"The node '{self.name}' {self.exit_message()}")
        for future in (self._ready, *self._replies.values()):
            if future is not None and not future.done():
                future.set_exception(error)
                # The waiting task may have been cancelled; then nothing reads the exception.
                future.exception()
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self.ready:
            # Before it is ready, `configure` raises the error.
            self._on_exit(self)

    def _handle(self, message: dict[str, Any]) -> None:
        assert self._ready is not None
        if "id" in message:
            self._unanswered -= 1
            reply = self._replies.get(message["id"])
            if reply is None or reply.done():
                return
            if "error" in message:
                reply.set_exception(NodeError(f"The node '{self.name}': {message['error']}"))
            else:
                reply.set_result(message.get("result"))
        elif message["event"] == "ready":
            self.ready = message
            if not self._ready.done():
                self._ready.set_result(None)
        elif message["event"] in ("failed", "busy"):
            self.failure = str(message["text"])
            if not self._ready.done():
                kind = BusyPortError if message["event"] == "busy" else NodeError
                self._ready.set_exception(kind(f"The node '{self.name}': {self.failure}"))

    def exit_message(self) -> str:
        """How the process ended, and the end of its log if the end is unexpected."""
        if self.failure is not None:
            return f"gave up: {self.failure}"
        if (why := self._machine.why_ended()) is not None:
            return f"has ended: {why}"
        code = self.returncode
        how = "ended"
        if code is not None and code < 0:
            how = f"was killed by signal {-code}"
        elif code:
            how = f"exited with status {code}"
        return f"{how}.{'' if self.expected_to_exit else self._tail()}"

    def _tail(self) -> str:
        try:
            lines = self.log.read_text(errors="replace").strip().splitlines()[-_LOG_TAIL:]
        except OSError:
            return ""
        return "".join(f"\n  {line}" for line in ["Its log ends with:", *lines]) if lines else ""
