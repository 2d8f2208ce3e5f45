"""Bounded queues of a controller: events for its control plane, and actions for a switch.

Rules
-----
1. All queues are limited. Dropped messages are counted by name.
2. Reports of hot records have a separate queue with lower priority, so that neither a recovery nor
   an answer waits for them.
3. Answers to table writes and saves are never dropped: there is one for each, and both are limited.
4. A table write beyond the limit is refused, with an answer to the control plane.
5. The queue of actions belongs to one session with a switch, and ends with it; that of events
   belongs to the controller.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Sequence

from netkv.control import base
from netkv.model.messages import is_report

MAX_EVENTS = 65_536
"""Packets that wait for the control plane, without reports."""
MAX_REPORTS = 16_384
"""Reports of hot records that wait for the control plane."""
MAX_FRAMES = 65_536
"""Frames that wait to be sent, without acknowledgements of reports."""
MAX_ACKNOWLEDGEMENTS = 1024


class Events:
    """Events that the control plane has not handled yet; of one asyncio loop."""

    def __init__(self, dropped: Counter[str]) -> None:
        """`dropped`: counters of dropped events, `events_dropped` and `reports_dropped`."""
        self._dropped = dropped
        self._events: deque[base.Event] = deque()
        """All events but reports."""
        self._packets = 0
        """Number of packets in `_events`."""
        self._reports: deque[base.Event] = deque()
        self._first = 0
        """Number of events at the head that `put_first` has queued."""
        self._arrived = asyncio.Event()

    @property
    def begins(self) -> bool:
        """Whether events of `put_first` wait."""
        return self._first > 0

    @property
    def waiting(self) -> int:
        """Number of events without reports."""
        return len(self._events)

    def __len__(self) -> int:
        return len(self._events) + len(self._reports)

    def put(self, event: base.Event) -> None:
        """Queues an event, or drops it."""
        if isinstance(event, base.PacketIn):
            packet, report = True, is_report(event.frame)
        else:
            packet, report = False, isinstance(event, base.Digest)
        if report:
            if len(self._reports) >= MAX_REPORTS:
                self._dropped["reports_dropped"] += 1
                return
            self._reports.append(event)
        else:
            if packet and self._packets >= MAX_EVENTS:
                self._dropped["events_dropped"] += 1
                return
            self._packets += packet
            self._events.append(event)
        self._arrived.set()

    def put_first(self, events: Sequence[base.Event]) -> None:
        """Queues events before all others; none of them is a packet."""
        self._events.extendleft(reversed(events))
        self._first += len(events)
        self._arrived.set()

    async def get(self) -> base.Event:
        """Waits for the next event."""
        while not self:
            self._arrived.clear()
            await self._arrived.wait()
        return self.pop()

    def pop(self) -> base.Event:
        """Removes and returns the next event; there must be one."""
        if not self._events:
            return self._reports.popleft()
        event = self._events.popleft()
        self._packets -= isinstance(event, base.PacketIn)
        self._first -= self._first > 0
        return event

    def clear(self) -> list[base.Saved]:
        """Drops all events but answers to saves, which it returns."""
        answers = [event for event in self._events if isinstance(event, base.Saved)]
        self._events.clear()
        self._reports.clear()
        self._packets = self._first = 0
        return answers


class Actions:
    """Actions for a switch that are not carried out yet, in order."""

    def __init__(self, dropped: Counter[str]) -> None:
        """`dropped`: counters of dropped actions: `frames_dropped`, `acknowledgements_dropped`."""
        self._dropped = dropped
        self._actions: deque[tuple[int, base.SwitchAction, str]] = deque()
        """Actions with the number of cuts, and the limited kind of each."""
        self._waiting: Counter[str] = Counter()
        """Number of queued actions of each limited kind."""
        self._writes = 0
        """Number of table writes without an answer."""
        self.added = asyncio.Event()
        """Set while there may be actions."""

    def __bool__(self) -> bool:
        return bool(self._actions)

    def add(self, cuts: int, action: base.SwitchAction) -> base.TableWritten | None:
        """Queues an action, or drops it; `cuts`: number of cuts of the channel so far.

        Returns the answer to a refused table write.
        """
        kind = ""
        if isinstance(action, base.SendFrame):
            kind, most = "frames", MAX_FRAMES
            if is_report(action.frame):
                kind, most = "acknowledgements", MAX_ACKNOWLEDGEMENTS
            if self._waiting[kind] >= most:
                self._dropped[f"{kind}_dropped"] += 1
                return None
            self._waiting[kind] += 1
        elif isinstance(action, base.TableWrite):
            if self._writes >= base.MAX_WRITES:
                error = base.TOO_MANY_WRITES
                return base.TableWritten(action.write, False, error, action.switch)
            self._writes += 1
        self._actions.append((cuts, action, kind))
        self.added.set()
        return None

    def pop(self) -> tuple[int, base.SwitchAction]:
        """Removes and returns the next action."""
        cuts, action, kind = self._actions.popleft()
        if kind:
            self._waiting[kind] -= 1
        return cuts, action

    def pop_frames(self, limit: int) -> list[tuple[int, base.SendFrame]]:
        """Removes and returns up to `limit` frames at the head of the queue."""
        frames: list[tuple[int, base.SendFrame]] = []
        actions, waiting = self._actions, self._waiting
        while len(frames) < limit and actions:
            cuts, action, kind = actions[0]
            if not isinstance(action, base.SendFrame):
                break
            actions.popleft()
            waiting[kind] -= 1
            frames.append((cuts, action))
        return frames

    def pop_writes(self) -> list[base.TableWrite]:
        """Removes and returns the table writes at the head of the queue."""
        writes: list[base.TableWrite] = []
        while self._actions and isinstance(write := self._actions[0][1], base.TableWrite):
            writes.append(write)
            self._actions.popleft()
        return writes

    def answered(self, writes: int) -> None:
        """`writes` table writes are answered."""
        self._writes -= writes

    def clear(self) -> None:
        """Drops all actions that were not removed."""
        self._writes -= sum(isinstance(each, base.TableWrite) for _, each, _ in self._actions)
        self._actions.clear()
        self._waiting.clear()
