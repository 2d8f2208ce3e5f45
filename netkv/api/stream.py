"""The event stream: everything that is written to the store, as it is written.

The id of each message is its position in the store (`SAMPLE.EVENT`, ids of rows), so that a
browser that lost its connection goes on exactly where it was. Messages: `activity` (at the
beginning and when it changes), `sample`, `event`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fastapi.sse import ServerSentEvent

from netkv.api.launcher import Launcher
from netkv.api.models import Activity, Happened, Sampled
from netkv.runs import Store

_POLL = 0.4
"""Seconds between two looks at the store; samples come once a second."""
_KEEP_ALIVE = 15.0
"""Seconds without a message after which a keep-alive is sent."""

Cursor = tuple[int, int]
"""Ids of the last sample and event that were sent."""


def parse_cursor(text: str | None) -> Cursor | None:
    """The cursor in a Last-Event-ID; None without one, or for one that is not ours."""
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
        samples, events = await asyncio.to_thread(store.news, sample_id, event_id)
        # After the samples: the end of a run comes after its last sample.
        activity = await asyncio.to_thread(launcher.activity)
        silent += _POLL
        if sent is None or (activity != sent and _brief(activity) != _brief(sent)):
            sent, silent = activity, 0.0
            yield _message("activity", activity, (sample_id, event_id))
        for number, run, sample in samples:
            sample_id, silent = number, 0.0
            told_sample = Sampled(id=number, run=run, sample=sample)
            yield _message("sample", told_sample, (sample_id, event_id))
        for number, run, happened in events:
            event_id, silent = number, 0.0
            told_event = Happened(id=number, run=run, event=happened)
            yield _message("event", told_event, (sample_id, event_id))
        if silent >= _KEEP_ALIVE:
            silent = 0.0
            yield ServerSentEvent(comment="still here")
        try:
            await asyncio.wait_for(closing.wait(), _POLL)
        except TimeoutError:
            continue


def _brief(activity: Activity) -> tuple[object, ...]:
    return (activity.state, activity.group, activity.error, [run.id for run in activity.runs])


def _message(kind: str, data: Activity | Sampled | Happened, cursor: Cursor) -> ServerSentEvent:
    return ServerSentEvent(data=data, event=kind, id=f"{cursor[0]}.{cursor[1]}")
