"""LOAD of many entries, with a window of unanswered requests.

A snapshot of 10,000 entries needs 10,000 LOADs every few seconds, so they must be cheap to process.
They differ from other requests (`PendingRequests`): a reply names its generation and snapshot, and
a duplicate of the request has no effect. So LOADs need no unique message numbers: the number is the
index in the list of entries.
"""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from netkv._engine import frame_op, read_frame, write_frame
from netkv.control.base import Nanoseconds, SendFrame
from netkv.control.messages import CONTROLLER_SENDER, Op, Status
from netkv.control.roundtrip import RoundTrip, Timeouts
from netkv.schemes.farreach.entries import Entry
from netkv.schemes.farreach.record import KEPT, Record


class Loaded(NamedTuple):
    """A reply to LOAD; `position`: index of its entry in the list of entries."""

    position: int
    ok: bool
    bits: int
    number: int
    generation: int
    record: Record


def read(frame: bytes) -> Loaded | None:
    """Decode a reply to LOAD; None if the frame is anything else."""
    if frame_op(frame) is not Op.LOAD_REPLY:
        return None
    _, _, fields = read_frame(frame)
    _, key, request, sender, status, metadata, _, value, _, stamp, slot = fields
    if sender != CONTROLLER_SENDER or metadata is not None or stamp is None or slot is None:
        return None
    incarnation, write, generation, bits = stamp
    record = Record(key, incarnation, write, bits & KEPT, value)
    return Loaded(request - 1, status is Status.OK, bits, slot[1], generation, record)


class Loads:
    """LOADs of one snapshot.

    Rules
    -----
    1. At most `window` LOADs are unanswered; each is sent up to `tries` times.
    2. A reply counts once.
    """

    def __init__(self, bounds: Timeouts, window: int, tries: int) -> None:
        self._trip = RoundTrip(bounds)
        self._window = window
        self._tries = tries
        self._number = 0
        self._entries: list[Entry | None] = []
        self._next = 0
        self._sent: dict[int, tuple[Nanoseconds, Nanoseconds, int]] = {}
        """Index → when its timeout ends, the length of the timeout, how often it was sent."""
        self._queue: list[tuple[Nanoseconds, int]] = []  # (due, index), some out of date
        self.repeated = 0
        self.given_up = False
        """Whether a LOAD was not answered after the last try."""

    def begin(self, number: int, entries: Sequence[Entry | None]) -> None:
        """Load these entries for snapshot `number`; None: this index needs no LOAD."""
        self._number = number
        self._entries = list(entries)
        self._next = 0
        self._sent.clear()
        self._queue.clear()
        self.given_up = False

    def settle(self, index: int) -> None:
        """The entry at this index needs no LOAD any more."""
        self._entries[index] = None
        self._sent.pop(index, None)

    def answered(self, now: Nanoseconds, index: int) -> None:
        """The LOAD of this index is answered."""
        sent = self._sent.get(index)
        if sent is not None:
            due, waited, times = sent
            if times == 1:
                self._trip.sample(now - (due - waited))
            else:
                self._trip.late(waited)
        self.settle(index)

    def send(self, now: Nanoseconds) -> Iterator[SendFrame]:
        """The LOADs that may be sent now for the first time."""
        sent, entries = self._sent, self._entries
        while self._next < len(entries) and len(sent) < self._window:
            entry = entries[self._next]
            if entry is not None:
                yield self._frame(now, self._next, entry, self._trip.timeout, 1)
            self._next += 1

    def expired(self, now: Nanoseconds) -> Iterator[SendFrame]:
        """The LOADs to repeat; sets `given_up` if one has no try left."""
        while self._queue and self._queue[0][0] <= now:
            due, index = heappop(self._queue)
            sent, entry = self._sent.get(index), self._entries[index]
            if entry is None or sent is None or sent[0] != due:
                continue
            _, waited, times = sent
            if times >= self._tries:
                self.given_up = True
                return
            self.repeated += 1
            yield self._frame(now, index, entry, self._trip.back_off(waited), times + 1)

    def deadline(self) -> Nanoseconds | None:
        """When the next LOAD is to be repeated."""
        queue = self._queue
        while queue:
            due, index = queue[0]
            sent = self._sent.get(index)
            if sent is not None and sent[0] == due:
                return due
            heappop(queue)
        return None

    def _frame(
        self, now: Nanoseconds, index: int, entry: Entry, wait: Nanoseconds, times: int
    ) -> SendFrame:
        self._sent[index] = (now + wait, wait, times)
        heappush(self._queue, (now + wait, index))
        frame = write_frame(
            Op.LOAD,
            entry.key,
            index + 1,
            stamp=(0, 0, entry.generation, 0),
            slot=(entry.entry, self._number),
        )
        return SendFrame(frame)
