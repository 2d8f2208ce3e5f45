"""Guests of a rack: programs that are its clients while it is up (`netkv.client`).

Rules
-----
1. A guest is there as long as it has its UDP address, and no longer: who binds it takes the place,
   and who dies gives it back.
2. Some schemes' clients say that they come and go (`KnowsClients`). For one that has died without a
   word, the rack does: else the controller would wait for ever for what only the dead can say.
   Leave is taken in its place and from its address, so never for a guest that lives.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Sequence
from typing import Any

_EVERY = 5.0
"""Seconds between two looks."""


class Farewells:
    """Takes leave for guests that have died (rule 2)."""

    def __init__(
        self,
        guests: Sequence[dict[str, Any]],
        present: Callable[[], list[int]],
    ) -> None:
        """`guests`: their places; `present` tells which clients the controller waits for."""
        self._guests = {int(guest["client"]): guest for guest in guests}
        self._present = present
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Starts looking."""
        self._task = asyncio.create_task(self._run(), name="farewells")

    async def stop(self) -> None:
        """Looks no more; nothing happens the second time."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_EVERY)
            for client in self._present():
                if client in self._guests:
                    await asyncio.to_thread(_take_leave, self._guests[client])


def _take_leave(guest: dict[str, Any]) -> None:
    from netkv import _engine

    # The address is taken: the guest lives, or another has come in its place.
    with contextlib.suppress(OSError):
        session = _engine.Session(json.dumps(guest))
        session.start()
        session.stop()
