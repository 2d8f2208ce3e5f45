"""The HTTP server of the application."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

import uvicorn

from netkv.api import access, limits, running, tls
from netkv.api.access import Access
from netkv.api.app import Application, create_app
from netkv.api.jobs import record
from netkv.api.protocol import Protocol
from netkv.errors import NetkvError
from netkv.runs import Store, overview

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

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        # uvicorn would raise the signal again after its shutdown, as if there were a second one.
        self._closing.set()
        self.should_exit = True


def run(
    port: int,
    browser: bool = False,
    *,
    host: str = HOST,
    allowed: Sequence[str] = (),
    guarded: bool = False,
    cert: Path | None = None,
    key: Path | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, which end the requests under way after some seconds.

    `allowed` are names of the host, `guarded` requires the token on a loopback address as well,
    `cert` and `key` are the files for TLS. Raises `NetkvError` if one of them cannot be used.
    """
    permitted = access.of(host, allowed, guarded=guarded)
    certificate = tls.checked(cert, key)
    with record.locked():
        pass  # a state directory that cannot be written is refused before the server starts
    with Store() as store, bound(port, permitted) as listener:
        scheme = "http" if certificate is None else "https"
        number = listener.getsockname()[1]
        url = f"{scheme}://{_shown(permitted)}:{number}"
        closing = asyncio.Event()
        app = create_app(store, closing, permitted)
        config = configuration(app, certificate)

        # Python must not end while this thread is in native code or has threads of its own.
        preparing = threading.Thread(target=_prepare, args=[app], name="prepare")

        def listening() -> None:
            print(f"Dashboard: {url}  (Ctrl-C ends it)", file=sys.stderr, flush=True)
            for sentence in _remarks(permitted, certificate):
                print(sentence, file=sys.stderr, flush=True)
            preparing.start()
            if browser:
                webbrowser.open(url)

        server = _Server(config, closing, listening)
        local = f"{scheme}://{_local(permitted)}:{number}"
        with running.announced(local, permitted.token is not None, certificate):
            server.run(sockets=[listener])
            if preparing.ident is not None:
                preparing.join()


def _prepare(app: Application) -> None:
    """Plans the scenarios and starts a process for checks, which take a second each, so that the
    first page need not wait for them."""
    with contextlib.suppress(NetkvError, OSError):
        overview.shipped()
        app.context.checks.warm()


def configuration(app: object, certificate: tls.Certificate | None = None) -> uvicorn.Config:
    """The settings of the HTTP server for an application."""
    return uvicorn.Config(
        app,  # type: ignore[arg-type]  # any ASGI application
        http=Protocol,
        ws="none",
        # Its warnings are about requests, so any client could fill the log with them.
        log_level="error",
        access_log=False,
        server_header=False,
        # Headers such as X-Forwarded-Proto would let a client choose the scheme of its request.
        proxy_headers=False,
        limit_concurrency=limits.MAX_CONNECTIONS,
        h11_max_incomplete_event_size=limits.MAX_HEADER,
        timeout_keep_alive=limits.KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=5,
        ssl_certfile=None if certificate is None else certificate.cert,
        ssl_keyfile=None if certificate is None else certificate.key,
    )


def bound(port: int, permitted: Access | None = None) -> socket.socket:
    """A socket bound to a port (0: a free one) of the address, by default 127.0.0.1.

    Raises `NetkvError` if it cannot be used.
    """
    address = (permitted or Access()).address
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    # asyncio sends small answers at once (TCP_NODELAY) only if the protocol is named.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(socket.getaddrinfo(str(address), port, family, socket.SOCK_STREAM)[0][4])
    except OSError as error:
        listener.close()
        raise NetkvError(
            f"Port {port} on {address} cannot be used: {error.strerror}. "
            f"'netkv serve --port 0' takes a free one."
        ) from error
    return listener


def _shown(permitted: Access) -> str:
    """The host in the URL for users: of all addresses the name of the machine."""
    address = permitted.address
    if address.is_unspecified:
        return socket.gethostname()
    return str(address) if address.version == 4 else f"[{address}]"


def _local(permitted: Access) -> str:
    """The host in the URL for programs of this machine."""
    if permitted.address.is_unspecified:
        return "127.0.0.1" if permitted.address.version == 4 else "[::1]"
    return _shown(permitted)


def _remarks(permitted: Access, certificate: tls.Certificate | None) -> list[str]:
    """What the operator must know about the address."""
    if permitted.token is None:
        return []
    sentences = ["Every request needs the token, which 'netkv token' prints."]
    if certificate is None and not permitted.address.is_loopback:
        sentences.append(
            "Warning: without --tls-cert and --tls-key, the token travels unencrypted: everyone "
            "who sees the packets of this network can use it."
        )
    return sentences
