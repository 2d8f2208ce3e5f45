"""The state of the server, and checks of its machine."""

from __future__ import annotations

import time
from collections import Counter

from fastapi import APIRouter
from sqlalchemy.exc import SQLAlchemyError

from netkv import __version__
from netkv.api import labs
from netkv.api.context import Current
from netkv.api.models.health import Doctor, Health, MachineCheck
from netkv.errors import NetkvError

routes = APIRouter(tags=["health"])


@routes.get("/health")
def show_health(context: Current) -> Health:
    """Whether the server works; quick enough for a probe each second."""
    problem = None
    counts: dict[str, int] = {}
    current = None
    try:
        context.store.latest()
        active = context.jobs.jobs().active
        counts = dict(Counter(job.state for job in active))
        current = next((job.id for job in active if job.state != "queued"), None)
    except (NetkvError, SQLAlchemyError) as error:
        problem = f"The run store does not answer: {error}"
    return Health(
        status="ok" if problem is None else "degraded",
        version=__version__,
        uptime=time.monotonic() - context.started,
        store=problem is None,
        problem=problem,
        jobs=counts,
        job=current,
        labs=sum(lab.alive for lab in labs.every()),
        token=context.guarded,
    )


@routes.get("/doctor")
def check_machine() -> Doctor:
    """The checks of `netkv doctor`; they take some seconds."""
    from netkv.labs import doctor

    found = doctor.run()
    return Doctor(
        healthy=doctor.healthy(found),
        checks=[MachineCheck(**check.to_json()) for check in found],
    )
