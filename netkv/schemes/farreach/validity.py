"""Changes of the validity of entries, and how a snapshot delays them."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds
from netkv.control.messages import Message, Op, Place, Stamp
from netkv.control.pending_requests import PendingRequests
from netkv.schemes.farreach.entries import Entry

Changed: TypeAlias = Callable[[Nanoseconds, Entry, Message], Iterable[Action]]
"""Called when the switch has answered VALIDATE, EVICT or RETIRE."""


class Validity:
    """VALIDATE, EVICT and RETIRE that are under way.

    Rules
    -----
    1. Each is repeated until it is answered.
    2. While the gate is closed none is sent. It is *still* when, besides, all that were sent are
       answered: the controller then knows which entries are valid, and that stays so.
    3. An EVICT that is sent between a snapshot point and the end of its snapshot names the snapshot
       (`number`), so that its answer says whether the record is as it was at the point.
    """

    def __init__(self, pending: PendingRequests) -> None:
        self._pending = pending
        self._under_way = 0
        self._closed = False
        self._held: list[tuple[Op, Entry, Changed]] = []
        self._when_still: Callable[[Nanoseconds], Iterable[Action]] | None = None
        self.number = 0
        """The snapshot that is being taken; 0 for none."""

    def change(self, op: Op, entry: Entry, then: Changed) -> None:
        """Send the message, or hold it until the gate opens."""
        if self._closed:
            self._held.append((op, entry, then))
            return
        self._under_way += 1

        def changed(now: Nanoseconds, reply: Message | None) -> Iterator[Action]:
            assert reply is not None, "it is repeated until it is answered"
            self._under_way -= 1
            yield from then(now, entry, reply)
            yield from self._notice(now)

        self._pending.ask(
            op,
            entry.key,
            changed,
            stamp=Stamp(generation=entry.generation),
            place=Place(entry.entry, self.number if op is Op.EVICT else 0),
            insist=True,
        )

    def close(
        self, now: Nanoseconds, when_still: Callable[[Nanoseconds], Iterable[Action]]
    ) -> Iterator[Action]:
        """Send no more; `when_still` is called once."""
        self._closed = True
        self._when_still = when_still
        yield from self._notice(now)

    def open(self) -> None:
        """Send what was held, and go on."""
        self._closed = False
        self._when_still = None
        held, self._held = self._held, []
        for op, entry, then in held:
            self.change(op, entry, then)

    def clear(self) -> None:
        """The switch has restarted and lost its state."""
        self._under_way = 0
        self._closed = False
        self._held.clear()
        self._when_still = None
        self.number = 0

    def _notice(self, now: Nanoseconds) -> Iterator[Action]:
        if self._closed and not self._under_way and self._when_still is not None:
            when_still, self._when_still = self._when_still, None
            yield from when_still(now)
