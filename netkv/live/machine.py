"""A machine on which nodes of a live rack are processes: this one, or a host of the lab.

Configurations of nodes name files of the rack by a `Path` of this machine. A machine replaces it by
a path of its own, and gets the file if there is one.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from netkv.live import cores, node_start, ports, redis_start
from netkv.live.redis_start import Fsync
from netkv.processes import Identity, identity

LOOPBACK = "127.0.0.1"


class Input(Protocol):
    """The stdin of a process."""

    def write(self, data: bytes, /) -> None: ...

    def close(self) -> None: ...


class Process(Protocol):
    """A process on some machine, as `asyncio.subprocess.Process` is one of this machine."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    @property
    def stdin(self) -> Input | None: ...

    @property
    def stdout(self) -> asyncio.StreamReader | None: ...

    def kill(self) -> None: ...

    def terminate(self) -> None: ...

    async def wait(self) -> int: ...


class Machine(ABC):
    """One machine. Its methods raise `NodeError` if it cannot be reached."""

    name: str | None
    """Of a host of the lab; None for this machine."""
    ring: str | None = None
    """The ring of interfaces that are cabled to a switch elsewhere; None on this machine, where the
    node of the switch has them."""

    @property
    @abstractmethod
    def address(self) -> str | None:
        """The IP address at which others reach it; None for this machine, which each host sees at
        an address of its own (`near_end`)."""

    @property
    @abstractmethod
    def near_end(self) -> str:
        """The IP address at which it reaches this machine."""

    @abstractmethod
    async def connect(self) -> None:
        """Makes it ready for processes, if it is not."""

    @abstractmethod
    async def free_ports(self, count: int) -> list[int]:
        """Ports that were free a moment ago (`netkv.live.ports`)."""

    @abstractmethod
    async def reach(self, port: int) -> str:
        """`IP:PORT` that leads from this machine to a TCP port of that one's loopback."""

    @abstractmethod
    async def spawn(self, kind: str, log: Path) -> Process:
        """Starts a node of a kind (`netkv.live.node`), which ends when its stdin or this process
        does. What it says on stderr gets into the log, a file of this machine."""

    @abstractmethod
    async def spawn_redis(self, directory: Path, fsync: Fsync, log: Path) -> Process:
        """Starts a redis-server with its records in a directory of the rack, in which its socket
        is on this machine, too. Raises `NetkvError` if it is not installed there."""

    @abstractmethod
    async def pin(self, process: Process, wanted: Sequence[int]) -> None:
        """Lets a process that was just started run on these cores only; none: on all."""

    @abstractmethod
    async def own_paths(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration of a node there, as JSON."""

    @abstractmethod
    async def delete(self, directory: Path) -> None:
        """Deletes a node's files, which a configuration has named."""

    @abstractmethod
    async def close(self) -> None:
        """Ends what still runs there, and deletes the rack's files."""

    def identity(self, process: Process) -> Identity | None:  # noqa: ARG002
        """What tells the process from a later one with its id; None on other machines."""
        return None

    def why_ended(self) -> str | None:
        """Why all its processes have ended, if it is the reason: the end of a sentence."""
        return None


class Here(Machine):
    """This machine."""

    name = None
    address = None
    near_end = LOOPBACK

    async def connect(self) -> None:
        pass

    async def free_ports(self, count: int) -> list[int]:
        return ports.free_ports(count)

    async def reach(self, port: int) -> str:
        return f"{LOOPBACK}:{port}"

    async def spawn(self, kind: str, log: Path) -> Process:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            return await node_start.start(kind, file)

    async def spawn_redis(self, directory: Path, fsync: Fsync, log: Path) -> Process:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            return await redis_start.start(directory, fsync, file)

    async def pin(self, process: Process, wanted: Sequence[int]) -> None:
        cores.pin(process.pid, wanted)

    async def own_paths(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return with_paths(config, str)

    async def delete(self, directory: Path) -> None:
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)

    async def close(self) -> None:
        pass

    def identity(self, process: Process) -> Identity | None:
        return identity(process.pid)


def with_paths(config: Mapping[str, Any], path: Callable[[Path], str]) -> dict[str, Any]:
    """A configuration as JSON, with a text for each `Path` in it."""

    def text(value: Any) -> str:
        if not isinstance(value, Path):
            raise TypeError(f"{value!r} is not JSON")
        return path(value)

    document: dict[str, Any] = json.loads(json.dumps(config, default=text))
    return document


HERE = Here()
