"""The gateway: the listener, the connections, and the shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from ipaddress import ip_address

from netkv.client import NotConnected
from netkv.errors import NetkvError, UsageError
from netkv.gateway.backend import Backend, Rack
from netkv.gateway.client import GatewayInfo
from netkv.gateway.commands import PLAIN, WITH_MSET
from netkv.gateway.connection import Connection
from netkv.gateway.permits import Permits

MAX_CLIENTS = 1000
UNDER_WAY = 1024
"""Limit of concurrent operations on the rack, for all clients together."""
_BACKLOG = 512
"""Connections that wait for accept: `redis-benchmark -c 500` opens 500 at once."""
_DRAIN_MARGIN = 1.5
"""Seconds that clients have to read their last replies."""


class Gateway:
    """Serves a rack to Redis clients until it is stopped."""

    def __init__(
        self,
        backend: Backend,
        *,
        lab: str,
        timeout: float,
        max_clients: int = MAX_CLIENTS,
        under_way: int = UNDER_WAY,
        separate_mset: bool = False,
    ) -> None:
        """`timeout` is that of one operation of the backend. With `separate_mset`, MSET is accepted
        and writes each key separately.
        """
        self._table = WITH_MSET if separate_mset else PLAIN
        self.info = GatewayInfo(lab, backend.scheme, "", 0, max_clients)
        self._rack = Rack(backend, self.info.counters)
        self._permits = Permits(under_way)
        self._timeout = timeout
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._empty = asyncio.Event()
        self._stop = asyncio.Event()
        self._broken: NetkvError | None = None

    async def start(self, listener: socket.socket) -> None:
        """Start to listen."""
        self.info.host, self.info.port = listener.getsockname()[:2]
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(self.info, self._table, self._rack, self._permits, self),
            sock=listener,
            backlog=_BACKLOG,
        )

    def stop(self, broken: NetkvError | None = None) -> None:
        """End `serve`, which raises `broken` after the shutdown."""
        self._broken = self._broken or broken
        self._stop.set()

    async def serve(self) -> None:
        """Wait for `stop`; then accept no more requests, send the pending replies, and close.

        Raises the error that was given to `stop`.
        """
        assert self._server is not None
        await self._stop.wait()
        self._server.close()
        for connection in list(self._connections):
            connection.drain()
        if self._connections:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._timeout + _DRAIN_MARGIN):
                    await self._empty.wait()
        for connection in list(self._connections):
            connection.abort()
        if self._broken is not None:
            raise self._broken

    def enter(self, connection: Connection) -> str | None:
        """Add a connection; returns an error message if it is refused."""
        counters = self.info.counters
        counters.connections += 1
        self._connections.add(connection)
        counters.connected = len(self._connections)
        self._empty.clear()
        if self._stop.is_set():
            return "ERR the gateway is shutting down"
        if counters.connected > self.info.max_clients:
            counters.rejected += 1
            return "ERR max number of clients reached"
        return None

    def leave(self, connection: Connection) -> None:
        """Remove a closed connection."""
        self._connections.discard(connection)
        self.info.counters.connected = len(self._connections)
        if not self._connections:
            self._empty.set()

    def lost(self, error: NotConnected) -> None:
        """Stop, because the rack is permanently unreachable."""
        self.stop(error)


def bound(host: str, port: int, *, allow_remote: bool) -> socket.socket:
    """A socket bound to an address (port 0: a free one).

    Raises `UsageError` if other machines could reach it and that is not allowed, and `NetkvError`
    if the address cannot be used.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host or "0.0.0.0", port, type=socket.SOCK_STREAM
        )[0]
    except OSError as error:
        raise UsageError(
            f"'{host}' is not an address of this machine: {error.strerror}. Use 127.0.0.1 or ::1."
        ) from error
    if not ip_address(str(address[0]).partition("%")[0]).is_loopback and not allow_remote:
        raise UsageError(
            f"The gateway has no password, and other machines could reach {host}. Use 127.0.0.1, "
            f"or --allow-remote if everyone who can reach it may read and write the rack."
        )
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise NetkvError(
            f"Port {port} on {host} cannot be used: {error.strerror}. "
            f"'netkv gateway --port 0' takes a free one."
        ) from error
    return listener


@contextlib.contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """SIGINT and SIGTERM call `stop` instead of interrupting the process."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
