"""`netkv gateway`: serves a lab until a signal arrives or the lab goes down."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from netkv.client import AsyncClient, place
from netkv.errors import NetkvError
from netkv.gateway.client import GatewayInfo
from netkv.gateway.server import Gateway, bound, stopped_by_signals
from netkv.lab import state

_WATCH_SECONDS = 0.25


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    lab: str | None = None
    host: str = "127.0.0.1"
    port: int = 6380
    timeout: float = 2.0
    allow_remote: bool = False
    separate_mset: bool = False


def run(options: Options, listening: Callable[[GatewayInfo], None]) -> None:
    """Serves until SIGINT or SIGTERM; calls `listening` when clients can connect.

    Raises `NetkvError` if no lab is up, if it has no free place, and when it has gone down.
    """
    asyncio.run(_run(options, listening))


async def _run(options: Options, listening: Callable[[GatewayInfo], None]) -> None:
    named = options.lab
    lab = place.find(Path(named) if named is not None and "/" in named else named)
    with bound(options.host, options.port, allow_remote=options.allow_remote) as listener:
        async with await AsyncClient.connect(lab.name, timeout=options.timeout) as client:
            gateway = Gateway(
                client,
                lab=lab.name,
                timeout=options.timeout,
                separate_mset=options.separate_mset,
            )
            with stopped_by_signals(gateway.stop):
                await gateway.start(listener)
                listening(gateway.info)
                watch = asyncio.create_task(_watch(lab, gateway))
                try:
                    await gateway.serve()
                finally:
                    watch.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await watch


async def _watch(lab: state.Lab, gateway: Gateway) -> None:
    """Stops the gateway when its lab goes down, even if a new lab has the same name."""
    while True:
        await asyncio.sleep(_WATCH_SECONDS)
        now = state.load(lab.name)
        if now is None or not now.alive or now.created != lab.created:
            gateway.stop(
                NetkvError(f"The lab '{lab.name}' is not up any more, so the gateway has ended.")
            )
            return
