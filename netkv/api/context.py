"""What the routes of the API share."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from netkv.api.feed import Feed
from netkv.api.jobs.queue import Queue
from netkv.api.labs_feed import LabsFeed
from netkv.api.sandbox import Sandbox
from netkv.runs import Store


@dataclass
class Waits:
    """Requests that wait for the end of a job."""

    count: int = 0


@dataclass(frozen=True)
class Context:
    """The parts of one server."""

    store: Store
    jobs: Queue
    feed: Feed
    labs: LabsFeed
    closing: asyncio.Event
    """Set when the server ends; event streams end then."""
    checks: Sandbox
    """Checks scenarios and options of requests."""
    guarded: bool
    """Whether requests need the token."""
    started: float = field(default_factory=time.monotonic)
    """When the server was started, on the monotonic clock."""
    waits: Waits = field(default_factory=Waits)


# `async`, because FastAPI runs other functions in a thread.
async def _of_request(request: Request) -> Context:
    context: Context = request.state.context
    return context


Current = Annotated[Context, Depends(_of_request)]
"""The parts of the server that has got the request, as parameter of a route."""
