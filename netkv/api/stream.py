"""The event stream: new samples and events of the store, and changes of the activity.

The id of each message is a position in the store (`SAMPLE.EVENT`, ids of rows). A browser that
reconnects resumes at this position. Messages: `activity` (at the beginning and when it changes),
`sample`, `event`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fastapi.sse import ServerSentEvent

from netkv.api.launcher import Launcher
from netkv.api.models.activity import Activity, StreamedEvent, StreamedSample
from netkv.runs import Store

_POLL = 0.4
"""Seconds between two queries of the store; a run writes a sample each second."""
_KEEP_ALIVE = 15.0
"""Seconds without a message after which a keep-alive is sent."""

Cursor = tuple[int, int]
"""Ids of the last sample and the last event that were sent."""


def parse_cursor(text: str | None) -> Cursor | None:
    """The cursor in a Last-Event-ID header; None if there is none or it is invalid."""
    first, dot, second = (text or "").partition(".")
    if not dot or not (first.isdecimal() and second.isdecimal()):
        return None
    return int(first), int(second)


async def follow(
    store: Store, launcher: Launcher, cursor: Cursor | None, closing: asyncio.Event
) -> AsyncIterator[ServerSentEvent]:
    """Messages from `cursor` on (None: from now on) until `closing`."""
    sample_id, event_id = cursor if cursor else await asyncio.to_thread(store.latest)
    sent: Activity | None = None
    silent = 0.0
    while not closing.is_set():
        samples, events = await asyncio.to_thread(store.newer, sample_id, event_id)
        # Read after the samples: a run ends after its last sample.
        activity = await asyncio.to_thread(launcher.activity)
        silent += _POLL
        if sent is None or (activity != sent and _brief(activity) != _brief(sent)):
            sent, silent = activity, 0.0
            yield _message("activity", activity, (sample_id, event_id))
        for number, run, sample in samples:
            sample_id, silent = number, 0.0
            sample_body = StreamedSample(id=number, run=run, sample=sample)
            yield _message("sample", sample_body, (sample_id, event_id))
        for number, run, happened in events:
            event_id, silent = number, 0.0
            event_body = StreamedEvent(id=number, run=run, event=happened)
            yield _message("event", event_body, (sample_id, event_id))
        if silent >= _KEEP_ALIVE:
            silent = 0.0
            yield ServerSentEvent(comment="keep-alive")
        try:
            await asyncio.wait_for(closing.wait(), _POLL)
        except TimeoutError:
            continue


def _brief(activity: Activity) -> tuple[object, ...]:
    return (activity.state, activity.group, activity.error, [run.id for run in activity.runs])


def _message(
    kind: str, data: Activity | StreamedSample | StreamedEvent, cursor: Cursor
) -> ServerSentEvent:
    return ServerSentEvent(data=data, event=kind, id=f"{cursor[0]}.{cursor[1]}")
