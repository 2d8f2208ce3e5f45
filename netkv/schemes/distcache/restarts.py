"""Servers that have restarted, and learn again which upper copies their keys have."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from netkv.control.base import SendFrame
from netkv.kits.write_through.cache import Cache
from netkv.kits.write_through.entries import Record, State
from netkv.model.messages import Datagram, encode

WINDOW = 4096
"""Requests of a server that are remembered as answered."""


@dataclass(slots=True)
class _Restart:
    """RESTARTED of a server, until it is answered."""

    datagram: Datagram
    switch: str
    """The switch that the frame has come from."""
    waits_for: list[tuple[Cache, Record]]


class Restarts:
    """Answers to RESTARTED.

    Rules
    -----
    1. RESTARTED is answered when every upper copy of the server's keys is installed again or
       evicted: then the server knows all of them. An answer to an INSTALL that was sent before may
       be that of the server before its restart, and does not count.
    2. Its copies are answered together with it, and later ones at once.
    3. Nothing is answered while a switch of clients may send reads to an upper switch that does not
       serve (`UpperService.settled`): entries that the controller no longer knows may be there.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], _Restart] = {}
        """By sender and request number."""
        self._answered: dict[tuple[int, int], None] = {}

    def on_restarted(
        self, datagram: Datagram, switch: str, copies: Iterable[tuple[Cache, Record]]
    ) -> None:
        """A server has started. `copies`: the records of its keys in upper caches."""
        message = datagram.message
        request = (message.sender, message.request)
        if request in self._open:
            return
        waits_for = []
        if request not in self._answered:
            for cache, record in copies:
                if record.state in (State.CACHED, State.INSTALLING):
                    cache.install_again(record)
                if record.state in (State.INSTALLING, State.DELETING):
                    waits_for.append((cache, record))
        self._open[request] = _Restart(datagram, switch, waits_for)

    def answers(self) -> Iterator[SendFrame]:
        """The answers that can be given now."""
        for request, restart in list(self._open.items()):
            restart.waits_for = [it for it in restart.waits_for if not _is_settled(*it)]
            if restart.waits_for:
                continue
            del self._open[request]
            self._answered[request] = None
            if len(self._answered) > WINDOW:
                del self._answered[next(iter(self._answered))]
            datagram = restart.datagram
            reply = datagram.message.reply()
            yield SendFrame(encode(reply, destination=datagram.source), switch=restart.switch)


def _is_settled(cache: Cache, record: Record) -> bool:
    present = cache.records.get(record.generation)
    return present is None or present.state is State.CACHED
