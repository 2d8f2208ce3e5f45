"""Collects the preserved records of one client process (COLLECT)."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds
from netkv.control.pending_requests import PendingRequest, PendingRequests
from netkv.kits.write_back.context import to_client
from netkv.kits.write_back.record import MalformedRecordsError, Record, unpack
from netkv.model.messages import Message, Op, Stamp
from netkv.model.topology import KEY_BYTES

WINDOW = 16
"""Requests for pieces that are under way at once."""

OnDone: TypeAlias = Callable[[Nanoseconds], Iterable[Action]]
"""Called when the collection from this client is complete or given up."""


class ClientCollection:
    """The records of one client process.

    Rules
    -----
    1. The client freezes its list, so pieces may be requested in any order. The client decides how
       many records a piece has; records missing between two pieces are requested again.
    2. If the total changes during the collection, a new process answers. The records that the old
       process had not sent are lost.
    """

    def __init__(
        self, pending: PendingRequests, address: int, incarnation: int, on_done: OnDone
    ) -> None:
        """Begin to collect; `incarnation` is the new one of the switch."""
        self._pending = pending
        self._to = to_client(address)
        self._incarnation = incarnation
        self._on_done = on_done
        self._total: int | None = None
        self._stride = 0
        self._next = 0  # first index that is not requested
        self._requests: set[PendingRequest] = set()
        self.records: list[Record] = []
        self.silence = 0
        """Heartbeats since the last answer of the client."""
        self.lost = False
        """Whether the list is incomplete."""
        self.silent = False
        """Whether the list is incomplete because the client did not answer."""
        self.done = False
        self._request(0, None)

    def give_up(self) -> None:
        """End the collection with the records received so far."""
        self.lost = self.done = True
        for pending_request in self._requests:
            self._pending.cancel(pending_request)
        self._requests.clear()

    def _request(self, first: int, end: int | None) -> None:
        """Request the records from `first` up to `end`; None: as many as fit into a piece."""
        pending_request = self._pending.send(
            Op.COLLECT,
            bytes(KEY_BYTES),
            lambda now, reply: self._answered(pending_request, first, end, now, reply),
            to=self._to,
            stamp=Stamp(self._incarnation, first),
            insist=True,
        )
        self._requests.add(pending_request)

    def _answered(
        self,
        pending_request: PendingRequest,
        first: int,
        end: int | None,
        now: Nanoseconds,
        reply: Message | None,
    ) -> Iterator[Action]:
        self._requests.discard(pending_request)
        self.silence = 0
        piece = self._piece(reply)
        if piece is None:
            self.give_up()
            yield from self._on_done(now)
            return
        if end is None:
            end = self._next = first + len(piece)
            self._stride = len(piece)
        self.records += piece[: end - first]
        first += len(piece)
        if first < end:
            self._request(first, end)
        assert self._total is not None, "the first piece has it"
        while self._next < self._total and len(self._requests) < WINDOW:
            first, self._next = self._next, min(self._next + self._stride, self._total)
            self._request(first, self._next)
        if not self._requests:
            self.done = True
            yield from self._on_done(now)

    def _piece(self, reply: Message | None) -> list[Record] | None:
        """The records of a piece; None if the collection cannot go on."""
        if reply is None or reply.stamp is None or reply.stamp.incarnation != self._incarnation:
            return None
        if self._total is None:
            self._total = reply.stamp.number
        elif self._total != reply.stamp.number:
            return None
        try:
            piece = unpack(reply.value)
        except MalformedRecordsError:
            return None
        return piece if piece or self._total == 0 else None
