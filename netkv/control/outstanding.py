"""Messages that wait for a reply: ids, time-outs, retries with capped back-off."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

from netkv.control.base import MILLISECOND, Nanoseconds
from netkv.control.messages import Message

FIRST_TIMEOUT: Nanoseconds = 20 * MILLISECOND
LONGEST_TIMEOUT: Nanoseconds = 500 * MILLISECOND


@dataclass(slots=True)
class _Pending:
    message: Message
    tries_left: int
    timeout: Nanoseconds
    due: Nanoseconds


class Outstanding:
    """Requests without a reply so far.

    Rules
    -----
    1. Every request has a number of its own; a retry repeats it, so a receiver knows a duplicate.
    2. A reply counts once, and only with the number, op and key of a request that waits.
    3. A request is sent at most `tries` times, each wait twice as long as the one before, up to
       `LONGEST_TIMEOUT`.
    """

    def __init__(self) -> None:
        self._pending: dict[int, _Pending] = {}
        self._queue: list[tuple[Nanoseconds, int]] = []  # (due, request), some out of date
        self._last = 0
        self.retries = 0

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, now: Nanoseconds, message: Message, tries: int) -> Message:
        """Number `message` and wait for its reply; returns what to send."""
        self._last = self._last % 0xFFFF_FFFF + 1
        message = replace(message, request=self._last)
        pending = _Pending(message, tries - 1, FIRST_TIMEOUT, now + FIRST_TIMEOUT)
        self._pending[self._last] = pending
        heappush(self._queue, (pending.due, self._last))
        return message

    def answered(self, reply: Message) -> Message | None:
        """The request that `reply` answers, which no longer waits; None if there is none."""
        pending = self._pending.get(reply.request)
        if pending is None:
            return None
        request = pending.message
        if reply.op != request.op + 1 or reply.key != request.key:
            return None
        self.cancel(reply.request)
        return request

    def cancel(self, request: int) -> None:
        """Stop waiting for `request`; nothing happens if it does not wait."""
        self._pending.pop(request, None)
        if len(self._queue) > 2 * len(self._pending) + 64:
            self._queue = [(pending.due, number) for number, pending in self._pending.items()]
            heapify(self._queue)

    def clear(self) -> None:
        """Stop waiting for anything. Numbers go on: old replies stay unknown."""
        self._pending.clear()
        self._queue.clear()

    def expired(self, now: Nanoseconds) -> Iterator[tuple[Message, bool]]:
        """Requests whose wait is over at `now`, each with whether it is to be sent again.

        One that is not has been given up, and no longer waits.
        """
        while self._queue and self._queue[0][0] <= now:
            due, number = heappop(self._queue)
            pending = self._pending.get(number)
            if pending is None or pending.due != due:
                continue
            if pending.tries_left == 0:
                del self._pending[number]
                yield pending.message, False
                continue
            pending.tries_left -= 1
            pending.timeout = min(2 * pending.timeout, LONGEST_TIMEOUT)
            pending.due = now + pending.timeout
            heappush(self._queue, (pending.due, number))
            self.retries += 1
            yield pending.message, True

    def deadline(self) -> Nanoseconds | None:
        """When the next wait is over."""
        while self._queue:
            due, number = self._queue[0]
            pending = self._pending.get(number)
            if pending is not None and pending.due == due:
                return due
            heappop(self._queue)
        return None
