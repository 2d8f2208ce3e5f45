"""Models of the state of server and machine."""

from __future__ import annotations

from typing import Literal

from netkv.api.models.base import Model


class Health(Model):
    """The state of the server."""

    status: Literal["ok", "degraded"]
    """`degraded`: the store cannot be used; `problem` has the reason."""
    version: str
    """Of netkv."""
    uptime: float
    """Seconds since the start of the server."""
    store: bool
    """Whether the run store answers."""
    problem: str | None
    jobs: dict[str, int]
    """Number of jobs by state: `queued`, `running`, ..."""
    job: str | None
    """Id of the job in progress."""
    labs: int
    """Labs that are up, racks of live runs included."""
    token: bool
    """Whether requests need the token. A browser has it in a cookie; `POST /logout` clears it."""


class MachineCheck(Model):
    """A finding of `netkv doctor`."""

    name: str
    status: Literal["ok", "warn", "fail"]
    """`fail`: runs will not work."""
    text: str
    hint: str
    """How to correct it."""


class Doctor(Model):
    """Whether netkv can run on this machine."""

    healthy: bool
    checks: list[MachineCheck]
