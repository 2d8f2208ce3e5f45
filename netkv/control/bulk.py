"""Many messages of one kind to a switch, with a window of unanswered ones.

A snapshot or a recovery of 10,000 entries needs 10,000 messages, so they must be cheap to process.
They differ from other requests (`PendingRequests`): a reply names its generation, and a duplicate
of the message has no effect. So these messages need no unique numbers: the number is the index in
the list of entries, from 1.
"""

from collections.abc import Callable, Collection, Iterator
from heapq import heappop, heappush

from netkv.control.base import Nanoseconds, SendFrame
from netkv.control.roundtrip import RoundTrip, Timeouts


class Bulk:
    """Messages of one kind.

    Rules
    -----
    1. At most `window` messages are unanswered. Each is sent up to `tries` times, or, without that
       number, until it is answered.
    2. A reply counts once.
    """

    def __init__(
        self, bounds: Timeouts, window: int, tries: int | None = None, switch: str = ""
    ) -> None:
        self.switch = switch
        """The receiver, for actions."""
        self._trip = RoundTrip(bounds)
        self._window = window
        self._tries = tries
        self._frame_of: Callable[[int], bytes] = lambda _: b""
        self._count = 0
        self._next = 0
        self._settled = bytearray()
        self._sent: dict[int, tuple[Nanoseconds, Nanoseconds, int]] = {}
        """Index → when its timeout ends, the length of the timeout, how often it was sent."""
        self._queue: list[tuple[Nanoseconds, int]] = []  # (due, index), some out of date
        self.left = 0
        """Number of messages that are not answered or settled."""
        self.repeated = 0
        self.given_up = False
        """Whether a message was not answered after the last try."""

    def begin(
        self, count: int, frame_of: Callable[[int], bytes], unneeded: Collection[int] = ()
    ) -> None:
        """Send `count` messages, but not those with the indices `unneeded`; those before are
        dropped. `frame_of` returns the frame of an index."""
        self._frame_of = frame_of
        self._count = self.left = count
        self._next = 0
        self._settled = bytearray(count)
        self._sent.clear()
        self._queue.clear()
        self.given_up = False
        for index in unneeded:
            self.settle(index)

    def settle(self, index: int) -> None:
        """The message of this index need not be sent any more."""
        self.left -= not self._settled[index]
        self._settled[index] = 1
        self._sent.pop(index, None)

    def answered(self, now: Nanoseconds, index: int) -> bool:
        """The message of this index is answered; returns False for a duplicate, and for a message
        that was not sent."""
        sent = self._sent.get(index)
        if sent is None:
            return False
        due, waited, times = sent
        if times == 1:
            self._trip.sample(now - (due - waited))
        else:
            self._trip.late(waited)
        self.settle(index)
        return True

    def send(self, now: Nanoseconds) -> Iterator[SendFrame]:
        """The messages that may be sent now for the first time."""
        while self._next < self._count and len(self._sent) < self._window:
            if not self._settled[self._next]:
                yield self._send(now, self._next, self._trip.timeout, 1)
            self._next += 1

    def expired(self, now: Nanoseconds) -> Iterator[SendFrame]:
        """The messages to repeat; sets `given_up` if one has no try left."""
        while self._queue and self._queue[0][0] <= now:
            due, index = heappop(self._queue)
            sent = self._sent.get(index)
            if sent is None or sent[0] != due:
                continue
            _, waited, times = sent
            if self._tries is not None and times >= self._tries:
                self.given_up = True
                return
            self.repeated += 1
            yield self._send(now, index, self._trip.back_off(waited), times + 1)

    def deadline(self) -> Nanoseconds | None:
        """When the next message is to be repeated."""
        queue = self._queue
        while queue:
            due, index = queue[0]
            sent = self._sent.get(index)
            if sent is not None and sent[0] == due:
                return due
            heappop(queue)
        return None

    def _send(self, now: Nanoseconds, index: int, wait: Nanoseconds, times: int) -> SendFrame:
        self._sent[index] = (now + wait, wait, times)
        heappush(self._queue, (now + wait, index))
        return SendFrame(self._frame_of(index), switch=self.switch)
