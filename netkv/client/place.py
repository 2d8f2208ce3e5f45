"""The lab that is up, and a place in it for an external client."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netkv.client.errors import NotConnected, Rejected
from netkv.labs import daemon
from netkv.live import state
from netkv.live.external_clients import Report

if TYPE_CHECKING:
    from netkv._engine import Session

MAX_TIMEOUT_S = 300.0
"""Servers remember requests for so long (docs/internals/architecture.md)."""
_WAIT_S = 0.5
"""Seconds to wait for a place: the lab may hold one briefly (`netkv.live.stale_clients`)."""
_POLL = 0.05


@dataclass(frozen=True)
class Place:
    """The place that this process has taken."""

    session: Session
    """Not started."""
    number: int
    """Of the place, from 1."""
    directory: Path
    """Of the lab."""
    lab: str
    scheme: str
    servers: int
    timeout: float

    def report(self, program: str | None = None) -> Report:
        """Begins to report the frames of the session to the lab; to be closed before its end."""
        return Report(self.directory, self.number, self.session.statistics, program)


async def take(lab: str | Path | None, timeout: float) -> Place:  # noqa: ASYNC109 (of operations)
    """Takes a free place in a lab; raises `NotConnected` if there is no lab or no free place."""
    if not 0 < timeout <= MAX_TIMEOUT_S:
        raise Rejected(
            f"A time-out of {timeout:g} s is not possible: it is more than 0 and at most "
            f"{MAX_TIMEOUT_S:g} s."
        )
    found = find(lab)
    if not found.external_clients:
        raise NotConnected(
            f"The lab '{found.name}' has no places for programs: bring it up with "
            f"'lab.external_clients', e.g. 'netkv up --set lab.external_clients=4' (a scheme may "
            f"have room for few clients, those of the load included: 'netkv scheme show NAME')."
        )
    loop = asyncio.get_running_loop()
    end = loop.time() + _WAIT_S
    while (taken := _bind(found.external_clients, timeout)) is None:
        if loop.time() > end:
            raise NotConnected(
                f"All {len(found.external_clients)} places for programs in the lab "
                f"'{found.name}' are taken: close another client, or bring the lab up with more "
                f"('lab.external_clients', up to 16)."
            )
        await asyncio.sleep(_POLL)
    spec = found.spec
    servers = int(spec["lab"]["servers"])
    return Place(*taken, found.directory, found.name, str(spec["scheme"]), servers, timeout)


def find(lab: str | Path | None) -> state.Lab:
    """The lab of that name or directory, or the one that is up; raises `NotConnected`.

    Without a name that is the default lab of `netkv up`, or the only one.
    """
    if isinstance(lab, Path):
        if lab.resolve().parent != state.labs().resolve():
            raise NotConnected(
                f"'{lab}' is not the directory of a lab; labs are in '{state.labs()}' (NETKV_HOME)."
            )
        lab = lab.name
    up = [name for name in state.names() if (each := state.load(name)) is not None and each.alive]
    if lab is None:
        lab = up[0] if len(up) == 1 else daemon.DEFAULT_LAB
    found = state.load(lab) if lab in up else None
    if found is None:
        others = f" Labs that are up: {', '.join(up)}." if up else ""
        raise NotConnected(f"No lab '{lab}' is up: 'netkv up {lab}' brings it up.{others}")
    if found.state not in state.UP:
        raise NotConnected(f"The lab '{lab}' is not up yet: it is {found.state}.")
    return found


def _bind(places: list[dict[str, Any]], timeout: float) -> tuple[Session, int] | None:
    """A session at the first free place, and the number of the place, from 1."""
    from netkv import _engine

    for number, place in enumerate(places, start=1):
        try:
            return _engine.Session(json.dumps({**place, "deadline_s": timeout})), number
        except OSError as error:
            if "in use" not in str(error):
                raise NotConnected(f"{error}.") from error
    return None
