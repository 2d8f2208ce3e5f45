"""The base classes of roles in Python, and the types of their methods."""

# Hooks have the parameters of the interface, whether they use them or not.
# ruff: noqa: ARG002

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from netkv.model.messages import Datagram, Op, Stamp, Status, encode

Verdict = Literal["accept", "ignore", "malformed"]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The options of a server."""

    server: int
    """Number of the server, from 0."""
    servers: int
    """Number of servers that share the keys."""
    first_request: int
    """First number for requests of this server, above all that it used before a restart."""
    epoch: int
    """Time at the driver's time 0 on a clock that continues while the server is down (nanoseconds):
    `epoch + now` is monotonic across restarts of the server."""
    service_rate: float | None
    """Requests of clients served in a second, if limited."""
    service_queue: int
    """Requests that may wait for service."""


def sequence_stamp(sequence: int, generation: int = 0) -> Stamp:
    """A stamp with a sequence: its upper and its lower 32 bits in the two fields of the stamp."""
    return Stamp(sequence >> 32, sequence & 0xFFFF_FFFF, generation)


class Actions:
    """Actions of a role. Methods of the role add them; the engine carries out `taken`."""

    def __init__(self, keeps_sequences: bool = False) -> None:
        self.taken: list[tuple[Any, ...]] = []
        self._keeps_sequences = keeps_sequences

    def _checked(self, sequence: int | None) -> int | None:
        if sequence is not None and not self._keeps_sequences:
            raise ValueError("a write has a sequence, but 'keeps_sequences' of its role is false")
        return sequence

    def send(self, frame: bytes) -> None:
        """Send a frame (`netkv.model.messages.encode`)."""
        self.taken.append(("send", frame))


def _reply(request: Datagram, status: Status, value: bytes, stamp: Stamp | None) -> bytes:
    message = request.message.reply(status=status, value=value, length=len(value), stamp=stamp)
    return encode(message, source=request.destination, destination=request.source)


class RequestActions(Actions):
    """Actions of a server of single keys."""

    def read(self, request: Datagram) -> None:
        """Read the record of a request's key; `on_value` is called with it. If the store fails, a
        read is answered with REJECTED, and a copy of a write is not answered."""
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
        """Store the current write; `on_stored` is called afterwards. With `sequence` (64 bits),
        which requires `keeps_sequences`, the store keeps it with the record, or for a delete
        without one. If the store fails, the write ends and is answered with REJECTED."""
        self.taken.append(("store", write.message.key, self._checked(sequence)))

    def end(self, write: Datagram, status: Status = Status.OK, stamp: Stamp | None = None) -> None:
        """Answer the current write; the next write of its key begins."""
        frame = _reply(write, status, b"", stamp)
        self.taken.append(("end", write.message.key, status, frame))


class SingleKeyServer:
    """A storage server of single keys. The methods of this base class are a server without a cache.

    The engine passes only requests for keys of this server, without copies, and one write of a key
    at a time: a write is current from `on_write` until `RequestActions.end`.
    """

    keeps_sequences: ClassVar[bool] = False
    """Whether the store keeps a sequence (64 bits) with each record. It is 0 for records of the
    initial data set."""

    def __init__(self, options: ServerOptions, now: int) -> None:
        """A server that starts at `now`."""
        self.options = options

    def on_read(self, now: int, request: Datagram, out: RequestActions) -> None:
        """A read has arrived, possibly during a write of its key."""
        out.read(request)

    def on_value(
        self, now: int, request: Datagram, value: bytes | None, sequence: int, out: RequestActions
    ) -> None:
        """The store has answered `RequestActions.read`: the value, or None without a record."""
        status = Status.OK if value is not None else Status.NOT_FOUND
        out.answer(request, status, value or b"")

    def on_write(self, now: int, write: Datagram, out: RequestActions) -> None:
        """Begin a write (PUT or DELETE)."""
        out.store(write)

    def on_stored(self, now: int, write: Datagram, out: RequestActions) -> None:
        """The current write is stored."""
        out.end(write)

    def on_copy(self, now: int, write: Datagram, status: Status, out: RequestActions) -> None:
        """A copy of a write has arrived that ended with `status`, perhaps before a restart."""
        out.answer(write, status)

    def on_message(self, now: int, message: Datagram, out: RequestActions) -> bool:
        """A frame that is no request of a client; returns False if it is not of the protocol."""
        return False

    def on_timer(self, now: int, out: RequestActions) -> None:
        """`deadline()` is reached."""

    def deadline(self) -> int | None:
        """When to call `on_timer`; the engine calls this after every other method."""
        return None

    def counts(self) -> dict[str, int]:
        """Counters since the start and gauges, in addition to those of every server
        (`RackSample.server_statistics`). Their names are the same from the start."""
        return {}


class SingleKeyClient:
    """The clients of a process. With this base class requests have no stamp, and every answer is
    accepted."""

    def stamp(self) -> Stamp | None:
        """The stamp of a request that is sent for the first time now."""
        return None

    def judge(self, answer: Datagram, written: int) -> Verdict:
        """The verdict on an answer; `written`: bytes of the value of a write. `ignore`: drop the
        answer and send the request again. `malformed`: the answer violates the protocol."""
        return "accept"

    def on_read(self, answer: Datagram) -> None:
        """A read was answered."""

    def on_written(self, value: bytes | None, answer: Datagram) -> None:
        """A write of this value was answered; None: a delete."""

    def on_message(self, now: int, message: Datagram, out: Actions) -> bool:
        """A frame that answers no request; returns False if it is not of the protocol."""
        return False

    def on_timer(self, now: int, out: Actions) -> None:
        """`deadline()` is reached."""

    def deadline(self) -> int | None:
        """When to call `on_timer`; the engine calls this after every other method."""
        return None

    def start(self, now: int) -> None:
        """The load starts or continues."""

    def crash(self) -> None:
        """The process crashes and a new one starts: drop the state."""

    def leave(self, now: int) -> None:
        """The process is about to end: begin to deregister."""

    def has_left(self) -> bool:
        """Whether the deregistration after `leave` is complete."""
        return True

    def counts(self) -> dict[str, int]:
        """Gauges of the process (`RackSample.client.counts`). Their names are the same from the
        start."""
        return {}

    def stamp_fields(self) -> tuple[int, int, int, int] | None:
        """The fields of `stamp`, for the engine."""
        stamp = self.stamp()
        return (
            None
            if stamp is None
            else (stamp.incarnation, stamp.number, stamp.generation, stamp.bits)
        )


@dataclass(frozen=True, slots=True)
class Stored:
    """The result of a storage call."""

    outcome: Literal["value", "not found", "done", "failed"]
    """`value`, `not found`: of a read; `done`: of a write; `failed`: nothing has changed."""
    value: bytes
    """The value of a record that was found."""
    sequence: int
    """The sequence of the record, or of its deletion; 0 without `keeps_sequences`."""


class ServerActions(Actions):
    """Actions of a whole server. `call`: a number that `Server.on_stored` gets with the result.
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
        """Write a record. `origin`: sender and number of the request, which the store keeps with it
        (`applied` of a restarted server)."""
        self.taken.append(("put", call, key, value, origin, self._checked(sequence)))

    def delete(
        self,
        call: int,
        key: bytes,
        origin: tuple[int, int] | None = None,
        sequence: int | None = None,
    ) -> None:
        """Delete a record; the store keeps the sequence, if one is given."""
        self.taken.append(("delete", call, key, b"", origin, self._checked(sequence)))


class Server(ABC):
    """A whole storage server. It gets all frames, and must itself handle copies of requests, the
    order of writes and the service rate."""

    keeps_sequences: ClassVar[bool] = False

    @abstractmethod
    def __init__(
        self, options: ServerOptions, now: int, applied: frozenset[tuple[int, int]]
    ) -> None:
        """A server that starts at `now`. `applied`: the requests (sender, number) whose writes the
        store has applied in about the last ten minutes."""

    @abstractmethod
    def on_frame(self, now: int, frame: bytes, out: ServerActions) -> None:
        """A frame has arrived."""

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
        """Number of keys with pending operations."""
        return 0

    @abstractmethod
    def counts(self) -> dict[str, int]:
        """Counters since the start: `served` (requests of clients), `dropped` (requests dropped at
        a full queue), and others. Their names are the same from the start."""
