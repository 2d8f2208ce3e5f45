"""The feed of all event streams: new samples and events of the store, changes of jobs, and labs.

Rules
-----
1. One task reads the store and sends each message to all subscribers, so that a hundred open pages
   cost the store no more than one. It runs while there are subscribers.
2. The id of a message is the position in the store after it (`SAMPLE.EVENT`, ids of rows). A
   subscriber that gives a position gets everything after it from the store first.
3. A subscriber that does not read has at most `QUEUE` messages waiting. Then the oldest are
   dropped, and `dropped` with their number is the next message that it gets.
4. Labs are asked only while a stream shows them, by a task of their own: one that does not answer
   must not delay the samples of runs. A stream that begins to show labs first gets all samples that
   are kept; after that, those since the message before.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from pydantic import BaseModel

from netkv.api import labs_feed
from netkv.api.jobs.queue import Queue
from netkv.api.labs_feed import LabsFeed
from netkv.api.models.jobs import Jobs
from netkv.api.models.stream import Dropped, LabUpdates, StreamedEvent, StreamedSample
from netkv.errors import NetkvError
from netkv.runs import Store

_log = logging.getLogger("netkv.api")
QUEUE = 1000
MAX_SUBSCRIBERS = 200
_POLL = 0.4
"""Seconds between two queries of the store; a run writes a sample each second."""
_LABS_S = 1.0
"""Seconds between two messages about labs."""
_JOIN_S = 0.2
"""Seconds after which a new stream gets its first message about labs."""
_KEEP_ALIVE = 15.0
"""Seconds without a message after which a stream gets a comment."""
_PAGE = 500

Cursor = tuple[int, int]
"""Ids of the last sample and the last event that were sent."""


@dataclass(frozen=True)
class Message:
    """A message of the stream."""

    kind: str
    """`jobs`, `sample`, `event`, `labs` or `dropped`."""
    text: str
    """A JSON document."""
    cursor: Cursor

    @property
    def id(self) -> str:
        """The position in the store after this message."""
        return f"{self.cursor[0]}.{self.cursor[1]}"

    @functools.cached_property
    def encoded(self) -> bytes:
        """The message as an event stream has it; made once, however many streams send it."""
        return f"event: {self.kind}\ndata: {self.text}\nid: {self.id}\n\n".encode()


def parse_cursor(text: str | None) -> Cursor | None:
    """The cursor in a Last-Event-ID header; None if there is none or it is invalid."""
    first, dot, second = (text or "").partition(".")
    if not dot or not (first.isdecimal() and second.isdecimal()) or len(text or "") > 40:
        return None
    return int(first), int(second)


class _Subscriber:
    """The waiting messages of one stream."""

    def __init__(self, labs: bool) -> None:
        self.labs = labs
        """Whether it shows labs."""
        self.has_labs = False
        """Whether it has got its first message about them."""
        self._waiting: deque[Message] = deque()
        self._dropped = 0
        self._arrived = asyncio.Event()

    def put(self, message: Message) -> None:
        """Adds a message; drops the oldest one if there are too many."""
        if len(self._waiting) == QUEUE:
            self._waiting.popleft()
            self._dropped += 1
        self._waiting.append(message)
        self._arrived.set()

    def wake(self) -> None:
        """Ends `wait`."""
        self._arrived.set()

    async def wait(self, seconds: float) -> bool:
        """Waits for a message; returns whether there may be one."""
        try:
            await asyncio.wait_for(self._arrived.wait(), seconds)
        except TimeoutError:
            return False
        self._arrived.clear()
        return True

    def take(self) -> Iterator[Message]:
        """The waiting messages."""
        while self._waiting:
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                yield _message("dropped", Dropped(count=dropped), self._waiting[0].cursor)
            yield self._waiting.popleft()


class Feed:
    """The messages of one server, for any number of streams."""

    def __init__(self, store: Store, jobs: Queue, labs: LabsFeed, closing: asyncio.Event) -> None:
        self._store = store
        self._jobs = jobs
        self._labs = labs
        self._closing = closing
        self._subscribers: set[_Subscriber] = set()
        self._starting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._labs_task: asyncio.Task[None] | None = None
        self._cursor: Cursor = (0, 0)
        self._newest_jobs: Message | None = None

    @property
    def subscribers(self) -> int:
        """Number of open streams."""
        return len(self._subscribers)

    @property
    def shows_labs(self) -> bool:
        """Whether labs are asked, because a stream shows them."""
        return self._labs_task is not None and not self._labs_task.done()

    async def follow(
        self, cursor: Cursor | None, labs: bool = False
    ) -> AsyncIterator[Message | None]:
        """Messages after `cursor` (None: from now on) until the server ends; `labs`: also those
        about labs.

        None is a sign of life, for a stream that has been silent.
        """
        subscriber = _Subscriber(labs)
        async with self._starting:
            if self._task is None or self._task.done():
                self._cursor = await asyncio.to_thread(self._store.latest)
                self._newest_jobs = await self._read_jobs()
                self._task = asyncio.create_task(self._run(), name="feed")
            # From here on, the subscriber gets everything after `live`.
            self._subscribers.add(subscriber)
            if labs and not self.shows_labs:
                self._labs_task = asyncio.create_task(self._run_labs(), name="labs of the feed")
            live, jobs = self._cursor, self._newest_jobs
        try:
            if jobs is not None:
                yield Message(jobs.kind, jobs.text, cursor or live)
            if cursor is not None:
                async for message in self._replay(cursor, live):
                    yield message
            while not self._closing.is_set():
                for message in subscriber.take():
                    yield message
                if not await subscriber.wait(_KEEP_ALIVE):
                    yield None
        finally:
            self._subscribers.discard(subscriber)

    async def _replay(self, cursor: Cursor, until: Cursor) -> AsyncIterator[Message]:
        """What the store has between two positions."""
        while not self._closing.is_set():
            messages = await asyncio.to_thread(self._read, cursor, until)
            if not messages:
                return
            for message in messages:
                yield message
            cursor = messages[-1].cursor

    async def _run(self) -> None:
        told = ""
        try:
            while self._subscribers and not self._closing.is_set():
                try:
                    await self._turn()
                    told = ""
                except NetkvError as error:
                    # The store cannot be read now; the next turn may read it.
                    if str(error) != told:
                        _log.warning("The event streams wait: %s", error)
                    told = str(error)
                except Exception:
                    # Open pages would get nothing any more without this task.
                    _log.exception("The event streams could not be served")
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), _POLL)
        finally:
            for subscriber in self._subscribers:
                subscriber.wake()

    async def _turn(self) -> None:
        messages = await asyncio.to_thread(self._read, self._cursor)
        # Read after the samples: a run ends after its last sample.
        jobs = await self._read_jobs()
        for message in messages:
            self._cursor = message.cursor
            self._publish(message)
        if self._newest_jobs is None or jobs.text != self._newest_jobs.text:
            self._newest_jobs = jobs
            self._publish(Message(jobs.kind, jobs.text, self._cursor))

    async def _run_labs(self) -> None:
        cursors: dict[str, labs_feed.Cursor] = {}
        next_turn = 0.0
        while (shown := [it for it in self._subscribers if it.labs]) and not self._closing.is_set():
            if time.monotonic() >= next_turn or not all(it.has_labs for it in shown):
                next_turn = time.monotonic() + _LABS_S
                try:
                    cursors = await self._labs_turn(cursors)
                except Exception:
                    _log.exception("The labs could not be asked")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), _JOIN_S)

    async def _labs_turn(self, cursors: dict[str, labs_feed.Cursor]) -> dict[str, labs_feed.Cursor]:
        """Sends what is new about labs; returns the cursors for the next turn."""
        everything = await self._labs.updates()
        new = [labs_feed.after(update, cursors.get(update.name)) for update in everything]
        messages = [
            _message("labs", LabUpdates(labs=updates), self._cursor)
            for updates in (everything, new)
        ]
        for subscriber in self._subscribers:
            if subscriber.labs:
                subscriber.put(messages[subscriber.has_labs])
                subscriber.has_labs = True
        return labs_feed.cursors_of(everything, cursors)

    def _publish(self, message: Message) -> None:
        for subscriber in self._subscribers:
            subscriber.put(message)

    async def _read_jobs(self) -> Message:
        jobs: Jobs = await asyncio.to_thread(self._jobs.jobs)
        return _message("jobs", jobs, self._cursor)

    def _read(self, cursor: Cursor, until: Cursor | None = None) -> list[Message]:
        """The next messages of the store, up to a position; at most two pages."""
        sample_id, event_id = cursor
        last_sample, last_event = until or (math.inf, math.inf)
        samples, events = self._store.newer(sample_id, event_id, _PAGE)
        found = []
        for number, run, sample in samples:
            if number > last_sample:
                break
            sample_id = number
            body: BaseModel = StreamedSample(id=number, run=run, sample=sample)
            found.append(_message("sample", body, (sample_id, event_id)))
        for number, run, happened in events:
            if number > last_event:
                break
            event_id = number
            body = StreamedEvent(id=number, run=run, event=happened)
            found.append(_message("event", body, (sample_id, event_id)))
        return found


def _message(kind: str, body: BaseModel, cursor: Cursor) -> Message:
    return Message(kind, body.model_dump_json(), cursor)
