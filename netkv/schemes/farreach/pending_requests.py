"""What the controller asks switch, servers and clients, and what follows from each answer."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds, Note, SendFrame
from netkv.control.messages import Message, Op, Place, Stamp, Status
from netkv.control.outstanding import Outstanding
from netkv.control.topology import SERVICE_IP

Then: TypeAlias = Callable[[Nanoseconds, Message | None], Iterable[Action]]
"""What follows from the answer; from None if there will be none."""

ANSWERS = frozenset((Status.OK, Status.NOT_FOUND, Status.STALE, Status.TOO_LARGE))
"""Any other reply says "not now"."""

SWITCH = "switch"


@dataclass(frozen=True, slots=True)
class To:
    """Who is asked. `lane`: of a receiver that remembers message numbers (`Outstanding`)."""

    name: str
    address: int = SERVICE_IP
    lane: int | None = None


TO_SWITCH = To(SWITCH)


@dataclass(slots=True, eq=False)
class PendingRequest:
    """A request, and what follows from its answer."""

    op: Op
    key: bytes
    to: To
    then: Then
    stamp: Stamp | None
    place: Place | None
    value: bytes
    tries: int
    insist: bool
    request: int = 0


class PendingRequests:
    """The questions that are not answered.

    Rules
    -----
    1. An answer counts once, and to a number that waits; a copy changes nothing.
    2. A question that insists is asked until it is answered: when its tries are used up, it is
       asked again under a new number, and whoever is silent is named, once until he answers. A
       reply that means "not now" is no answer to it.
    3. Any other question is given up when its tries are used up.
    """

    def __init__(self, outstanding: Outstanding, tries: int, counts: Counter[str]) -> None:
        """`tries`: before a silence is noted."""
        self._outstanding = outstanding
        self._tries = tries
        self._counts = counts
        self._waiting: dict[int, PendingRequest] = {}
        self.silent: set[str] = set()
        """Names of those who did not answer so many times in a row."""

    def __len__(self) -> int:
        return len(self._waiting)

    def ask(
        self,
        op: Op,
        key: bytes,
        then: Then,
        *,
        to: To = TO_SWITCH,
        stamp: Stamp | None = None,
        place: Place | None = None,
        value: bytes = b"",
        tries: int = 0,
        insist: bool = False,
    ) -> PendingRequest:
        """Ask; `tries` 0 means as often as usual."""
        tries = tries or self._tries
        question = PendingRequest(op, key, to, then, stamp, place, value, tries, insist)
        self._send(question)
        return question

    def cancel(self, question: PendingRequest) -> None:
        """Nobody wants to know any more."""
        if self._waiting.pop(question.request, None) is not None:
            self._outstanding.cancel(question.request)

    def clear(self) -> None:
        """Nobody wants to know anything any more."""
        self._waiting.clear()
        self._outstanding.clear()
        self.silent.clear()

    def deadline(self) -> Nanoseconds | None:
        """When something is to be sent."""
        return self._outstanding.deadline()

    def ready(self, now: Nanoseconds) -> Iterator[SendFrame]:
        """What is to be sent for the first time."""
        for message in self._outstanding.ready(now):
            yield SendFrame(self._outstanding.frame(message))

    def on_reply(self, now: Nanoseconds, reply: Message) -> Iterator[Action]:
        """A reply to a message of the controller."""
        question = self._waiting.get(reply.request)
        if question is not None and question.insist and reply.status not in ANSWERS:
            self._counts["refused_for_now"] += 1
            return
        if question is None or self._outstanding.answered(now, reply) is None:
            self._counts["stray_replies"] += 1
            return
        del self._waiting[reply.request]
        self.silent.discard(question.to.name)
        yield from question.then(now, reply)

    def on_timer(self, now: Nanoseconds) -> Iterator[Action]:
        """Repeat, and give up."""
        for message, again in self._outstanding.expired(now):
            if again:
                yield SendFrame(self._outstanding.frame(message))
                continue
            self._counts["messages_given_up"] += 1
            question = self._waiting.pop(message.request)
            name = question.to.name
            if question.tries >= self._tries and name not in self.silent:
                self.silent.add(name)
                yield Note("no answer", {"from": name, "to": question.op.name})
            if question.insist:
                self._send(question)
            else:
                yield from question.then(now, None)

    def _send(self, question: PendingRequest) -> None:
        question.request = self._outstanding.add(
            question.op,
            question.key,
            None,
            question.tries,
            question.to.lane,
            stamp=question.stamp,
            place=question.place,
            value=question.value,
            to=question.to.address,
        )
        self._waiting[question.request] = question
