"""Requests that wait for a reply: numbers, timeouts, retransmission with limited back-off."""

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from netkv.control.base import Nanoseconds
from netkv.control.message_numbers import MessageNumbers, wire
from netkv.control.messages import CacheMetadata, Message, Op, Slot, Stamp, encode
from netkv.control.roundtrip import RoundTrip, Timeouts
from netkv.control.topology import SERVICE_IP

WINDOW = 4096
"""Size of a receiver's deduplication window for one sender (`WINDOW` in engine/roles)."""


@dataclass(slots=True)
class _Pending:
    message: Message
    number: int
    tries_left: int
    lane: int | None
    to: int
    sent: Nanoseconds | None = None
    timeout: Nanoseconds = 0
    due: Nanoseconds = 0
    repeated: bool = False


@dataclass(slots=True)
class _Lane:
    """The requests to one receiver."""

    pending: dict[int, None] = field(default_factory=dict)  # numbers, the oldest first
    held: deque[_Pending] = field(default_factory=deque)  # beyond the receiver's window


class Outstanding:
    """Requests without a reply, and their retransmission.

    Rules
    -----
    1. Every request has its own number. A retransmission has the same number, so a receiver
       recognizes it as a duplicate.
    2. Requests are sent (`ready`) in the order in which they were added, each when the clock has
       reached its number (`MessageNumbers`). A request is held back while its receiver has not
       answered one whose number is `WINDOW` below or more: the receiver would treat a
       retransmission of that one as a late copy.
    3. A reply counts once, and only with the number, op and key of a pending request.
    4. A request is sent at most `tries` times. Each timeout is twice as long as the previous one,
       up to a limit. The first one depends on the round trips of the same op (`RoundTrip`).
    """

    def __init__(self, numbers: MessageNumbers, timeouts: Timeouts) -> None:
        """`numbers` may be shared with other users of the same sequence."""
        self.numbers = numbers
        self._timeouts = timeouts
        self._round_trips: dict[Op, RoundTrip] = {}
        self._pending: dict[int, _Pending] = {}
        self._ready: deque[_Pending] = deque()
        self._lanes: defaultdict[int, _Lane] = defaultdict(_Lane)
        self._queue: list[tuple[Nanoseconds, int]] = []  # (due, request), some out of date
        self.retries = 0

    def __len__(self) -> int:
        return len(self._pending)

    def add(
        self,
        op: Op,
        key: bytes,
        cache_metadata: CacheMetadata | None,
        tries: int,
        lane: int | None,
        *,
        stamp: Stamp | None = None,
        slot: Slot | None = None,
        value: bytes = b"",
        to: int = SERVICE_IP,
        upper: bool = False,
    ) -> int:
        """Add a request to IPv4 address `to`; `ready` sends it. Returns its number.

        `lane`: the number of a receiver with a deduplication window, None for one without.
        `upper`: whether it is about the copy in the upper layer of switches.
        """
        number = self.numbers.take()
        request = wire(number)
        message = Message(
            op,
            key,
            request,
            cache_metadata=cache_metadata,
            length=len(value),
            value=value,
            stamp=stamp,
            slot=slot,
            upper=upper,
        )
        pending = _Pending(message, number, tries - 1, lane, to)
        self._pending[request] = pending
        self._ready.append(pending)
        if lane is not None:
            self._lanes[lane].pending[number] = None
        return request

    def ready(self, now: Nanoseconds) -> list[Message]:
        """The requests to be sent now for the first time."""
        messages: list[Message] = []
        while self._ready and self.numbers.usable(self._ready[0].number) <= now:
            pending = self._ready.popleft()
            if pending.message.request not in self._pending:
                continue  # it was cancelled
            if pending.lane is not None:
                lane = self._lanes[pending.lane]
                if pending.number - next(iter(lane.pending)) >= WINDOW:
                    lane.held.append(pending)
                    continue
            pending.sent = now
            self._wait(now, pending, self._round_trip(pending.message.op).timeout)
            messages.append(pending.message)
        return messages

    def frame(self, message: Message) -> bytes:
        """The frame of a pending request."""
        return encode(message, destination=self._pending[message.request].to)

    def answered(self, now: Nanoseconds, reply: Message) -> Message | None:
        """Remove and return the request that `reply` answers; None if there is none."""
        pending = self._pending.get(reply.request)
        if pending is None or pending.sent is None:
            return None
        request = pending.message
        if reply.op != request.op + 1 or reply.key != request.key:
            return None
        trip = self._round_trip(request.op)
        if pending.repeated:
            trip.late(pending.timeout)
        else:
            trip.sample(now - pending.sent)
        self.cancel(reply.request)
        return request

    def cancel(self, request: int) -> None:
        """Remove `request`; nothing happens if it is not pending."""
        pending = self._pending.pop(request, None)
        if pending is None:
            return
        self._leave_lane(pending)
        if len(self._queue) > 2 * len(self._pending) + 64:
            self._queue = [
                (each.due, number)
                for number, each in self._pending.items()
                if each.sent is not None
            ]
            heapify(self._queue)

    def clear(self) -> None:
        """Remove all requests. The numbering continues, so late replies match no request."""
        for part in (self._pending, self._ready, self._lanes, self._queue):
            part.clear()

    def expired(self, now: Nanoseconds) -> Iterator[tuple[Message, bool]]:
        """Requests whose timeout has passed, each with whether it is to be sent again.

        Otherwise it has been given up and is no longer pending.
        """
        while self._queue and self._queue[0][0] <= now:
            due, request = heappop(self._queue)
            pending = self._pending.get(request)
            if pending is None or pending.due != due:
                continue
            if pending.tries_left == 0:
                self.cancel(request)
                yield pending.message, False
                continue
            pending.tries_left -= 1
            pending.repeated = True
            self._wait(now, pending, self._round_trip(pending.message.op).back_off(pending.timeout))
            self.retries += 1
            yield pending.message, True

    def deadline(self) -> Nanoseconds | None:
        """When the next timeout ends, or the next request may be sent."""
        leaves = self.numbers.usable(self._ready[0].number) if self._ready else None
        while self._queue:
            due, request = self._queue[0]
            pending = self._pending.get(request)
            if pending is not None and pending.due == due:
                return due if leaves is None else min(due, leaves)
            heappop(self._queue)
        return leaves

    # ------------------------------------------------------------------------- helpers

    def _round_trip(self, op: Op) -> RoundTrip:
        found = self._round_trips.get(op)
        if found is None:
            found = self._round_trips[op] = RoundTrip(self._timeouts)
        return found

    def _wait(self, now: Nanoseconds, pending: _Pending, timeout: Nanoseconds) -> None:
        pending.timeout = timeout
        pending.due = now + timeout
        heappush(self._queue, (pending.due, pending.message.request))

    def _leave_lane(self, pending: _Pending) -> None:
        if pending.lane is None:
            return
        lane = self._lanes[pending.lane]
        del lane.pending[pending.number]
        # `ready` holds those again that are still beyond the window.
        self._ready.extendleft(reversed(lane.held))
        lane.held.clear()
