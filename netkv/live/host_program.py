"""The program on a host of a lab: it starts nodes there, for a rack that is run elsewhere.

    netkv worker --nodes

It reads and writes a JSON document per line. A request `{"n": 7, "do": NAME, ...}` is answered with
`{"n": 7, "result": ...}` or `{"n": 7, "error": SENTENCE}`, requests one after the other:

- `begin` (folder): what this netkv is; the files of the rack will be in a folder of that name.
- `ports` (count): ports that are free on all addresses.
- `spawn` (id, kind): starts a node; returns its process id. `spawn-redis` (id, path, fsync): the
  same for a redis-server, with its records in a directory of the folder. `pin` (id, kind, cores).
- `file` (path, data): writes a file in the folder, from base64. `delete` (path): a directory in it.
- `short` (path): a short path of a directory, for sockets in it, until this process ends.
- `clock`: the time in nanoseconds since the epoch.
- `end`: deletes the folder.

Without an answer: `input` (id, text) for a node's stdin, `close` (id) of that, `kill` (id) and
`terminate` (id). It sends `{"id", "line"}` and `{"id", "log"}` for what nodes write to stdout and
stderr, and `{"id", "ended"}` with the exit status.

Rules
-----
1. It ends, and its nodes with it, when its input ends, and when nothing has come for `SILENCE_S`: a
   connection of which nobody has seen the end. So both sides send `{}` every `ALIVE_S`.
2. The folder stays if it ends otherwise than by `end`, because nodes that are started again need
   their records. Folders that no process has used for `_KEPT_S` are deleted at the next start.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import fcntl
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from netkv.errors import NetkvError
from netkv.executors.same_code import identity
from netkv.home import home
from netkv.live import cores, node_start, ports, redis_start
from netkv.machine import host as this_host

SILENCE_S = 10.0
ALIVE_S = 1.0
_KEPT_S = 24 * 3600.0
_FOLDER = re.compile(r"[a-z0-9-]{1,80}")
_LOG_BLOCK = 64 * 1024
_LOCK_POLL_S = 0.1


class HostProgram:
    """The nodes of one rack on this host."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send = send
        self._folder: Path | None = None
        self._opened: dict[Path, int] = {}
        """Descriptors of directories."""
        self._nodes: dict[int, asyncio.subprocess.Process] = {}
        self._readers: set[asyncio.Task[None]] = set()

    async def run(self, lines: asyncio.StreamReader) -> None:
        """Does what the lines say, until they end (rule 1)."""
        alive = asyncio.create_task(self._stay_alive())
        try:
            while True:
                async with asyncio.timeout(SILENCE_S):
                    line = await lines.readline()
                if not line:
                    return
                await self._take(json.loads(line))
        except TimeoutError:
            return
        finally:
            alive.cancel()
            for node in self._nodes.values():
                _kill(node)
            for descriptor in self._opened.values():
                os.close(descriptor)

    async def _stay_alive(self) -> None:
        while True:
            self._send({})
            await asyncio.sleep(ALIVE_S)

    async def _take(self, message: dict[str, Any]) -> None:
        match message:
            case {"n": int(number), "do": str(do), **rest}:
                try:
                    result = await self._answer(do, rest)
                except (NetkvError, OSError) as error:
                    self._send({"n": number, "error": str(error)})
                else:
                    self._send({"n": number, "result": result})
            case {"id": int(node), "do": str(do), **rest} if node in self._nodes:
                self._tell(self._nodes[node], do, rest)

    def _tell(self, node: asyncio.subprocess.Process, do: str, rest: dict[str, Any]) -> None:
        # A node that has ended is reported by its reader.
        with contextlib.suppress(OSError, RuntimeError):
            match do:
                case "input" if node.stdin is not None:
                    node.stdin.write(rest["text"].encode())
                case "close" if node.stdin is not None:
                    node.stdin.close()
                case "kill":
                    _kill(node)
                case "terminate":
                    node.terminate()

    async def _answer(self, do: str, rest: dict[str, Any]) -> Any:
        match do:
            case "begin":
                return await self._begin(rest["folder"])
            case "ports":
                return ports.free_ports(rest["count"], "0.0.0.0")
            case "spawn":
                started = await node_start.start(rest["kind"], asyncio.subprocess.PIPE)
                return self._started(rest["id"], started)
            case "spawn-redis":
                directory = self._inside(rest["path"])
                started = await redis_start.start(directory, rest["fsync"], asyncio.subprocess.PIPE)
                return self._started(rest["id"], started)
            case "pin":
                cores.check({rest["kind"]: rest["cores"]})
                cores.pin(self._nodes[rest["id"]].pid, rest["cores"])
            case "file":
                file = self._inside(rest["path"])
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(base64.b64decode(rest["data"]))
            case "delete":
                directory = self._inside(rest["path"])
                self._forget(directory)
                shutil.rmtree(directory, ignore_errors=True)
            case "short":
                return self._short(self._inside(rest["path"]))
            case "clock":
                return time.time_ns()
            case "end":
                assert self._folder is not None
                shutil.rmtree(self._folder, ignore_errors=True)
            case _:
                raise NetkvError(f"The program on a host does not know '{do}'.")
        return None

    async def _begin(self, folder: str) -> dict[str, Any]:
        if not _FOLDER.fullmatch(folder):
            raise NetkvError(f"'{folder}' cannot be the name of a folder.")
        parent = home() / "racks"
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _sweep(parent)
        self._folder = parent / folder
        self._folder.mkdir(exist_ok=True, mode=0o700)
        await self._lock(self._folder)
        return {"netkv": identity(), "machine": this_host(), "folder": str(self._folder)}

    async def _lock(self, folder: Path) -> None:
        """Waits until no other program has the folder: one whose connection was cut ends soon
        (rule 1), and its nodes with it. The kernel releases the lock when this process ends."""
        self._short(folder)
        deadline = time.monotonic() + 2 * SILENCE_S
        while True:
            try:
                return fcntl.flock(self._opened[folder], fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise NetkvError(f"Another program of this rack uses '{folder}'.") from None
            await asyncio.sleep(_LOCK_POLL_S)

    def _inside(self, path: str) -> Path:
        """A path of the rack's folder; it has no links."""
        assert self._folder is not None
        found = Path(os.path.normpath(self._folder / path))
        if self._folder not in found.parents:
            raise NetkvError(f"'{path}' is not in the folder of the rack.")
        return found

    def _short(self, directory: Path) -> str:
        """A path of a directory by its descriptor: that of a unix socket has at most 107 bytes."""
        if directory not in self._opened:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
            self._opened[directory] = os.open(directory, flags)
        return f"/proc/{os.getpid()}/fd/{self._opened[directory]}"

    def _forget(self, deleted: Path) -> None:
        """Closes descriptors of directories that are about to be deleted."""
        for directory in list(self._opened):
            if directory == deleted or deleted in directory.parents:
                os.close(self._opened.pop(directory))

    def _started(self, number: int, node: asyncio.subprocess.Process) -> int:
        self._nodes[number] = node
        reader = asyncio.create_task(self._read(number, node))
        self._readers.add(reader)
        reader.add_done_callback(self._readers.discard)
        return node.pid

    async def _read(self, number: int, node: asyncio.subprocess.Process) -> None:
        assert node.stdout is not None
        if node.stderr is None:
            # Not a node of netkv: all that it says is for the log.
            await self._read_log(number, node.stdout)
        else:
            await asyncio.gather(
                self._read_lines(number, node.stdout), self._read_log(number, node.stderr)
            )
        status = await node.wait()
        del self._nodes[number]
        self._send({"id": number, "ended": status})

    async def _read_lines(self, number: int, stdout: asyncio.StreamReader) -> None:
        while line := await stdout.readline():
            self._send({"id": number, "line": line.decode(errors="replace")})

    async def _read_log(self, number: int, stderr: asyncio.StreamReader) -> None:
        while text := await stderr.read(_LOG_BLOCK):
            self._send({"id": number, "log": text.decode(errors="replace")})


def _kill(node: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        node.kill()


def _sweep(parent: Path) -> None:
    """Deletes folders of racks that no process has used for long (rule 2)."""
    for folder in parent.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime < _KEPT_S:
                continue
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)


async def main() -> None:
    """Serves the rack at the other end of stdin and stdout."""
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=2 * node_start.LINE_LIMIT)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    # A pipe of which nobody reads must not stop this process: it would not notice the silence.
    transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, sys.stdout)
    own = HostProgram(lambda message: transport.write(json.dumps(message).encode() + b"\n"))
    await own.run(lines)
