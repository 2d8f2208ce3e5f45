"""A machine that executes nodes of a rack and is reached over SSH (`lab.hosts`).

One connection has a channel to `netkv.live.host_program`, and leads P4Runtime connections to the
switches there. When it ends, the nodes there end, too: the host counts as lost. It is connected
again when one of its nodes is started.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import secrets
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import asyncssh

from netkv.errors import NetkvError
from netkv.executors import clock, host_file, ssh
from netkv.executors.clock import Clock
from netkv.executors.same_code import identity
from netkv.live import ports
from netkv.live.host_program import ALIVE_S, SILENCE_S
from netkv.live.machine import LOOPBACK, Machine, Process, with_paths
from netkv.live.node_start import LINE_LIMIT
from netkv.live.redis_start import Fsync
from netkv.model.hardware import HostSpec
from netkv.model.nodes import NodeError
from netkv.servers import redis_places

_ANSWER_S = 30.0
_ROUNDS = 20
"""Questions for its clock; the shortest round trip is the most exact."""
_LOST = -9
"""The exit status of processes on a host that is lost."""
_END_S = 3.0
_PORTS = 5
"""Free ports that are tried for a way to a switch."""


class _Input:
    """The stdin of a process there."""

    def __init__(self, tell: Callable[[dict[str, Any]], None]) -> None:
        self._tell = tell

    def write(self, data: bytes, /) -> None:
        self._tell({"do": "input", "text": data.decode()})

    def close(self) -> None:
        self._tell({"do": "close"})


class _RemoteProcess:
    """A process there (`machine.Process`)."""

    def __init__(
        self, number: int, kind: str, log: Path, tell: Callable[[dict[str, Any]], None]
    ) -> None:
        self.number = number
        self.kind = kind
        self.pid = 0
        self.returncode: int | None = None
        self.stdin = _Input(lambda message: tell({"id": number, **message}))
        self.stdout = asyncio.StreamReader(limit=LINE_LIMIT)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
        self._log = log
        self._tell = tell
        self._over = asyncio.Event()

    def kill(self) -> None:
        self._tell({"id": self.number, "do": "kill"})

    def terminate(self) -> None:
        self._tell({"id": self.number, "do": "terminate"})

    async def wait(self) -> int:
        await self._over.wait()
        assert self.returncode is not None
        return self.returncode

    def said(self, message: dict[str, Any]) -> None:
        """A message about it."""
        if "line" in message:
            self.stdout.feed_data(message["line"].encode())
        elif "log" in message:
            # A log on a full disk lacks lines, and the node stays up.
            with contextlib.suppress(OSError), self._log.open("a") as file:
                file.write(message["log"])
        elif "ended" in message:
            self.ended(message["ended"])

    def ended(self, status: int) -> None:
        """It has ended."""
        if self.returncode is None:
            self.returncode = status
            self.stdout.feed_eof()
            self._over.set()


class SshMachine(Machine):
    """A host of the lab."""

    def __init__(
        self,
        host: HostSpec,
        directory: Path,
        lost: Callable[[str, str], object],
        note: Callable[[str, str], object],
    ) -> None:
        """`directory` is that of the rack. `lost` and `note` are called with the host's name and a
        sentence, when it is lost and about what was found of it."""
        self.name: str = host.name
        self._host = host_file.parse(host.ssh, host.netkv)
        self._given = host.address
        self.ring = host.ring
        self._directory = directory
        self._folder = f"{directory.name}-{secrets.token_hex(4)}"
        self._there = ""
        """Path of the folder there."""
        self._lost = lost
        self._note = note
        self._connection: asyncssh.SSHClientConnection | None = None
        self._channel: asyncssh.SSHClientProcess[bytes] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._processes: dict[int, _RemoteProcess] = {}
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._numbers = 0
        self._ways: dict[int, int] = {}
        """Ports here that lead to ports there."""
        self._led: dict[Path, asyncssh.SSHListener] = {}
        """What listens in directories here, and leads to Redis in those there."""
        self._ends: tuple[str, str] | None = None
        """The addresses of this machine and of the host, as seen from each other."""
        self._connecting = asyncio.Lock()
        self._closing = False
        self._why: str | None = None

    @property
    def address(self) -> str:
        return self._addresses()[1]

    @property
    def near_end(self) -> str:
        return self._addresses()[0]

    def _addresses(self) -> tuple[str, str]:
        assert self._ends is not None, "it was connected"
        return self._ends

    async def connect(self) -> None:
        async with self._connecting:
            if self._channel is not None:
                return
            await self._drop()
            try:
                async with asyncio.timeout(_ANSWER_S):
                    await self._connect()
            except (OSError, asyncssh.Error, TimeoutError) as error:
                await self._drop()
                why = str(error).strip().rstrip(".") or f"no answer for {_ANSWER_S:g} s"
                raise NodeError(f"The host '{self.name}' cannot be used: {why}.") from error
            except BaseException:
                await self._drop()
                raise

    async def _connect(self) -> None:
        try:
            connection = self._connection = await ssh.connect(self._host, ALIVE_S)
        except NetkvError as error:
            raise NodeError(f"'{self.name}': {error}") from error
        self._ends = self._checked_ends(connection)
        channel = await connection.create_process(
            shlex.join([self._host.netkv, "worker", "--nodes"]), encoding=None
        )
        self._channel = channel
        self._why = None
        reading = asyncio.create_task(self._read(connection, channel), name=f"read {self.name}")
        self._tasks = [reading, asyncio.create_task(self._stay_alive(channel))]
        about = await self._ask("begin", folder=self._folder)
        if about["netkv"] != identity():
            raise NodeError(
                f"The host '{self.name}' has {about['netkv']}, and this machine has {identity()}. "
                "Install the same wheel on both."
            )
        self._there = about["folder"]
        for near, far in self._ways.items():
            await connection.forward_local_port(LOOPBACK, near, LOOPBACK, far)
        ahead = await self._clock()
        self._note(
            self.name,
            f"The host '{self.name}' has {about['machine']['processors']} cores; its clock is "
            f"{ahead.offset * 1e6:+,.0f} us ahead, within {ahead.within * 1e6:,.0f} us.",
        )

    def _checked_ends(self, connection: asyncssh.SSHClientConnection) -> tuple[str, str]:
        near, far = (connection.get_extra_info(it) for it in ("sockname", "peername"))
        ends = [it[0] if it else "" for it in (near, far)]
        if self._given is not None:
            ends[1] = self._given
        for end in ends:
            try:
                IPv4Address(end)
            except ValueError:
                raise NodeError(
                    f"The connection to the host '{self.name}' is from {ends[0] or 'a program'} to "
                    f"{ends[1] or 'a program'}, and frames need IPv4: reach it at an IPv4 address."
                ) from None
        if self._ends is not None and tuple(ends) != self._ends:
            raise NodeError(
                f"The host '{self.name}' has the address {ends[1]} now and had {self._ends[1]}; "
                "the cables of this rack lead there. Take the lab down and bring it up again."
            )
        return ends[0], ends[1]

    async def _clock(self) -> Clock:
        rounds = []
        for _ in range(_ROUNDS):
            begun = time.time()
            there = await self._ask("clock") / 1e9
            rounds.append((begun, there, time.time()))
        return clock.of_rounds(rounds)

    async def free_ports(self, count: int) -> list[int]:
        found: list[int] = await self._ask("ports", count=count)
        return found

    async def reach(self, port: int) -> str:
        assert self._connection is not None
        await self._check_forwarding(self._connection, port)
        # Another process may take a free one before it is bound.
        for near in ports.free_ports(_PORTS):
            with contextlib.suppress(OSError):
                await self._connection.forward_local_port(LOOPBACK, near, LOOPBACK, port)
                self._ways[near] = port
                return f"{LOOPBACK}:{near}"
        raise NodeError(f"No free port of this machine leads to the host '{self.name}'.")

    async def _check_forwarding(self, connection: asyncssh.SSHClientConnection, port: int) -> None:
        try:
            _, writer = await connection.open_connection(LOOPBACK, port, encoding=None)
        except asyncssh.ChannelOpenError as error:
            if error.code == asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED:
                raise NodeError(
                    f"The SSH server of the host '{self.name}' forwards no connections, and the "
                    "controller reaches the switch there through it: 'AllowTcpForwarding local' in "
                    "its sshd_config permits that."
                ) from error
        else:
            writer.close()

    async def spawn(self, kind: str, log: Path) -> Process:
        return await self._started("spawn", kind, log)

    async def spawn_redis(self, directory: Path, fsync: Fsync, log: Path) -> Process:
        assert self._connection is not None
        path = self._inside(directory)
        process = await self._started("spawn-redis", "redis", log, path=path, fsync=fsync)
        await self._lead_to(self._connection, directory)
        return process

    async def _started(self, do: str, kind: str, log: Path, **rest: Any) -> Process:
        self._numbers += 1
        process = _RemoteProcess(self._numbers, kind, log, self._tell)
        self._processes[process.number] = process
        process.pid = await self._ask(do, id=process.number, kind=kind, **rest)
        return process

    async def _lead_to(self, connection: asyncssh.SSHClientConnection, directory: Path) -> None:
        """Makes a socket in a directory of this machine that leads to Redis there."""
        if (earlier := self._led.pop(directory, None)) is not None:
            earlier.close()
        os.makedirs(directory, exist_ok=True)
        short = await self._ask("short", path=self._inside(directory))
        with redis_places.short_path(directory) as path:
            led = await connection.forward_local_path(path, f"{short}/{redis_places.SOCKET}")
        # The connection knows them by their paths, which may be the same.
        self._led[directory] = led

    async def pin(self, process: Process, wanted: Sequence[int]) -> None:
        if wanted:
            assert isinstance(process, _RemoteProcess)
            await self._ask("pin", id=process.number, kind=process.kind, cores=list(wanted))

    async def own_paths(self, config: Mapping[str, Any]) -> dict[str, Any]:
        files: list[Path] = []

        def path(file: Path) -> str:
            files.append(file)
            return f"{self._there}/{self._inside(file)}"

        document = with_paths(config, path)
        for file in files:
            if file.is_file():
                data = base64.b64encode(file.read_bytes()).decode()
                await self._ask("file", path=self._inside(file), data=data)
        return document

    def _inside(self, path: Path) -> str:
        return str(path.relative_to(self._directory))

    async def delete(self, directory: Path) -> None:
        await self.connect()
        await self._ask("delete", path=self._inside(directory))

    async def close(self) -> None:
        self._closing = True
        if self._channel is not None:
            with contextlib.suppress(NetkvError):
                await self._ask("end")
        await self._drop()

    def why_ended(self) -> str | None:
        return self._why

    async def _ask(self, do: str, **rest: Any) -> Any:
        """The answer to a request; raises `NodeError`."""
        if self._channel is None:
            raise NodeError(f"The host '{self.name}' is lost.")
        self._numbers += 1
        number = self._numbers
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        self._tell({"n": number, "do": do, **rest})
        try:
            async with asyncio.timeout(_ANSWER_S):
                return await answer
        except TimeoutError:
            raise NodeError(
                f"The host '{self.name}' did not answer '{do}' within {_ANSWER_S:g} s."
            ) from None
        finally:
            del self._answers[number]

    def _tell(self, message: dict[str, Any]) -> None:
        # The end of the channel is seen by who reads it.
        if self._channel is not None:
            with contextlib.suppress(OSError, asyncssh.Error):
                self._channel.stdin.write(json.dumps(message).encode() + b"\n")

    async def _stay_alive(self, channel: asyncssh.SSHClientProcess[bytes]) -> None:
        while channel is self._channel:
            self._tell({})
            await asyncio.sleep(ALIVE_S)

    async def _read(
        self, connection: asyncssh.SSHClientConnection, channel: asyncssh.SSHClientProcess[bytes]
    ) -> None:
        """Takes what comes, until the end of the host's program or of the connection."""
        said: list[bytes] = []
        errors = asyncio.create_task(_collect(channel, said))
        line = rest = b""
        why = ""
        try:
            while True:
                async with asyncio.timeout(SILENCE_S):
                    data = await channel.stdout.read(1 << 16)
                if not data:
                    break
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._take(json.loads(line))
            async with asyncio.timeout(_END_S):
                ended = await channel.wait()
                await errors
            why = ssh.reason(ended, b"".join(said).decode(errors="replace"))
        except TimeoutError:
            why = f"it has not answered for {SILENCE_S:g} s."
        except (OSError, asyncssh.Error) as error:
            why = f"{str(error).rstrip('.') or type(error).__name__}."
        except (ValueError, TypeError, AttributeError, KeyError):
            why = f"its program does not speak netkv's protocol: {line[:80]!r}."
        finally:
            errors.cancel()
        self._ended(connection, why)

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message:
            if (process := self._processes.get(message["id"])) is not None:
                process.said(message)
                if process.returncode is not None:
                    del self._processes[process.number]
        elif (answer := self._answers.get(message.get("n", 0))) is not None and not answer.done():
            if "error" in message:
                answer.set_exception(NodeError(f"The host '{self.name}': {message['error']}"))
            else:
                answer.set_result(message["result"])

    def _ended(self, connection: asyncssh.SSHClientConnection, why: str) -> None:
        """The host is lost, unless this machine closes the connection."""
        self._channel = None
        connection.abort()
        text = f"The host '{self.name}' is lost: {why}"
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(NodeError(text))
                # The waiting task may have been cancelled; then nothing reads the exception.
                answer.exception()
        had, self._processes = self._processes, {}
        if not self._closing:
            self._why = f"its host '{self.name}' is lost."
            if had:
                self._lost(self.name, text)
        for process in had.values():
            process.ended(_LOST)

    async def _drop(self) -> None:
        """Closes the connection; the host's program ends with it."""
        for led in self._led.values():
            led.close()
        self._led = {}
        channel, self._channel = self._channel, None
        if channel is not None:
            with contextlib.suppress(OSError, asyncssh.Error, TimeoutError):
                channel.stdin.write_eof()
                async with asyncio.timeout(_END_S):
                    await channel.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        if self._connection is not None:
            self._connection.abort()
            with contextlib.suppress(OSError, asyncssh.Error):
                await self._connection.wait_closed()
            self._connection = None
        for process in self._processes.values():
            process.ended(_LOST)
        self._processes = {}


async def _collect(channel: asyncssh.SSHClientProcess[bytes], said: list[bytes]) -> None:
    """Keeps the last of what the program says on stderr."""
    while data := await channel.stderr.read(4096):
        said.append(data)
        del said[:-4]
