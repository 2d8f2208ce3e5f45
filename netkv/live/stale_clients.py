"""Deregisters external clients (`netkv.client`) that crashed, with the controller.

An external client binds the UDP address of its cable as long as it runs. Clients of some schemes
register with the controller and deregister when they end (`RegistersClients`). A client that
crashed does not deregister, and the controller would wait for it forever. So the rack deregisters
it: it binds the client's address, which proves that its process has ended, and sends the
deregistration from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Sequence
from typing import Any

_INTERVAL_S = 5.0
"""Seconds between two checks."""


class StaleClientReaper:
    """Deregisters crashed clients, as a task of the running event loop."""

    def __init__(
        self,
        clients: Sequence[dict[str, Any]],
        registered: Callable[[], list[int]],
    ) -> None:
        """`clients`: configurations of the external clients; `registered`: the clients that are
        registered with the controller."""
        self._clients = {int(client["client"]): client for client in clients}
        self._registered = registered
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Starts checking."""
        self._task = asyncio.create_task(self._run(), name="stale-client reaper")

    async def stop(self) -> None:
        """Stops checking; a second call has no effect."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_INTERVAL_S)
            for client in self._registered():
                if client in self._clients:
                    await asyncio.to_thread(_deregister, self._clients[client])


def _deregister(client: dict[str, Any]) -> None:
    from netkv import _engine

    # If the address is in use, the client runs, or another one has bound the address since.
    with contextlib.suppress(OSError):
        session = _engine.Session(json.dumps(client))
        session.start()
        session.stop()
