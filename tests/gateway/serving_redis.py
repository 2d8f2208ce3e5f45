"""A gateway in a thread of its own, and connections to it over plain sockets."""

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
    """A running gateway and the rack behind it."""

    rack: MemoryRack
    gateway: Gateway
    loop: asyncio.AbstractEventLoop
    thread: threading.Thread
    failure: NetkvError | None = None
    """The error that has ended the gateway."""

    @property
    def port(self) -> int:
        return self.gateway.info.port

    def connect(self) -> Plain:
        return Plain(socket.create_connection(("127.0.0.1", self.port), PATIENCE_S))

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.gateway.stop)

    def join(self) -> None:
        """Waits for the end of the gateway."""
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()


class Plain:
    """A connection that sends bytes unchanged."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._reader = hiredis.Reader()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def reply(self) -> object:
        """The next reply; raises EOFError if the gateway closes the connection."""
        while (found := self._reader.gets()) is False:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError
            self._reader.feed(data)
        return found

    def call(self, *words: bytes | str) -> object:
        self.send(request(*words))
        return self.reply()

    def array(self, *words: bytes | str) -> list[Any]:
        """The reply to a request, which must be an array."""
        reply = self.call(*words)
        assert isinstance(reply, list)
        return reply

    def rest(self) -> bytes:
        """All bytes until the gateway closes the connection."""
        found = b""
        while data := self.socket.recv(65536):
            found += data
        return found

    def __enter__(self) -> Plain:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()


def request(*words: bytes | str) -> bytes:
    """A request in the Redis protocol."""
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
            served[0].failure = error

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(PATIENCE_S)
    try:
        yield served[0]
    finally:
        rack.answers.set()
        with contextlib.suppress(RuntimeError):  # its event loop has ended
            served[0].stop()
        served[0].join()
