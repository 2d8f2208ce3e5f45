"""Jobs: scenarios that run, wait or have ended; and the event stream."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from netkv.api import feed, limits
from netkv.api.context import Context, Current
from netkv.api.errors import ConflictError, LimitError
from netkv.api.jobs import requests
from netkv.api.models.jobs import ACTIVE, Job, JobLog, Jobs, ScenarioRequest
from netkv.api.problems import responses
from netkv.runs import walltime

_POLL = 0.2

JobId = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*$", max_length=100)]
Wait = Annotated[
    float,
    Query(
        ge=0,
        le=limits.MAX_WAIT_SECONDS,
        description="Answer when the job has ended, but after so many seconds at the latest.",
    ),
]


class EventStream(StreamingResponse):
    """Messages that are encoded already: with FastAPI's own class for event streams, each message
    would be encoded anew for each stream."""

    media_type = "text/event-stream"


routes = APIRouter(tags=["jobs"])


@routes.get("/jobs")
def list_jobs(context: Current) -> Jobs:
    """All active jobs, those of terminals included, and the newest ended ones."""
    return context.jobs.jobs()


@routes.post("/jobs", status_code=202, responses=responses(422, 429))
async def start_job(
    context: Current, client: Request, request: ScenarioRequest, wait: Wait = 0.0
) -> Job:
    """Run a scenario, as `netkv scenario run` does. One job runs at a time; others queue."""
    _check_room_to_wait(context, wait)
    job = await run_in_threadpool(_submit, context, request)
    return await _waited(context, job.id, wait, client)


@routes.get("/jobs/{job_id}", responses=responses(404, 429))
async def show_job(context: Current, client: Request, job_id: JobId, wait: Wait = 0.0) -> Job:
    """A job with its plan and all its runs."""
    _check_room_to_wait(context, wait)
    return await _waited(context, job_id, wait, client)


@routes.delete("/jobs/{job_id}", status_code=202, responses=responses(404, 409))
async def cancel_job(context: Current, client: Request, job_id: JobId, wait: Wait = 0.0) -> Job:
    """Cancel a job, as Ctrl-C does. Its unfinished run is stored as cancelled."""
    await asyncio.to_thread(context.jobs.cancel, job_id)
    return await _waited(context, job_id, wait, client)


@routes.get("/jobs/{job_id}/result", responses=responses(404, 409))
def show_result(context: Current, job_id: JobId) -> dict[str, Any]:
    """The document that the command prints with `--json`."""
    record = context.jobs.record(job_id)
    result = record.result()
    if result is None:
        raise ConflictError(f"Job {job_id} has no result: it is {record.state}.")
    return result


@routes.get("/jobs/{job_id}/log", responses=responses(404))
def show_log(context: Current, job_id: JobId) -> JobLog:
    """The end of the messages of the command."""
    return JobLog(text=context.jobs.record(job_id).log())


def _check_room(context: Current) -> None:
    if context.feed.subscribers >= feed.MAX_SUBSCRIBERS:
        raise LimitError(
            f"{context.feed.subscribers} event streams are open, which is the limit. "
            f"Close some pages."
        )


@routes.get(
    "/stream",
    response_class=EventStream,
    responses=responses(429),
    dependencies=[Depends(_check_room)],
)
async def stream(
    context: Current,
    last_event_id: Annotated[str | None, Header()] = None,
    after: Annotated[
        str | None, Query(max_length=40, description="The same, for a new EventSource.")
    ] = None,
    labs: Annotated[bool, Query(description="Whether to send what is new about labs.")] = False,
) -> EventStream:
    """New samples and events of all runs, and changes of jobs.

    The stream begins after the message `Last-Event-ID`; without this header, it begins now.
    Messages are `jobs`, `sample`, `event`, and `dropped` if the stream was not read. With
    `labs`, also `labs`: once a second the state of all labs and their new samples.
    """
    messages = context.feed.follow(feed.parse_cursor(last_event_id or after), labs)
    # A proxy must not collect messages before it passes them on.
    return EventStream(_encoded(messages), headers={"X-Accel-Buffering": "no"})


def _check_room_to_wait(context: Context, seconds: float) -> None:
    waiting = context.waits.count
    if seconds and waiting >= limits.MAX_WAITING:
        raise LimitError(
            f"{waiting} requests wait for jobs, which is the limit. Ask without 'wait'."
        )


async def _waited(context: Context, job_id: str, seconds: float, client: Request) -> Job:
    end = time.monotonic() + seconds
    context.waits.count += 1 if seconds else 0
    try:
        while True:
            job = await asyncio.to_thread(context.jobs.job, job_id)
            ended = job.state not in ACTIVE or context.closing.is_set()
            if ended or time.monotonic() >= end or await client.is_disconnected():
                return job
            await asyncio.sleep(_POLL)
    finally:
        context.waits.count -= 1 if seconds else 0


async def _encoded(messages: AsyncIterator[feed.Message | None]) -> AsyncIterator[bytes]:
    """Messages as bytes, and a comment for a sign of life."""
    async for message in messages:
        yield b": keep-alive\n\n" if message is None else message.encoded


def _submit(context: Context, request: ScenarioRequest) -> Job:
    scenario = context.checks.run(requests.scenario, request, "The check")
    history = walltime.History(context.store.timings(scenario.name))
    text = requests.own_text(request)
    return context.jobs.submit(
        title=scenario.name,
        request=request.model_dump(mode="json", exclude_defaults=True),
        command=lambda job_id, directory: requests.scenario_command(request, job_id, directory),
        files={} if text is None else {requests.OWN_FILE: text},
        expected_seconds=walltime.of_scenario(scenario, history).wall_seconds,
    )
