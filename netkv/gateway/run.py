"""`netkv gateway`: serves a lab until a signal arrives or the lab goes down."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netkv import __version__, schemes
from netkv.client import NotConnected, place
from netkv.errors import NetkvError
from netkv.gateway.address import Address, resolved
from netkv.live import state

if TYPE_CHECKING:
    from netkv._engine import Gateway

MAX_CLIENTS = 1000
UNDER_WAY = 1024
"""Limit of concurrent operations on the rack, for all clients together."""
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


@dataclass(frozen=True)
class Listening:
    """A gateway that serves clients."""

    lab: str
    scheme: str
    host: str
    port: int


def run(
    options: Options, listening: Callable[[Listening], None], warn: Callable[[str], None]
) -> None:
    """Serves until SIGINT or SIGTERM; calls `listening` when clients can connect, and `warn` with a
    sentence when a connection speaks another protocol, once.

    Raises `NetkvError` if no lab is up, if it has no free place, and when it has gone down.
    """
    named = options.lab
    lab = place.find(Path(named) if named is not None and "/" in named else named)
    address = resolved(options.host, options.port, allow_remote=options.allow_remote)
    taken = asyncio.run(place.take(lab.name, options.timeout))
    try:
        gateway = _bound(taken, address, options)
        with _stopped_by_signals(gateway):
            taken.session.start()
            gateway.start()
            listening(Listening(taken.lab, taken.scheme, gateway.host, gateway.port))
            report = taken.report("gateway")
            try:
                _watch(lab, gateway, warn)
            finally:
                report.close()
    finally:
        taken.session.stop()


def _bound(taken: place.Place, address: Address, options: Options) -> Gateway:
    from netkv import _engine

    settings = {
        "address": str(address),
        "lab": taken.lab,
        "scheme": taken.scheme,
        "version": __version__,
        "servers": taken.servers,
        "named_keys": schemes.get(taken.scheme).traits.multigets,
        "timeout_s": options.timeout,
        "separate_mset": options.separate_mset,
        "max_clients": MAX_CLIENTS,
        "under_way": UNDER_WAY,
    }
    try:
        return _engine.Gateway(taken.session, json.dumps(settings))
    except OSError as error:
        why = str(error) if error.errno is None else os.strerror(error.errno)
        raise NetkvError(
            f"Port {address.port} on {options.host} cannot be used: {why}. "
            f"'netkv gateway --port 0' takes a free one."
        ) from error


def _watch(lab: state.Lab, gateway: Gateway, warn: Callable[[str], None]) -> None:
    """Returns when the gateway has ended. Ends it when its lab goes down, even if a new lab has the
    same name."""
    broken, told = None, False
    while not select.select([gateway], [], [], _WATCH_SECONDS)[0]:
        now = state.load(lab.name)
        if broken is None and (now is None or not now.alive or now.created != lab.created):
            broken = f"The lab '{lab.name}' is not up any more, so the gateway has ended."
            gateway.stop()
        if gateway.foreign() and not told:
            told = True
            warn(
                "Warning: a connection was closed because it spoke another protocol than that of "
                "Redis. A web page may try to use the gateway; INFO counts such connections "
                "(netkv_foreign_connections)."
            )
    if broken or gateway.failure():
        raise NotConnected(broken or gateway.failure())


@contextlib.contextmanager
def _stopped_by_signals(gateway: Gateway) -> Iterator[None]:
    """SIGINT and SIGTERM end the gateway instead of interrupting the process."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: gateway.stop()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
