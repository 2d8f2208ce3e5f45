"""The HTTP server of the application, on 127.0.0.1."""

from __future__ import annotations

import asyncio
import socket
import sys
import webbrowser
from collections.abc import Callable
from types import FrameType

import uvicorn

from netkv.api.app import create_app
from netkv.errors import NetkvError
from netkv.runs import Store

HOST = "127.0.0.1"


class _Server(uvicorn.Server):
    """A server that ends the event streams at exit, because it waits for open responses."""

    def __init__(
        self, config: uvicorn.Config, closing: asyncio.Event, listening: Callable[[], object]
    ) -> None:
        """`listening` is called when the server answers."""
        super().__init__(config)
        self._closing = closing
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._listening()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._closing.set()
        super().handle_exit(sig, frame)


def run(port: int, browser: bool = False) -> None:
    """Serve until SIGINT or SIGTERM; raises `NetkvError` if the port is taken."""
    with Store() as store, bound(port) as listener:
        url = f"http://{HOST}:{listener.getsockname()[1]}"
        closing = asyncio.Event()
        config = uvicorn.Config(
            create_app(store, closing),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=5,
        )

        def listening() -> None:
            print(f"Dashboard: {url}  (Ctrl-C ends it)", file=sys.stderr, flush=True)
            if browser:
                webbrowser.open(url)

        server = _Server(config, closing, listening)
        try:
            server.run(sockets=[listener])
        except KeyboardInterrupt:
            # After its shutdown, uvicorn raises the signal again.
            return


def bound(port: int) -> socket.socket:
    """A socket bound to a port of 127.0.0.1 (0: a free one); raises `NetkvError` if it is taken."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise NetkvError(
            f"Port {port} on {HOST} cannot be used: {error.strerror}. "
            f"'netkv serve --port 0' takes a free one."
        ) from error
    return listener
