"""Gets from one client process what it has preserved (COLLECT)."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds
from netkv.control.messages import Message, Op, Stamp
from netkv.control.topology import KEY_BYTES
from netkv.schemes.farreach.context import to_client
from netkv.schemes.farreach.pending_requests import PendingRequest, PendingRequests
from netkv.schemes.farreach.record import MalformedRecordsError, Record, unpack

WINDOW = 16
"""Pieces that are asked for at once."""

Told: TypeAlias = Callable[[Nanoseconds], Iterable[Action]]
"""What follows when the client has told all, or all it will tell."""


class Collecting:
    """What one client tells.

    Rules
    -----
    1. The list that a client tells is frozen, so pieces may be asked for in any order. How many
       records a piece has is up to the client: what is missing between two pieces is asked for.
    2. A client that tells of another total on the way is a new process: what the old one had not
       told is lost.
    """

    def __init__(self, questions: PendingRequests, address: int, life: int, told: Told) -> None:
        """Begin to ask; `life` is the new one."""
        self._questions = questions
        self._to = to_client(address)
        self._life = life
        self._told = told
        self._total: int | None = None
        self._stride = 0
        self._next = 0  # first index that is not asked for
        self._asked: set[PendingRequest] = set()
        self.records: list[Record] = []
        self.silence = 0
        """Heartbeats since the client answered last."""
        self.lost = False
        """Whether it did not tell all."""
        self.silent = False
        """Whether that is because it did not answer."""
        self.done = False
        self._ask(0, None)

    def give_up(self) -> None:
        """What it has told is all that there is."""
        self.lost = self.done = True
        for question in self._asked:
            self._questions.cancel(question)
        self._asked.clear()

    def _ask(self, first: int, end: int | None) -> None:
        """Ask for the records from `first` up to `end`, or as many as come."""
        question = self._questions.ask(
            Op.COLLECT,
            bytes(KEY_BYTES),
            lambda now, reply: self._answered(question, first, end, now, reply),
            to=self._to,
            stamp=Stamp(self._life, first),
            insist=True,
        )
        self._asked.add(question)

    def _answered(
        self,
        question: PendingRequest,
        first: int,
        end: int | None,
        now: Nanoseconds,
        reply: Message | None,
    ) -> Iterator[Action]:
        self._asked.discard(question)
        self.silence = 0
        piece = self._piece(reply)
        if piece is None:
            self.give_up()
            yield from self._told(now)
            return
        if end is None:
            end = self._next = first + len(piece)
            self._stride = len(piece)
        self.records += piece[: end - first]
        first += len(piece)
        if first < end:
            self._ask(first, end)
        assert self._total is not None, "the first piece told it"
        while self._next < self._total and len(self._asked) < WINDOW:
            first, self._next = self._next, min(self._next + self._stride, self._total)
            self._ask(first, self._next)
        if not self._asked:
            self.done = True
            yield from self._told(now)

    def _piece(self, reply: Message | None) -> list[Record] | None:
        """The records of a piece; None if there is no sense in asking on."""
        if reply is None or reply.stamp is None or reply.stamp.life != self._life:
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
