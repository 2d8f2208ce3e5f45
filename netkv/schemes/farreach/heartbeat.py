"""Whether answers of the switch come through at all."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds
from netkv.control.messages import Message, Op, Place, Stamp
from netkv.control.topology import KEY_BYTES
from netkv.schemes.farreach.pending_requests import PendingRequest, PendingRequests

Beaten: TypeAlias = Callable[[Nanoseconds], Iterable[Action]]


class Heartbeat:
    """Asks the switch something at intervals, one question at a time.

    Silence says something of others only while this beats: with the control channel cut nobody can
    be heard.
    """

    def __init__(self, questions: PendingRequests, interval: Nanoseconds) -> None:
        self._questions = questions
        self._interval = interval
        self._question: PendingRequest | None = None
        self._due: Nanoseconds | None = None

    def start(self, now: Nanoseconds, beaten: Beaten) -> None:
        """Begin; `beaten` is called for each answer."""
        self.stop()
        self._beaten = beaten
        self._due = now + self._interval

    def stop(self) -> None:
        """No more."""
        self._due = None
        if self._question is not None:
            self._questions.cancel(self._question)
            self._question = None

    def deadline(self) -> Nanoseconds | None:
        """When to ask."""
        return self._due

    def on_timer(self, now: Nanoseconds) -> None:
        """Ask, if it is time. Nobody has generation 0, so the answer says nothing else."""
        if self._due is not None and self._due <= now:
            self._due = None
            self._question = self._questions.ask(
                Op.COUNT,
                bytes(KEY_BYTES),
                self._answered,
                stamp=Stamp(),
                place=Place(0),
                insist=True,
            )

    def _answered(self, now: Nanoseconds, _reply: Message | None) -> Iterator[Action]:
        self._question = None
        self._due = now + self._interval
        yield from self._beaten(now)
