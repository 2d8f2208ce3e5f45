"""The web application: the API below `/api/v1`, and the files of the dashboard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import ASGIApp, Scope

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


class _Application(FastAPI):
    """An application behind a guard, which sees every response, those to exceptions included."""

    access = Access()

    def build_middleware_stack(self) -> ASGIApp:
        return Guard(super().build_middleware_stack(), self.access, self._serves)

    def _serves(self, scope: Scope) -> bool:
        """Whether there is this method of this path."""
        return any(route.matches(scope)[0] is Match.FULL for route in self.routes)


def create_app(
    store: Store, closing: asyncio.Event | None = None, access: Access | None = None
) -> FastAPI:
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
    context = Context(store, queue, feed, labs_feed, closing, checks, guarded)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        queue.start()
        yield
        context.closing.set()
        context.labs.close()
        checks.close()
        await asyncio.to_thread(queue.close)

    app = _Application(
        title="netkv",
        version=__version__,
        summary="A testbed for in-network acceleration of key-value stores.",
        openapi_url=f"{PREFIX}/openapi.json",
        # FastAPI's documentation pages load their scripts from the network; ours is web/docs.html.
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        # Names of operations are names of functions, so that a generated client has them, too.
        generate_unique_id_function=_operation,
        responses=problems.responses(422),
    )
    app.access = access
    app.state.checks = checks
    problems.install(app)
    for module in _ROUTES:
        app.include_router(module.router(context), prefix=PREFIX)
    app.include_router(metrics.router(context))
    description.install(app)
    app.router.routes.extend(pages.routes())
    return app


def openapi() -> dict[str, Any]:
    """The OpenAPI document, without a server."""
    with Store("sqlite://") as store:
        return create_app(store).openapi()


def _operation(route: APIRoute) -> str:
    return route.name
