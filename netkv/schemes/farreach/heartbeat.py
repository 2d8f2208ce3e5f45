"""The heartbeat of the control channel: it shows that replies of the switch arrive."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds
from netkv.control.pending_requests import PendingRequest, PendingRequests
from netkv.model.messages import Message, Op, Slot, Stamp
from netkv.model.topology import KEY_BYTES

OnHeartbeat: TypeAlias = Callable[[Nanoseconds], Iterable[Action]]


class Heartbeat:
    """Sends a request to the switch at intervals, one at a time.

    A client counts as silent only while the switch answers: if the control channel is interrupted,
    no reply of any host arrives.
    """

    def __init__(self, pending: PendingRequests, interval: Nanoseconds) -> None:
        self._pending = pending
        self._interval = interval
        self._pending_request: PendingRequest | None = None
        self._due: Nanoseconds | None = None

    def start(self, now: Nanoseconds, on_heartbeat: OnHeartbeat) -> None:
        """Begin; `on_heartbeat` is called for each reply."""
        self.stop()
        self._on_heartbeat = on_heartbeat
        self._due = now + self._interval

    def stop(self) -> None:
        """Send no more requests."""
        self._due = None
        self._pending.cancel(self._pending_request)
        self._pending_request = None

    def deadline(self) -> Nanoseconds | None:
        """When to send the next request."""
        return self._due

    def on_timer(self, now: Nanoseconds) -> None:
        """Send the request, if it is due: COUNT of generation 0, which no entry has."""
        if self._due is not None and self._due <= now:
            self._due = None
            self._pending_request = self._pending.send(
                Op.COUNT,
                bytes(KEY_BYTES),
                self._answered,
                stamp=Stamp(),
                slot=Slot(0),
                insist=True,
            )

    def _answered(self, now: Nanoseconds, _reply: Message | None) -> Iterator[Action]:
        self._pending_request = None
        self._due = now + self._interval
        yield from self._on_heartbeat(now)
