"""The classes that roles in Python inherit, and what their methods take and give."""

# Hooks take what the interface gives, needed or not.
# ruff: noqa: ARG002

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from netkv.control.messages import Datagram, Op, Stamp, Status, encode

Verdict = Literal["accept", "ignore", "malformed"]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What a server is told."""

    server: int
    """Which server it is, from 0."""
    servers: int
    """Servers that share the keys."""
    first_request: int
    """First number of requests of its own: above all that it used before it started again."""
    epoch: int
    """What a clock that goes on while the server is down showed at the driver's time 0
    (nanoseconds): `epoch + now` never runs backwards, also when the server starts again."""
    service_rate: float | None
    """Requests of clients served in a second, if limited."""
    service_queue: int
    """Requests that may wait for service."""


def sequence_stamp(sequence: int, generation: int = 0) -> Stamp:
    """A stamp with a sequence, of which the stamp has the upper and the lower 32 bits."""
    return Stamp(sequence >> 32, sequence & 0xFFFF_FFFF, generation)


class Actions:
    """What a role wants done. Methods of a role call it; the engine reads `taken`."""

    def __init__(self, keeps_sequences: bool = False) -> None:
        self.taken: list[tuple[Any, ...]] = []
        self._keeps_sequences = keeps_sequences

    def _checked(self, sequence: int | None) -> int | None:
        if sequence is not None and not self._keeps_sequences:
            raise ValueError("a write has a sequence, but 'keeps_sequences' of its role is false")
        return sequence

    def send(self, frame: bytes) -> None:
        """Send a frame (`netkv.control.messages.encode`)."""
        self.taken.append(("send", frame))


def _reply(request: Datagram, status: Status, value: bytes, stamp: Stamp | None) -> bytes:
    message = request.message.reply(status=status, value=value, length=len(value), stamp=stamp)
    return encode(message, source=request.destination, destination=request.source)


class RequestActions(Actions):
    """What a server of single keys wants done."""

    def read(self, request: Datagram) -> None:
        """Read the record of a request's key: `on_value` follows. If the store fails, a read is
        answered REJECTED, and a copy of a write is not answered."""
        about = request.message
        refused = request.source if about.op is Op.GET else None
        self.taken.append(("read", about.key, about.sender, about.request, refused, request))

    def answer(
        self,
        request: Datagram,
        status: Status = Status.OK,
        value: bytes = b"",
        stamp: Stamp | None = None,
    ) -> None:
        """Answer a read, or the copy of a write."""
        about = request.message
        frame = _reply(request, status, value, stamp)
        self.taken.append(("answer", about.sender, about.request, frame))

    def store(self, write: Datagram, sequence: int | None = None) -> None:
        """Hand the write under way to the store: `on_stored` follows. With `sequence` (64 bits) the
        store keeps that with the record, and a delete leaves it behind; `keeps_sequences` is true
        then. If the store fails, the write is answered REJECTED and is over."""
        self.taken.append(("store", write.message.key, self._checked(sequence)))

    def end(self, write: Datagram, status: Status = Status.OK, stamp: Stamp | None = None) -> None:
        """Answer the write under way; the next one of its key begins."""
        frame = _reply(write, status, b"", stamp)
        self.taken.append(("end", write.message.key, status, frame))


class SingleKeyServer:
    """A storage server of single keys. As it stands it is one without a cache.

    Requests that a method gets have passed the engine: their key belongs to the server, copies are
    sorted out, a write is the first of its key that is not over. A write is under way from
    `on_write` until `RequestActions.end`; at most one of a key is.
    """

    keeps_sequences: ClassVar[bool] = False
    """Whether the store keeps a sequence (64 bits) with each record. A record of the data set that
    nobody has written has 0."""

    def __init__(self, options: ServerOptions, now: int) -> None:
        """A server that starts at `now`."""
        self.options = options

    def on_read(self, now: int, request: Datagram, out: RequestActions) -> None:
        """A read has come. It may come while a write of its key is under way."""
        out.read(request)

    def on_value(
        self, now: int, request: Datagram, value: bytes | None, sequence: int, out: RequestActions
    ) -> None:
        """The store has answered `RequestActions.read`: the value, or None without a record."""
        status = Status.OK if value is not None else Status.NOT_FOUND
        out.answer(request, status, value or b"")

    def on_write(self, now: int, write: Datagram, out: RequestActions) -> None:
        """The turn of a write (PUT or DELETE) has come."""
        out.store(write)

    def on_stored(self, now: int, write: Datagram, out: RequestActions) -> None:
        """The store has the write."""
        out.end(write)

    def on_copy(self, now: int, write: Datagram, status: Status, out: RequestActions) -> None:
        """A copy of a write has come that ended with `status`, perhaps before a restart."""
        out.answer(write, status)

    def on_message(self, now: int, message: Datagram, out: RequestActions) -> bool:
        """A frame has come that is no request of a client; false if the protocol has none such."""
        return False

    def on_timer(self, now: int, out: RequestActions) -> None:
        """`deadline()` is reached."""

    def deadline(self) -> int | None:
        """When to call `on_timer`; asked after every other method."""
        return None

    def counts(self) -> dict[str, int]:
        """Counts since the start and gauges, which samples have beside those of every server
        (`RackSample.server_statistics`)."""
        return {}


class SingleKeyClient:
    """The clients of a process. As it stands requests have no stamp and every answer counts."""

    def stamp(self) -> Stamp | None:
        """What a request is stamped with that is sent for the first time now."""
        return None

    def judge(self, answer: Datagram, written: int) -> Verdict:
        """What becomes of an answer; `written`: bytes of the value of a write. `ignore`: it does
        not count, and the request is sent again. `malformed`: no switch answers like that."""
        return "accept"

    def on_read(self, answer: Datagram) -> None:
        """A read was answered."""

    def on_written(self, value: bytes | None, answer: Datagram) -> None:
        """A write of this value was answered; None: a delete."""

    def on_message(self, now: int, message: Datagram, out: Actions) -> bool:
        """A frame has come that answers no request; false if the protocol has none such."""
        return False

    def on_timer(self, now: int, out: Actions) -> None:
        """`deadline()` is reached."""

    def deadline(self) -> int | None:
        """When to call `on_timer`; asked after every other method."""
        return None

    def start(self, now: int) -> None:
        """The load starts or goes on."""

    def crash(self) -> None:
        """The process crashes and another one starts in its place: forget what was in memory."""

    def leave(self, now: int) -> None:
        """The process is going to end."""

    def has_left(self) -> bool:
        """Whether nothing is left to be sent after `leave`."""
        return True

    def counts(self) -> dict[str, int]:
        """Gauges: what the process holds now (`RackSample.client.counts`)."""
        return {}

    def stamp_fields(self) -> tuple[int, int, int, int] | None:
        """For the engine: `stamp` in numbers."""
        stamp = self.stamp()
        return (
            None
            if stamp is None
            else (stamp.incarnation, stamp.number, stamp.generation, stamp.bits)
        )


@dataclass(frozen=True, slots=True)
class Stored:
    """How a storage call has ended."""

    outcome: Literal["value", "not found", "done", "failed"]
    """`done` is of writes; `failed`: nothing has changed."""
    value: bytes
    """Of a record that was found."""
    sequence: int
    """What the store keeps with the record, or of a delete; 0 without `keeps_sequences`."""


class ServerActions(Actions):
    """What a whole server wants done. `call`: a number that comes back with `Server.on_stored`.
    Calls may end in any order."""

    def get(self, call: int, key: bytes) -> None:
        """Read a record."""
        self.taken.append(("get", call, key, b"", None, None))

    def put(
        self,
        call: int,
        key: bytes,
        value: bytes,
        origin: tuple[int, int] | None = None,
        sequence: int | None = None,
    ) -> None:
        """Write a record. `origin`: sender and number of the request, which the store remembers
        with it (`applied` of a server that starts again)."""
        self.taken.append(("put", call, key, value, origin, self._checked(sequence)))

    def delete(
        self,
        call: int,
        key: bytes,
        origin: tuple[int, int] | None = None,
        sequence: int | None = None,
    ) -> None:
        """Delete a record; with a sequence the store keeps that."""
        self.taken.append(("delete", call, key, b"", origin, self._checked(sequence)))


class Server(ABC):
    """A whole storage server: all frames for it come here, and nothing is done for it. It must see
    to copies of requests, the order of writes and the service rate itself."""

    keeps_sequences: ClassVar[bool] = False

    @abstractmethod
    def __init__(
        self, options: ServerOptions, now: int, applied: frozenset[tuple[int, int]]
    ) -> None:
        """A server that starts at `now` over a store that has `applied` the writes of these
        requests (sender, number), those of about the last ten minutes."""

    @abstractmethod
    def on_frame(self, now: int, frame: bytes, out: ServerActions) -> None:
        """A frame has come."""

    @abstractmethod
    def on_stored(self, now: int, call: int, result: Stored, out: ServerActions) -> None:
        """A storage call has ended."""

    def on_timer(self, now: int, out: ServerActions) -> None:  # noqa: B027 (not every one has timers)
        """`deadline()` is reached."""

    def deadline(self) -> int | None:
        """When to call `on_timer`."""
        return None

    def slow(self, factor: float) -> bool:
        """Serve `factor` times slower than the service rate; false if there is no rate."""
        return False

    def busy_keys(self) -> int:
        """Keys for which something is under way."""
        return 0

    @abstractmethod
    def counts(self) -> dict[str, int]:
        """Counts since the start: `served` (requests of clients), `dropped` (requests that found
        the queue full), and others."""
