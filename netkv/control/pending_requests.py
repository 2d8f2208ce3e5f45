"""Requests to switch, servers and clients that are pending, and the callback of each."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from netkv._engine import Outstanding
from netkv.control.base import Action, Nanoseconds, Note, SendFrame
from netkv.model.messages import CacheMetadata, Message, Op, Slot, Stamp, Status
from netkv.model.topology import SERVICE_IP

Then: TypeAlias = Callable[[Nanoseconds, Message | None], Iterable[Action]]
"""Called with the reply; with None if the request is given up."""


def no_action(_now: Nanoseconds, _reply: Message | None) -> Iterable[Action]:
    """Nothing follows from the reply."""
    return ()


ANSWERS = frozenset((Status.OK, Status.NOT_FOUND, Status.STALE, Status.TOO_LARGE))
"""Statuses that answer a request with `insist`; any other status means "not now"."""


@dataclass(frozen=True, slots=True)
class To:
    """A receiver. Without a name its silence is not noted.

    `lane`: its number in `Outstanding`, if it has a deduplication window. `switch`: the switch that
    gets the frame from the controller; empty in a control plane of one switch. `upper`: whether
    messages are about the copy in the upper layer of switches.
    """

    name: str = ""
    address: int = SERVICE_IP
    lane: int | None = None
    switch: str = ""
    upper: bool = False


TO_SWITCH = To("switch")


@dataclass(slots=True, eq=False)
class PendingRequest:
    """A request and its callback `then`."""

    op: Op
    key: bytes
    to: To
    then: Then
    cache_metadata: CacheMetadata | None
    stamp: Stamp | None
    slot: Slot | None
    value: bytes
    tries: int
    insist: bool
    request: int = 0


class PendingRequests:
    """The requests without a reply.

    Rules
    -----
    1. A reply counts once, and only with the number of a pending request; a copy has no effect.
    2. A request with `insist` is sent until it is answered. When its tries are used up, it is sent
       again under a new number, and its receiver is noted as silent, once until it answers. A reply
       that means "not now" does not answer it.
    3. Any other request is given up when its tries are used up.
    """

    def __init__(self, outstanding: Outstanding, tries: int, counts: Counter[str]) -> None:
        """`tries`: transmissions of a request before its receiver counts as silent."""
        self.outstanding = outstanding
        self._tries = tries
        self._counts = counts
        self._waiting: dict[int, PendingRequest] = {}
        self.silent: set[str] = set()
        """Names of the silent receivers."""

    def __len__(self) -> int:
        return len(self._waiting)

    def send(
        self,
        op: Op,
        key: bytes,
        then: Then,
        *,
        to: To = TO_SWITCH,
        cache_metadata: CacheMetadata | None = None,
        stamp: Stamp | None = None,
        slot: Slot | None = None,
        value: bytes = b"",
        tries: int = 0,
        insist: bool = False,
    ) -> PendingRequest:
        """Send a request with the next `ready`; `tries` 0 means the default number."""
        tries = tries or self._tries
        pending_request = PendingRequest(
            op, key, to, then, cache_metadata, stamp, slot, value, tries, insist
        )
        self._add(pending_request)
        return pending_request

    def cancel(self, request: PendingRequest | None) -> None:
        """Drop a request, if it is pending; its callback is not called."""
        if request is not None and self._waiting.pop(request.request, None) is not None:
            self.outstanding.cancel(request.request)

    def drop(self, which: Callable[[PendingRequest], bool]) -> None:
        """Drop the requests for which `which` is true."""
        for request in [it for it in self._waiting.values() if which(it)]:
            self.cancel(request)

    def clear(self) -> None:
        """Drop all requests."""
        self._waiting.clear()
        self.outstanding.clear()
        self.silent.clear()

    def deadline(self) -> Nanoseconds | None:
        """When a request is to be sent or repeated."""
        return self.outstanding.deadline()

    def ready(self, now: Nanoseconds) -> list[SendFrame]:
        """The requests to be sent now for the first time."""
        return self.outstanding.ready(now)

    def on_reply(self, now: Nanoseconds, reply: Message) -> Iterable[Action]:
        """A reply to a message of the controller."""
        pending_request = self._waiting.get(reply.request)
        if pending_request is not None and pending_request.insist and reply.status not in ANSWERS:
            self._counts["refused_for_now"] += 1
            return ()
        if pending_request is None or not self.outstanding.answered(now, reply):
            self._counts["stray_replies"] += 1
            return ()
        del self._waiting[reply.request]
        name = pending_request.to.name
        if name in self.silent:
            self.silent.discard(name)
            # Not `Continued`: what waits for the receiver may be due.
            return tuple(pending_request.then(now, reply))
        return pending_request.then(now, reply)

    def on_timer(self, now: Nanoseconds) -> Iterator[Action]:
        """Retransmit requests, and give up those without a try left."""
        while (expired := self.outstanding.next_expired(now)) is not None:
            request, frame = expired
            if frame is not None:
                yield SendFrame(frame, switch=self._waiting[request].to.switch)
                continue
            self._counts["messages_given_up"] += 1
            pending_request = self._waiting.pop(request)
            name = pending_request.to.name
            if name and pending_request.tries >= self._tries and name not in self.silent:
                self.silent.add(name)
                yield Note("no answer", {"from": name, "to": pending_request.op.name})
            if pending_request.insist:
                self._add(pending_request)
            else:
                yield from pending_request.then(now, None)

    def _add(self, pending_request: PendingRequest) -> None:
        to = pending_request.to
        request = self.outstanding.add(
            pending_request.op,
            pending_request.key,
            pending_request.tries,
            to.lane,
            to.address,
            to.upper,
            pending_request.cache_metadata,
            pending_request.stamp,
            pending_request.slot,
            pending_request.value,
            to.switch,
        )
        pending_request.request = request
        self._waiting[request] = pending_request
