"""The P4Runtime server inside the switch process: an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import errno
import threading
from typing import TYPE_CHECKING, Any

from netkv import resources
from netkv.p4rt.server import P4RuntimeServer

if TYPE_CHECKING:
    from netkv import _engine


class Served:
    """A running P4Runtime server. It starts without a program; the controller loads one."""

    def __init__(self, switch: _engine.Switch, node: _engine.SwitchNode, address: str) -> None:
        """`address` is host:port. Raises OSError (EADDRINUSE) if the port is in use."""
        self.address = ""
        self.failure: str | None = None
        """Why it failed."""
        self._server: P4RuntimeServer | None = None
        self._error: BaseException | None = None
        self._started = threading.Event()
        port = int(address.rpartition(":")[2])
        thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(switch, node, port)),
            daemon=True,
            name="p4runtime",
        )
        thread.start()
        self._started.wait()
        if isinstance(self._error, OSError):
            raise OSError(errno.EADDRINUSE, str(self._error)) from self._error
        if self._error is not None:
            raise self._error

    def statistics(self) -> dict[str, Any]:
        """Packets and digests to and from controllers."""
        return {} if self._server is None else dict(self._server.statistics())

    async def _serve(self, switch: _engine.Switch, node: _engine.SwitchNode, port: int) -> None:
        try:
            self._server = P4RuntimeServer(switch, node, include_dirs=[str(resources.path("p4"))])
            self.address = await self._server.start(port)
        except BaseException as error:
            self._error = error
            return
        finally:
            self._started.set()
        try:
            await asyncio.Event().wait()
        except BaseException as error:
            self.failure = f"the P4Runtime server ended: {error!r}"
            raise
