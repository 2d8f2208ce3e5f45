"""The client processes that are present: registration by HELLO, deregistration by BYE."""

from collections.abc import Callable, Iterator
from functools import partial

from netkv.control.base import Action, Nanoseconds, SendFrame
from netkv.control.message_numbers import is_newer
from netkv.model.messages import Datagram, Message, Stamp, encode
from netkv.model.topology import client_ip
from netkv.schemes.farreach.checkpoint import Checkpoint

_INDEX = 0x7FFF
"""Bits of an address that hold the number of the client."""


class Clients:
    """The client processes from which a recovery collects records.

    Rules
    -----
    1. A process is saved before its HELLO is answered.
    2. While the switch is closed, no HELLO is answered. A recovery may first collect the records of
       the client, which then gets the incarnation with RECOVERED.
    3. A late copy of BYE, known by its number, does not deregister a process that has sent HELLO
       since.
    4. A process that a recovery has given up is *absent* until its next HELLO.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        incarnation: Callable[[], int],
        is_open: Callable[[], bool],
        arrives: Callable[[int], None],
        leaves: Callable[[int], None],
    ) -> None:
        """`arrives` and `leaves` are called for each process that registers or deregisters."""
        self._checkpoint = checkpoint
        self._incarnation = incarnation
        self._is_open = is_open
        self._arrives = arrives
        self._leaves = leaves
        self._hellos: dict[int, Message] = {}  # address → HELLO that is not answered
        self._unsaved: set[int] = set()
        self._last: dict[int, Message] = {}  # address → last HELLO

    def present(self) -> list[int]:
        """Addresses of the processes that are present, as far as the controller knows."""
        return [address for address, present in self._checkpoint.clients.items() if present]

    def hello(self, datagram: Datagram) -> Iterator[Action]:
        """A process registers."""
        address, clients = datagram.source, self._checkpoint.clients
        if not _is_client(address):
            return
        self._hellos[address] = self._last[address] = datagram.message
        if not clients.get(address):
            if address not in clients:
                self._unsaved.add(address)
            clients[address] = True
            self._checkpoint.save(partial(self._saved, address))
            self._arrives(address)
        yield from self.answer()

    def bye(self, datagram: Datagram) -> Iterator[Action]:
        """A process deregisters."""
        address, message = datagram.source, datagram.message
        if not _is_client(address):
            return
        last = self._last.get(address)
        is_late = last is not None and not is_newer(message.request, last.request)
        if address in self._checkpoint.clients and not is_late:
            del self._checkpoint.clients[address]
            self._hellos.pop(address, None)
            self._unsaved.discard(address)
            self._leaves(address)
            self._checkpoint.save()
        yield SendFrame(encode(message.reply(), destination=address))

    def answer(self) -> Iterator[Action]:
        """Answer every HELLO that may be answered now."""
        if not self._is_open():
            return
        for address in [each for each in self._hellos if each not in self._unsaved]:
            reply = self._hellos.pop(address).reply(stamp=Stamp(self._incarnation()))
            yield SendFrame(encode(reply, destination=address))

    def resave(self) -> None:
        """Save again the processes whose save was under way before the switch restarted."""
        for address in self._unsaved:
            self._checkpoint.save(partial(self._saved, address))

    def _saved(self, address: int, _now: Nanoseconds) -> Iterator[Action]:
        self._unsaved.discard(address)
        yield from self.answer()


def client_of(address: int) -> int:
    """The number of the client at this address."""
    return address & _INDEX


def _is_client(address: int) -> bool:
    return address & ~_INDEX == client_ip(1) & ~_INDEX
