"""Changes of the validity of entries, and their delay at a snapshot point."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from netkv.control.base import Action, Continued, Nanoseconds
from netkv.control.pending_requests import PendingRequests, To
from netkv.kits.write_back.entries import Entry
from netkv.model.messages import Message, Op, Slot, Stamp

Changed: TypeAlias = Callable[[Nanoseconds, Entry, Message], Iterable[Action]]
"""Called when the switch has answered VALIDATE, EVICT or RETIRE."""


class Validity:
    """VALIDATE, EVICT and RETIRE that are under way.

    Rules
    -----
    1. Each is repeated until it is answered.
    2. While the gate is closed, none is sent. The gate is *still* when it is closed and all sent
       messages are answered. Then the controller knows which entries are valid, and none changes.
    3. An EVICT that is sent between a snapshot point and the end of its snapshot carries the number
       of the snapshot. Its reply then shows whether the record has changed since the point.
    """

    def __init__(self, pending: PendingRequests) -> None:
        self._pending = pending
        self._under_way = 0
        self._closed = False
        self._held: list[tuple[Op, Entry, To, Changed]] = []
        self._when_still: Callable[[Nanoseconds], Iterable[Action]] | None = None
        self.number = 0
        """The snapshot that is being taken; 0 for none."""

    def change(self, op: Op, entry: Entry, to: To, then: Changed) -> None:
        """Send the message to a switch, or hold it until the gate opens."""
        if self._closed:
            self._held.append((op, entry, to, then))
            return
        self._under_way += 1

        def changed(now: Nanoseconds, reply: Message | None) -> Iterable[Action]:
            assert reply is not None, "the message is repeated until it is answered"
            self._under_way -= 1
            actions = then(now, entry, reply)
            if isinstance(actions, Continued) and not self._closed:
                return actions
            return [*actions, *self._report_still(now)]

        self._pending.send(
            op,
            entry.key,
            changed,
            to=to,
            stamp=Stamp(generation=entry.generation),
            slot=Slot(entry.entry, self.number if op is Op.EVICT else 0),
            insist=True,
        )

    def close(
        self, now: Nanoseconds, when_still: Callable[[Nanoseconds], Iterable[Action]]
    ) -> Iterator[Action]:
        """Close the gate; `when_still` is called once, when it is still."""
        self._closed = True
        self._when_still = when_still
        yield from self._report_still(now)

    def open(self) -> None:
        """Open the gate, and send the messages that were held."""
        self._closed = False
        self._when_still = None
        held, self._held = self._held, []
        for op, entry, to, then in held:
            self.change(op, entry, to, then)

    def clear(self) -> None:
        """The switch has restarted and lost its state."""
        self._under_way = 0
        self._closed = False
        self._held.clear()
        self._when_still = None
        self.number = 0

    def _report_still(self, now: Nanoseconds) -> Iterator[Action]:
        if self._closed and not self._under_way and self._when_still is not None:
            when_still, self._when_still = self._when_still, None
            yield from when_still(now)
