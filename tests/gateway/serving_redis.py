"""A gateway in a thread of its own, and a plain socket to talk to it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import hiredis

from netkv.errors import NetkvError
from netkv.gateway.server import Gateway, bound
from tests.gateway.memory_rack import MemoryRack
from tests.waiting import PATIENCE_S


@dataclass
class Served:
    """A gateway that listens."""

    rack: MemoryRack
    gateway: Gateway
    loop: asyncio.AbstractEventLoop
    thread: threading.Thread
    broken: NetkvError | None = None
    """Why it has ended by itself."""

    @property
    def port(self) -> int:
        return self.gateway.info.port

    def connect(self) -> Plain:
        return Plain(socket.create_connection(("127.0.0.1", self.port), PATIENCE_S))

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.gateway.stop)

    def join(self) -> None:
        """Waits until it has ended."""
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()


class Plain:
    """A connection over which bytes go as they are."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._reader = hiredis.Reader()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def reply(self) -> object:
        """The next reply; raises EOFError if the gateway closes instead."""
        while (found := self._reader.gets()) is False:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError
            self._reader.feed(data)
        return found

    def ask(self, *words: bytes | str) -> object:
        self.send(request(*words))
        return self.reply()

    def array(self, *words: bytes | str) -> list[Any]:
        """The reply to a request, which has to be an array."""
        reply = self.ask(*words)
        assert isinstance(reply, list)
        return reply

    def rest(self) -> bytes:
        """Everything until the gateway closes."""
        found = b""
        while data := self.socket.recv(65536):
            found += data
        return found

    def __enter__(self) -> Plain:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()


def request(*words: bytes | str) -> bytes:
    """A request as client libraries write it."""
    data = [word.encode() if isinstance(word, str) else word for word in words]
    return b"*%d\r\n" % len(data) + b"".join(b"$%d\r\n%b\r\n" % (len(d), d) for d in data)


@contextlib.contextmanager
def serving(rack: MemoryRack | None = None, **options: Any) -> Iterator[Served]:
    """Serves a rack in memory until the end of the block."""
    rack = rack or MemoryRack()
    ready = threading.Event()
    served: list[Served] = []

    async def serve() -> None:
        gateway = Gateway(rack, lab="lab", timeout=1.0, **options)
        await gateway.start(bound("127.0.0.1", 0, allow_remote=False))
        served.append(Served(rack, gateway, asyncio.get_running_loop(), thread))
        ready.set()
        try:
            await gateway.serve()
        except NetkvError as error:
            served[0].broken = error

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(PATIENCE_S)
    try:
        yield served[0]
    finally:
        rack.answers.set()
        with contextlib.suppress(RuntimeError):  # it has ended by itself
            served[0].stop()
        served[0].join()
