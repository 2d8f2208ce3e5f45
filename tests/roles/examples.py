"""Roles in Python for tests: equivalents of the engine's roles, and faulty ones."""

# Methods have the parameters of the interface, used or not.
# ruff: noqa: ARG002

from __future__ import annotations

from typing import ClassVar

from netkv.model.messages import Datagram, Message, Op, Stamp, Status, decode, encode
from netkv.roles import (
    Actions,
    RequestActions,
    Server,
    ServerActions,
    ServerOptions,
    SingleKeyClient,
    SingleKeyServer,
    Stored,
    Verdict,
)


class WholeServer(Server):
    """A server without a cache, for links that neither lose nor duplicate frames."""

    def __init__(
        self, options: ServerOptions, now: int, applied: frozenset[tuple[int, int]]
    ) -> None:
        self.requests: dict[int, Datagram] = {}
        self.served = 0
        self.applied = len(applied)

    def on_frame(self, now: int, frame: bytes, out: ServerActions) -> None:
        request = decode(frame)
        about = request.message
        call = len(self.requests)
        self.requests[call] = request
        self.served += 1
        origin = (about.sender, about.request)
        if about.op is Op.GET:
            out.get(call, about.key)
        elif about.op is Op.PUT:
            out.put(call, about.key, about.value, origin)
        else:
            out.delete(call, about.key, origin)

    def on_stored(self, now: int, call: int, result: Stored, out: ServerActions) -> None:
        request = self.requests[call]
        status = Status.NOT_FOUND if result.outcome == "not found" else Status.OK
        message = request.message.reply(status=status, value=result.value, length=len(result.value))
        out.send(encode(message, source=request.destination, destination=request.source))

    def counts(self) -> dict[str, int]:
        return {"served": self.served, "applied": self.applied}


class DelayedAnswers(SingleKeyServer):
    """A server that answers a write a millisecond after it is stored, and counts timers."""

    PAUSE = 1_000_000

    def __init__(self, options: ServerOptions, now: int) -> None:
        super().__init__(options, now)
        self.due: dict[int, Datagram] = {}
        self.timers = 0

    def on_stored(self, now: int, write: Datagram, out: RequestActions) -> None:
        at = now + self.PAUSE
        while at in self.due:
            at += 1
        self.due[at] = write

    def on_timer(self, now: int, out: RequestActions) -> None:
        self.timers += 1
        for at in [at for at in self.due if at <= now]:
            out.end(self.due.pop(at))

    def deadline(self) -> int | None:
        return min(self.due, default=None)

    def counts(self) -> dict[str, int]:
        return {"timers": self.timers}


class AnswersFetch(SingleKeyServer):
    """A server that answers FETCH, a message of other schemes."""

    def on_message(self, now: int, message: Datagram, out: RequestActions) -> bool:
        if message.message.op is not Op.FETCH:
            return False
        reply = message.message.reply(cache_metadata=message.message.cache_metadata)
        out.send(encode(reply, source=message.destination, destination=message.source))
        return True


class Sequenced(SingleKeyServer):
    """A server that stores a sequence number with each write, and records those it reads."""

    keeps_sequences: ClassVar[bool] = True

    def __init__(self, options: ServerOptions, now: int) -> None:
        super().__init__(options, now)
        self.next = 1
        self.read_sequences: list[int] = []

    def on_write(self, now: int, write: Datagram, out: RequestActions) -> None:
        out.store(write, self.next)
        self.next += 1

    def on_value(
        self, now: int, request: Datagram, value: bytes | None, sequence: int, out: RequestActions
    ) -> None:
        self.read_sequences.append(sequence)
        super().on_value(now, request, value, sequence, out)

    def counts(self) -> dict[str, int]:
        return {"highest": max(self.read_sequences, default=0)}


class Stamping(SingleKeyClient):
    """A client that stamps its requests and ignores every second answer."""

    def __init__(self) -> None:
        self.answers = 0
        self.reads = self.writes = 0

    def stamp(self) -> Stamp | None:
        return Stamp(1, 0)

    def judge(self, answer: Datagram, written: int) -> Verdict:
        self.answers += 1
        return "ignore" if self.answers % 2 else "accept"

    def on_read(self, answer: Datagram) -> None:
        self.reads += 1

    def on_written(self, value: bytes | None, answer: Datagram) -> None:
        self.writes += 1

    def counts(self) -> dict[str, int]:
        return {"own_reads": self.reads, "own_writes": self.writes}


class SequencesNotDeclared(SingleKeyServer):
    def on_write(self, now: int, write: Datagram, out: RequestActions) -> None:
        out.store(write, 1)


class FailingRead(SingleKeyServer):
    def on_read(self, now: int, request: Datagram, out: RequestActions) -> None:
        raise RuntimeError(f"no read of {request.message.key[:1].hex()}, not\nnow")


class FailingStart(SingleKeyServer):
    def __init__(self, options: ServerOptions, now: int) -> None:
        raise ValueError(f"server {options.server} of {options.servers}")


class FailingDeadline(SingleKeyServer):
    def __init__(self, options: ServerOptions, now: int) -> None:
        super().__init__(options, now)
        self.calls = 0

    def deadline(self) -> int | None:
        self.calls += 1
        if self.calls > 3:
            raise LookupError("no time")
        return None


class EndsTwice(SingleKeyServer):
    def on_stored(self, now: int, write: Datagram, out: RequestActions) -> None:
        out.end(write)
        out.end(write)


class WrongResult(SingleKeyServer):
    def deadline(self) -> int | None:
        return "soon"  # type: ignore[return-value]


class FailingClient(SingleKeyClient):
    def judge(self, answer: Datagram, written: int) -> Verdict:
        return "perhaps"  # type: ignore[return-value]


class FailingWhole(WholeServer):
    def on_stored(self, now: int, call: int, result: Stored, out: ServerActions) -> None:
        raise KeyError(call)


class NoCounts(Server):
    """A method is missing."""

    def __init__(
        self, options: ServerOptions, now: int, applied: frozenset[tuple[int, int]]
    ) -> None: ...

    def on_frame(self, now: int, frame: bytes, out: ServerActions) -> None: ...


class OldRead(SingleKeyServer):
    """A method takes other arguments."""

    def on_read(self, request: Message) -> None: ...  # type: ignore[override]


class Unrelated:
    """A class that is not a role."""

    def on_frame(self, now: int, frame: bytes, out: Actions) -> None: ...
