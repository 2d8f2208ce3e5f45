"""RELEASE: clients drop preserved records that the snapshot in force contains."""

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from netkv.control.base import Action, Nanoseconds
from netkv.control.pending_requests import PendingRequest, PendingRequests
from netkv.kits.write_back.context import to_client
from netkv.kits.write_back.record import Record
from netkv.model.messages import Message, Op, Stamp
from netkv.model.topology import KEY_BYTES
from netkv.schemes.farreach.snapshot import Taken

PAIRS = 42
"""Pairs of key and sequence in a part, whose value has up to 1,024 bytes."""
WINDOW = 16
"""Unanswered parts for each client, at most."""

_PAIR = struct.Struct("!16sII")


def parts_of(records: Iterable[Record]) -> tuple[bytes, ...]:
    """The values of the parts of a RELEASE, which has at least one part."""
    pair = _PAIR.pack
    pairs = [pair(record.key, record.incarnation, record.number) for record in records]
    return tuple(
        b"".join(pairs[first : first + PAIRS]) for first in range(0, max(len(pairs), 1), PAIRS)
    )


@dataclass(slots=True)
class _Round:
    """A RELEASE to one client."""

    number: int
    point: Nanoseconds
    parts: Sequence[bytes]
    unsent: list[int]
    waiting: dict[int, PendingRequest] = field(default_factory=dict)


class Releases:
    """RELEASEs that are under way.

    Rules
    -----
    1. A snapshot is released when it is saved, and not before. So no controller, this or the next,
       releases a number twice, and parts of two lists are never mixed.
    2. A client gets the RELEASE of a snapshot only if it had answered the previous RELEASE before
       the snapshot point; otherwise the snapshot is skipped for it. Clients rely on this: a record
       preserved before one RELEASE is known, or durable, at the point of the next.
    3. A restart of the switch does not end a RELEASE: its snapshot stays in force.
    """

    def __init__(
        self,
        pending: PendingRequests,
        on_answered: Callable[[Nanoseconds, int, Nanoseconds], Iterable[Action]],
    ) -> None:
        """`on_answered` gets the client's address and the snapshot point of the RELEASE."""
        self._pending = pending
        self._on_answered = on_answered
        self._rounds: dict[int, _Round] = {}
        self._answered_at: dict[int, Nanoseconds] = {}

    def __len__(self) -> int:
        """Clients that have not answered a RELEASE."""
        return len(self._rounds)

    def forget(self, address: int) -> None:
        """The process at this address has deregistered."""
        self._answered_at.pop(address, None)
        gone = self._rounds.pop(address, None)
        for pending_request in gone.waiting.values() if gone else ():
            self._pending.cancel(pending_request)

    def begin(self, taken: Taken, clients: Iterable[int]) -> None:
        """The snapshot is saved: send RELEASE to the clients that may get it."""
        parts = parts_of(taken.records)
        for address in clients:
            answered_at = self._answered_at.get(address, taken.point)
            if address in self._rounds or answered_at > taken.point:
                continue
            every = list(range(len(parts)))
            self._rounds[address] = _Round(taken.number, taken.point, parts, every)
            self._send(address)

    def pause(self) -> None:
        """The switch has restarted: pending requests will not be answered."""
        for each in self._rounds.values():
            each.unsent = sorted({*each.unsent, *each.waiting})
            each.waiting.clear()

    def resume(self) -> None:
        """Send the parts that are not answered again."""
        for address in self._rounds:
            self._send(address)

    def _send(self, address: int) -> None:
        each = self._rounds[address]
        while each.unsent and len(each.waiting) < WINDOW:
            part = each.unsent.pop(0)
            each.waiting[part] = self._pending.send(
                Op.RELEASE,
                bytes(KEY_BYTES),
                partial(self._part_answered, address, each, part),
                to=to_client(address),
                stamp=Stamp(each.number, part << 16 | len(each.parts)),
                value=each.parts[part],
                insist=True,
            )

    def _part_answered(
        self, address: int, each: _Round, part: int, now: Nanoseconds, _reply: Message | None
    ) -> Iterator[Action]:
        del each.waiting[part]
        self._send(address)
        if each.waiting or each.unsent:
            return
        del self._rounds[address]
        self._answered_at[address] = now
        yield from self._on_answered(now, address, each.point)
