"""Which upper switches the switches of clients send reads to."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds
from netkv.schemes.distcache.switches import Switch

Then: TypeAlias = Callable[[Nanoseconds], Iterable[Action]]


@dataclass(slots=True, eq=False)
class _Exclusion:
    """An upper switch is taken out of service; `waiting`: switches that may still send reads."""

    waiting: set[str]
    then: Then


class UpperService:
    """Takes upper switches into service and out of it.

    Rules
    -----
    1. When an upper switch is gone, servers drop what they know of its entries only after every
       switch of clients has confirmed that it sends no more reads there. A switch that is wrongly
       thought to be gone then answers no read with an old value.
    2. A switch of clients that starts sends none: its tables are empty, and are filled for the
       present state. One that is gone, or that this controller has not seen yet, may only be out of
       its reach, and counts as sending until it starts.
    """

    def __init__(self, clients: Sequence[Switch]) -> None:
        """`clients`: the switches of clients."""
        self._clients = tuple(clients)
        self._exclusions: dict[int, _Exclusion] = {}
        """By the number of the upper switch."""
        self._unseen = {client.name for client in self._clients}
        """Switches of clients that have not started under this controller."""

    @property
    def settled(self) -> bool:
        """Whether no switch of clients sends reads to an upper switch that does not serve: each has
        started under this controller, and has confirmed what it was told."""
        return not self._unseen and not self._exclusions

    def include(self, number: int) -> Iterator[Action]:
        """An upper switch serves."""
        self._exclusions.pop(number, None)
        for client in self._clients:
            yield from client.set_service(number, True, lambda _now, _ok: ())

    def exclude(self, now: Nanoseconds, number: int, then: Then) -> Iterator[Action]:
        """An upper switch does not serve; call `then` when no read is sent to it any more."""
        sending = {client.name for client in self._clients}
        exclusion = self._exclusions[number] = _Exclusion(sending, then)
        for client in self._clients:
            done = partial(self._excluded, number, exclusion, client.name)
            yield from client.set_service(number, False, done)
        yield from self._end(now, number)

    def _excluded(
        self, number: int, exclusion: _Exclusion, client: str, now: Nanoseconds, ok: bool
    ) -> Iterable[Action]:
        # A refused write leaves the old entry: then the servers wait for the switch itself.
        if not ok or self._exclusions.get(number) is not exclusion:
            return ()
        exclusion.waiting.discard(client)
        return self._end(now, number)

    def client_started(self, now: Nanoseconds, client: str) -> Iterator[Action]:
        """A switch of clients has started (rule 2)."""
        self._unseen.discard(client)
        for number, exclusion in list(self._exclusions.items()):
            exclusion.waiting.discard(client)
            yield from self._end(now, number)

    def _end(self, now: Nanoseconds, number: int) -> Iterable[Action]:
        exclusion = self._exclusions[number]
        if exclusion.waiting:
            return ()
        del self._exclusions[number]
        return exclusion.then(now)
