"""What the routes of the API share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from netkv.api.feed import Feed
from netkv.api.jobs.queue import Queue
from netkv.runs import Store


@dataclass(frozen=True)
class Context:
    """The parts of one server."""

    store: Store
    jobs: Queue
    feed: Feed
    closing: asyncio.Event
    """Set when the server ends; event streams end then."""
