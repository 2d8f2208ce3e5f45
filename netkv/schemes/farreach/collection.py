"""Collects the preserved records of all client processes."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds
from netkv.control.pending_requests import PendingRequests
from netkv.kits.write_back.record import Record
from netkv.schemes.farreach.client_collection import ClientCollection
from netkv.schemes.farreach.heartbeat import Heartbeat

MAX_MISSED = 8
"""Heartbeats for which a client may be silent."""

OnCollected: TypeAlias = Callable[[Nanoseconds], Iterable[Action]]
"""Called when the collection from all clients has ended."""


class Collection:
    """The records of all client processes.

    Rules
    -----
    1. A client that is silent for more than `MAX_MISSED` heartbeats is given up. A heartbeat counts
       only if the switch answers it: otherwise no reply of a client could arrive either.
    2. The records that a process has sent count, even if it deregisters before it has sent all.
    """

    def __init__(self, pending: PendingRequests, heartbeat: Heartbeat) -> None:
        self._pending = pending
        self._heartbeat = heartbeat
        self._clients: dict[int, ClientCollection] = {}
        self._former: list[ClientCollection] = []  # of processes that have deregistered
        self._on_collected: OnCollected | None = None
        self._incarnation = 0

    def begin(
        self, now: Nanoseconds, incarnation: int, clients: Iterable[int], then: OnCollected
    ) -> Iterator[Action]:
        """Collect from these clients, then call `then`; `incarnation` is the switch's new one."""
        self.clear()
        self._incarnation = incarnation
        self._on_collected = then
        for address in clients:
            self.include(address)
        self._heartbeat.start(now, self._on_heartbeat)
        yield from self._end_if_done(now)

    def clear(self) -> None:
        """Drop all collections and records."""
        self._clients.clear()
        self._former.clear()
        self._on_collected = None

    def include(self, address: int) -> None:
        """Collect from one more client, unless the collection has ended."""
        if self._on_collected is not None:
            self.leave(address)
            self._clients[address] = ClientCollection(
                self._pending, address, self._incarnation, self._end_if_done
            )

    def leave(self, address: int) -> None:
        """The process at this address has deregistered."""
        gone = self._clients.pop(address, None)
        if gone is not None:
            gone.give_up()
            self._former.append(gone)

    def waits_for(self, address: int) -> bool:
        """Whether the collection from this client is not complete."""
        return address in self._clients and not self._clients[address].done

    def records(self) -> list[Record]:
        """The records collected so far."""
        clients = (*self._former, *self._clients.values())
        return [record for each in clients for record in each.records]

    def lost(self) -> list[tuple[int, bool]]:
        """Clients whose list is incomplete, each with whether it was silent."""
        return [(address, each.silent) for address, each in self._clients.items() if each.lost]

    def _end_if_done(self, now: Nanoseconds) -> Iterator[Action]:
        if self._on_collected is not None and all(each.done for each in self._clients.values()):
            then, self._on_collected = self._on_collected, None
            self._heartbeat.stop()
            yield from then(now)

    def _on_heartbeat(self, now: Nanoseconds) -> Iterator[Action]:
        for each in self._clients.values():
            each.silence += 1
            if each.silence > MAX_MISSED and not each.done:
                each.silent = True
                each.give_up()
        yield from self._end_if_done(now)
