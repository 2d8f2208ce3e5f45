"""Client processes: who is there (HELLO, BYE)."""

from collections.abc import Callable, Iterator
from functools import partial

from netkv.control.base import Action, Nanoseconds, SendFrame
from netkv.control.message_numbers import is_newer
from netkv.control.messages import Datagram, Message, Stamp, encode
from netkv.control.topology import client_ip
from netkv.schemes.farreach.checkpoint import Checkpoint

_INDEX = 0x7FFF
"""Bits of an address that tell the client."""


class Clients:
    """The processes that would have to be asked after a crash.

    Rules
    -----
    1. A process is known when its HELLO is answered, and it is saved before that.
    2. While the switch is closed no HELLO is answered: the client may have to tell first what it
       has preserved, and hears the life with RECOVERED.
    3. A late copy of BYE, by its number, is not about the process that has said HELLO since.
    4. One that a recovery has given up is *absent* until its next HELLO.
    """

    def __init__(
        self,
        keeper: Checkpoint,
        *,
        life: Callable[[], int],
        is_open: Callable[[], bool],
        arrives: Callable[[int], None],
        leaves: Callable[[int], None],
    ) -> None:
        """`arrives` hears of processes that were not there before, `leaves` of those that go."""
        self._keeper = keeper
        self._life = life
        self._is_open = is_open
        self._arrives = arrives
        self._leaves = leaves
        self._hellos: dict[int, Message] = {}  # not answered
        self._unsaved: set[int] = set()
        self._last: dict[int, Message] = {}  # HELLO of each

    def present(self) -> list[int]:
        """Addresses of the processes that are there, as far as is known."""
        return [address for address, present in self._keeper.clients.items() if present]

    def hello(self, datagram: Datagram) -> Iterator[Action]:
        """A process says that it is there."""
        address, clients = datagram.source, self._keeper.clients
        if not _is_client(address):
            return
        self._hellos[address] = self._last[address] = datagram.message
        if not clients.get(address):
            if address not in clients:
                self._unsaved.add(address)
            clients[address] = True
            self._keeper.save(partial(self._saved, address))
            self._arrives(address)
        yield from self.answer()

    def bye(self, datagram: Datagram) -> Iterator[Action]:
        """A process leaves."""
        address, message = datagram.source, datagram.message
        if not _is_client(address):
            return
        last = self._last.get(address)
        is_late = last is not None and not is_newer(message.request, last.request)
        if address in self._keeper.clients and not is_late:
            del self._keeper.clients[address]
            self._hellos.pop(address, None)
            self._unsaved.discard(address)
            self._leaves(address)
            self._keeper.save()
        yield SendFrame(encode(message.reply(), destination=address))

    def answer(self) -> Iterator[Action]:
        """Answer those who may be answered now."""
        if not self._is_open():
            return
        for address in [each for each in self._hellos if each not in self._unsaved]:
            reply = self._hellos.pop(address).reply(stamp=Stamp(self._life()))
            yield SendFrame(encode(reply, destination=address))

    def resave(self) -> None:
        """Those that were to be saved when everything was forgotten still are."""
        for address in self._unsaved:
            self._keeper.save(partial(self._saved, address))

    def _saved(self, address: int, _now: Nanoseconds) -> Iterator[Action]:
        self._unsaved.discard(address)
        yield from self.answer()


def client_of(address: int) -> int:
    """The number of the client at this address."""
    return address & _INDEX


def _is_client(address: int) -> bool:
    return address & ~_INDEX == client_ip(1) & ~_INDEX
