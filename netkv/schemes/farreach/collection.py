"""Gets from all client processes what they have preserved."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds
from netkv.schemes.farreach.client_collection import Collecting
from netkv.schemes.farreach.heartbeat import Heartbeat
from netkv.schemes.farreach.pending_requests import PendingRequests
from netkv.schemes.farreach.record import Record

BEATS = 8
"""Heartbeats in the time for which a client may be silent."""

Told: TypeAlias = Callable[[Nanoseconds], Iterable[Action]]
"""What follows when all clients have told what they will."""


class Collection:
    """What all clients tell.

    Rules
    -----
    1. A client that is silent for so long is given up. Only time counts in which the switch
       answers: else nobody could have been heard.
    2. What a process has told counts, also if it is gone before it has told all.
    """

    def __init__(self, questions: PendingRequests, heartbeat: Heartbeat) -> None:
        self._questions = questions
        self._heartbeat = heartbeat
        self._clients: dict[int, Collecting] = {}
        self._former: list[Collecting] = []  # of processes that are gone
        self._told: Told | None = None
        self._life = 0

    def begin(
        self, now: Nanoseconds, life: int, clients: Iterable[int], told: Told
    ) -> Iterator[Action]:
        """Ask these; `life` is the new one."""
        self.clear()
        self._life = life
        self._told = told
        for address in clients:
            self.include(address)
        self._heartbeat.start(now, self._beaten)
        yield from self._look(now)

    def clear(self) -> None:
        """Nobody is asked, and nothing known."""
        self._clients.clear()
        self._former.clear()
        self._told = None

    def include(self, address: int) -> None:
        """Ask one more, if it is not too late."""
        if self._told is not None:
            self.leave(address)
            self._clients[address] = Collecting(self._questions, address, self._life, self._look)

    def leave(self, address: int) -> None:
        """The process there is gone."""
        gone = self._clients.pop(address, None)
        if gone is not None:
            gone.give_up()
            self._former.append(gone)

    def waits_for(self, address: int) -> bool:
        """Whether the client there has yet to tell something."""
        return address in self._clients and not self._clients[address].done

    def records(self) -> list[Record]:
        """What was told."""
        told = (*self._former, *self._clients.values())
        return [record for each in told for record in each.records]

    def lost(self) -> list[tuple[int, bool]]:
        """Clients that did not tell all, each with whether it was silent."""
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
