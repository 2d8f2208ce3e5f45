"""Collects the preserved records of all client processes."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds
from netkv.control.pending_requests import PendingRequests
from netkv.schemes.farreach.client_collection import ClientCollection
from netkv.schemes.farreach.heartbeat import Heartbeat
from netkv.schemes.farreach.record import Record

BEATS = 8
"""Heartbeats in the time for which a client may be silent."""

Told: TypeAlias = Callable[[Nanoseconds], Iterable[Action]]
"""Called when the collection from all clients has ended."""


class Collection:
    """The records of all clients.

    Rules
    -----
    1. A client that is silent for so long is given up. Only time counts in which the switch
       answers: else nobody could have been heard.
    2. What a process has told counts, also if it is gone before it has told all.
    """

    def __init__(self, pending: PendingRequests, heartbeat: Heartbeat) -> None:
        self._pending = pending
        self._heartbeat = heartbeat
        self._clients: dict[int, ClientCollection] = {}
        self._former: list[ClientCollection] = []  # of processes that are gone
        self._told: Told | None = None
        self._incarnation = 0

    def begin(
        self, now: Nanoseconds, incarnation: int, clients: Iterable[int], told: Told
    ) -> Iterator[Action]:
        """Collect from these; `incarnation` is the new one of the switch."""
        self.clear()
        self._incarnation = incarnation
        self._told = told
        for address in clients:
            self.include(address)
        self._heartbeat.start(now, self._beaten)
        yield from self._look(now)

    def clear(self) -> None:
        """Drop all collections and records."""
        self._clients.clear()
        self._former.clear()
        self._told = None

    def include(self, address: int) -> None:
        """Collect from one more, unless the collection has ended."""
        if self._told is not None:
            self.leave(address)
            self._clients[address] = ClientCollection(
                self._pending, address, self._incarnation, self._look
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
        told = (*self._former, *self._clients.values())
        return [record for each in told for record in each.records]

    def lost(self) -> list[tuple[int, bool]]:
        """Clients whose list is incomplete, each with whether it was silent."""
        return [(address, each.silent) for address, each in self._clients.items() if each.lost]

    def _look(self, now: Nanoseconds) -> Iterator[Action]:
        if self._told is not None and all(each.done for each in self._clients.values()):
            told, self._told = self._told, None
            self._heartbeat.stop()
            yield from told(now)

    def _beaten(self, now: Nanoseconds) -> Iterator[Action]:
        for each in self._clients.values():
            each.silence += 1
            if each.silence > BEATS and not each.done:
                each.silent = True
                each.give_up()
        yield from self._look(now)
