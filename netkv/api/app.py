"""The web application: the API below `/api/v1`, and the files of the dashboard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Match, Router
from starlette.types import Receive, Scope, Send

from netkv import __version__
from netkv.api import description, pages, problems
from netkv.api.access import Access
from netkv.api.context import Context
from netkv.api.feed import Feed
from netkv.api.guard import Guard
from netkv.api.jobs.queue import Queue
from netkv.api.labs_feed import LabsFeed
from netkv.api.limits import MAX_WAITING_CHECKS
from netkv.api.routes import (
    benchmarks,
    comparisons,
    designs,
    evaluations,
    figures,
    health,
    jobs,
    labs,
    metrics,
    programs,
    runs,
    scenarios,
    schemes,
    tools,
)
from netkv.api.sandbox import Sandbox
from netkv.runs import Store

PREFIX = "/api/v1"
_ROUTES = (
    runs,
    comparisons,
    figures,
    evaluations,
    scenarios,
    jobs,
    designs,
    programs,
    schemes,
    benchmarks,
    tools,
    labs,
    health,
)


class Application:
    """The application of one server: its parts and its guard, in front of the routes."""

    def __init__(self, context: Context, access: Access) -> None:
        self.context = context
        self._shared = application()
        # In front of FastAPI's own middleware, it sees responses to exceptions, too.
        self._guard = Guard(self._shared, access, self._serves)
        self._router = Router(lifespan=self._lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Start and end with the server, and answer its requests."""
        if scope["type"] == "lifespan":
            await self._router.lifespan(scope, receive, send)
        elif scope["type"] == "http":
            scope.setdefault("state", {})["context"] = self.context
            await self._guard(scope, receive, send)

    @asynccontextmanager
    async def _lifespan(self, _app: object) -> AsyncIterator[None]:
        self.context.jobs.start()
        yield
        self.context.closing.set()
        self.context.labs.close()
        self.context.checks.close()
        await asyncio.to_thread(self.context.jobs.close)

    def _serves(self, scope: Scope) -> bool:
        """Whether there is this method of this path."""
        return any(route.matches(scope)[0] is Match.FULL for route in self._shared.routes)


def create_app(
    store: Store, closing: asyncio.Event | None = None, access: Access | None = None
) -> Application:
    """The application for a store. Event streams end when `closing` is set.

    `access`: which requests are accepted; by default those of a server on 127.0.0.1.
    """
    closing = closing or asyncio.Event()
    access = access or Access()
    queue = Queue(store)
    labs_feed = LabsFeed()
    feed = Feed(store, queue, labs_feed, closing)
    guarded = access.token is not None
    checks = Sandbox(waiting=MAX_WAITING_CHECKS, keeps=True)
    return Application(Context(store, queue, feed, labs_feed, closing, checks, guarded), access)


@cache
def application() -> FastAPI:
    """The routes. They take long to build, so all servers of the process share them: what belongs
    to one server comes with each request."""
    app = FastAPI(
        title="netkv",
        version=__version__,
        summary="A testbed for in-network acceleration of key-value stores.",
        openapi_url=f"{PREFIX}/openapi.json",
        # FastAPI's documentation pages load their scripts from the network; ours is web/docs.html.
        docs_url=None,
        redoc_url=None,
        # Names of operations are names of functions, so that a generated client has them, too.
        generate_unique_id_function=_operation,
        responses=problems.responses(422),
    )
    problems.install(app)
    for module in _ROUTES:
        app.include_router(module.routes, prefix=PREFIX)
    app.include_router(metrics.routes)
    description.install(app)
    app.router.routes.extend(pages.routes())
    return app


def openapi() -> dict[str, Any]:
    """The OpenAPI document, without a server."""
    return application().openapi()


def _operation(route: APIRoute) -> str:
    return route.name
