"""Runs in progress, and the event stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.sse import EventSourceResponse, ServerSentEvent

from netkv.api.context import Context
from netkv.api.models.activity import Activity, RunRequest
from netkv.api.problems import responses
from netkv.api.stream import follow, parse_cursor


def router(context: Context) -> APIRouter:
    """The routes of runs in progress."""
    routes = APIRouter(tags=["activity"])
    launcher = context.launcher

    @routes.get("/activity")
    def show_activity() -> Activity:
        """The runs in progress, if any."""
        return launcher.activity()

    @routes.post("/activity", status_code=202, responses=responses(409, 422))
    def start_run(request: RunRequest) -> Activity:
        """Start a scenario, as `netkv scenario run` does. Only one can run at a time."""
        return launcher.start(request)

    @routes.delete("/activity", status_code=202, responses=responses(409))
    def stop_run() -> Activity:
        """Stop the scenario in progress, as Ctrl-C does. Its unfinished runs are cancelled."""
        return launcher.stop()

    @routes.get("/stream", response_class=EventSourceResponse)
    async def stream(
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> AsyncIterator[ServerSentEvent]:
        """New samples and events of all runs, and changes of the activity.

        The stream begins after the message `Last-Event-ID`; without this header, it begins now.
        """
        cursor = parse_cursor(last_event_id)
        async for message in follow(context.store, launcher, cursor, context.closing):
            yield message

    return routes
