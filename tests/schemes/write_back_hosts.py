"""Small servers and clients of write-back schemes, by the rules of docs/schemes/farreach.md.

`AnswerChecker` checks every answer at once. Sequences order all writes of a key, so no answer may
be older than an operation that had ended when the answered operation began.
"""

from collections.abc import Callable
from dataclasses import dataclass

from netkv.control.base import MILLISECOND, SECOND, Nanoseconds
from netkv.control.message_numbers import is_newer
from netkv.kits.write_back.record import Record, is_later, pack
from netkv.model.messages import NO_BITS, Bit, Datagram, Message, Op, Stamp, Status
from netkv.model.topology import CONTROLLER_IP, SERVICE_IP, Host, client_ip

PAIR = 24
PIECE = 6


def later(a: Record, b: Record | None) -> bool:
    return b is None or is_later(a, b)


class AnswerChecker:
    """Checks every answer and collects violations."""

    def __init__(self) -> None:
        self.known: dict[bytes, Record] = {}  # of all ended operations, the latest
        self.values: dict[tuple[bytes, int, int], tuple[bool, bytes]] = {}
        self.written: dict[tuple[bytes, bytes], tuple[int, int]] = {}
        """Key and value of each write → its sequence; if it has several, that of its last copy."""
        self.first: dict[tuple[bytes, bytes], tuple[int, int]] = {}
        self.violations: list[str] = []
        self.reads = 0
        self.writes = 0

    def check_answer(self, message: Message, known: Record | None, reply: Message) -> None:
        """Check the reply to an operation; `known` was the latest record when it began."""
        assert reply.stamp is not None
        bits = int(Bit.DELETED) if reply.status is Status.NOT_FOUND else 0
        stamp = reply.stamp
        got = Record(message.key, stamp.incarnation, stamp.number, bits, reply.value)
        if not stamp.incarnation:
            # The answer has no sequence: find the write by its value (none, if deleted).
            got = self._with_sequence(got, self.written)
        if message.op is Op.GET:
            self.reads += 1
            self._check_value(got)
        else:
            self.writes += 1
        forgotten = not stamp.incarnation and got.deleted and known is not None and known.deleted
        if known is not None and is_later(known, got) and not forgotten:
            what = "a stale read" if message.op is Op.GET else "a write before another"
            self.violations.append(
                f"{what} of {message.key.hex()[:8]}: {got[1:3]} after {known[1:3]}"
            )
        if message.op is not Op.GET:
            deleted = Bit.DELETED if message.op is Op.DELETE else NO_BITS
            got = got._replace(bits=int(deleted), value=message.value)
        if not stamp.incarnation:
            got = self._with_sequence(got, self.first)
        if later(got, self.known.get(message.key)):
            self.known[message.key] = got

    def _with_sequence(self, got: Record, by: dict[tuple[bytes, bytes], tuple[int, int]]) -> Record:
        incarnation, number = by.get((got.key, got.value), (0, 0))
        return got._replace(incarnation=incarnation, number=number)

    def record_sequence(self, key: bytes, value: bytes, sequence: tuple[int, int]) -> None:
        """A write or a copy of it was stamped with this sequence."""
        self.first.setdefault((key, value), sequence)
        self.written[key, value] = sequence

    def _check_value(self, got: Record) -> None:
        if not got.deleted and (got.key, got.value) not in self.written:
            self.violations.append("a value that was never written")
        which = (got.key, got.incarnation, got.number)
        if which[1:] == (0, 0):
            return
        if self.values.setdefault(which, (got.deleted, got.value)) != (got.deleted, got.value):
            self.violations.append(f"two values of one write: {which[1:]}")


@dataclass
class PendingRequest:
    """A pending request of a client."""

    message: Message
    known: Record | None
    """The latest record of the key when the request was sent."""
    deadline: Nanoseconds
    wait: Nanoseconds = 20 * MILLISECOND
    reply: Message | None = None
    ended: bool = False


@dataclass
class ClientProcess:
    """A client process with one client."""

    index: int
    send: Callable[[Datagram], None]
    at: Callable[[Nanoseconds, Callable[[], None]], None]
    checker: AnswerChecker
    first_request: int = 1
    up: bool = True
    now: Callable[[], Nanoseconds] = lambda: 0

    def __post_init__(self) -> None:
        self.ip = client_ip(self.index)
        self.incarnation = 0
        self.least_incarnation = 0  # of switch answers that are accepted
        self.request = self.first_request
        self.pending: dict[int, PendingRequest] = {}
        self.preserved: dict[bytes, tuple[Record, int]] = {}  # and the lists before it
        self.frozen: list[Record] = []
        self.frozen_for = 0
        self.last_release: int | None = None  # number of the last complete RELEASE
        self.lists = 0
        self.listed: dict[bytes, int] = {}  # key → the last list that had it
        self.parts: dict[int, bytes] = {}
        self.partial_release = 0
        self.unknown = 0

    def _next(self) -> int:
        self.request += 1
        return self.request

    def hello(self, again: Nanoseconds = 200 * MILLISECOND) -> None:
        """Send HELLO now and periodically, often enough for incarnations of seconds."""
        if not self.up:
            return
        message = Message(
            Op.HELLO, bytes(16), self._next(), self.index, stamp=Stamp(self.incarnation)
        )
        pending = PendingRequest(message, None, self.now() + again)
        self.pending[message.request] = pending
        self._send_until(pending, CONTROLLER_IP)
        self.at(again, self.hello)

    def bye(self) -> None:
        """Deregister."""
        message = Message(Op.BYE, bytes(16), self._next(), self.index)
        self.pending[message.request] = PendingRequest(message, None, self.now() + SECOND)
        self._send_until(self.pending[message.request], CONTROLLER_IP)

    def begin(
        self, op: Op, key: bytes, value: bytes = b"", timeout: int = 5 * SECOND
    ) -> PendingRequest:
        """Begin an operation."""
        stamp = Stamp(self.incarnation)
        message = Message(
            op, key, self._next(), self.index, length=len(value), value=value, stamp=stamp
        )
        if op is Op.PUT:
            self.checker.written.setdefault((key, value), (0, 0))
        pending = PendingRequest(message, self.checker.known.get(key), self.now() + timeout)
        self.pending[message.request] = pending
        self._send_until(pending, SERVICE_IP)
        return pending

    def _send_until(self, pending: PendingRequest, to: int) -> None:
        if pending.ended or not self.up:
            return
        if self.now() >= pending.deadline:
            pending.ended = True
            self.pending.pop(pending.message.request, None)
            return
        self.send(Datagram(self.ip, to, pending.message))
        wait = pending.wait
        pending.wait = min(2 * wait, 160 * MILLISECOND)
        self.at(wait, lambda: self._send_until(pending, to))

    def receive(self, datagram: Datagram) -> None:
        """A frame has arrived."""
        message = datagram.message
        if not self.up:
            return
        if message.op in (Op.RELEASE, Op.COLLECT, Op.RECOVERED):
            self._controller(message)
            return
        pending = self.pending.pop(message.request, None)
        if (
            pending is None
            or message.op != pending.message.op + 1
            or message.key != pending.message.key
        ):
            return
        pending.ended = True
        if message.op is Op.HELLO_REPLY:
            assert message.stamp is not None
            self._learn(message.stamp.incarnation)
        elif message.op is not Op.BYE_REPLY:
            self._answered(pending, message)

    def _learn(self, incarnation: int) -> None:
        if self.incarnation == 0 or is_newer(incarnation, self.incarnation):
            self.incarnation = incarnation

    def _answered(self, pending: PendingRequest, reply: Message) -> None:
        if reply.status is Status.UNKNOWN:
            self.unknown += 1
            return
        assert reply.stamp is not None
        stamp, request = reply.stamp, pending.message
        if (
            reply.cache_hit
            and stamp.incarnation
            and is_newer(self.least_incarnation, stamp.incarnation)
        ):
            return  # an answer of an earlier incarnation: its record may be lost
        pending.reply = reply
        is_read = request.op is Op.GET
        embedded = stamp.bits & Bit.EMBEDDED
        if embedded or (reply.cache_hit and (not is_read or stamp.bits & Bit.DIRTY)):
            deleted = request.op is Op.DELETE or reply.status is Status.NOT_FOUND
            value = reply.value if is_read else request.value
            bits = int(Bit.DELETED) if deleted else 0
            record = Record(request.key, stamp.incarnation, stamp.number, bits, value)
            before = self.preserved.get(request.key)
            if later(record, before and before[0]):
                self.preserved[request.key] = (record, self.lists)
        self.checker.check_answer(request, pending.known, reply)

    def _controller(self, message: Message) -> None:
        assert message.stamp is not None
        stamp = message.stamp
        reply = message.reply(stamp=stamp)
        if message.op is Op.RELEASE:
            self._release(
                stamp.incarnation, stamp.number >> 16, stamp.number & 0xFFFF, message.value
            )
        elif message.op is Op.COLLECT:
            if self.frozen_for != stamp.incarnation:
                self.frozen_for = stamp.incarnation
                self.least_incarnation = stamp.incarnation
                self.frozen = [record for record, _ in self.preserved.values()]
            piece = pack(self.frozen[stamp.number : stamp.number + PIECE])
            total = Stamp(stamp.incarnation, len(self.frozen))
            reply = message.reply(stamp=total, value=piece, length=len(piece))
        else:
            for record in self.frozen if self.frozen_for == stamp.incarnation else ():
                if not later(self.preserved.get(record.key, (record, 0))[0], record):
                    self.preserved.pop(record.key, None)
            self.frozen = []
            self._learn(stamp.incarnation)
        self.send(Datagram(self.ip, CONTROLLER_IP, reply))

    def _release(self, number: int, part: int, parts: int, value: bytes) -> None:
        assert part < parts
        assert len(value) <= 1024
        if self.last_release is not None and not is_newer(number, self.last_release):
            return
        if number != self.partial_release:
            self.partial_release, self.parts = number, {}
        self.parts[part] = value
        if len(self.parts) < parts:
            return
        self.lists += 1
        pairs = b"".join(self.parts.values())
        for at in range(0, len(pairs), PAIR):
            key = pairs[at : at + 16]
            self.listed[key] = self.lists
            incarnation, last = (int.from_bytes(pairs[at + i : at + i + 4]) for i in (16, 20))
            known = self.preserved.get(key)
            if known and not is_later(known[0], Record(key, incarnation, last, 0, b"")):
                del self.preserved[key]
        for key, (_, since) in list(self.preserved.items()):
            if self.lists - since >= 3 and self.lists - self.listed.get(key, 0) > 1:
                del self.preserved[key]
        self.last_release = number


@dataclass
class Shim:
    """A storage server and its store, which survives restarts."""

    host: Host
    send: Callable[[Datagram], None]
    at: Callable[[Nanoseconds, Callable[[], None]], None]
    now: Callable[[], Nanoseconds]
    up: bool = True
    tombstones_last: Nanoseconds = 3 * SECOND
    """How long a tombstone is kept at least: longer than any operation (engine: 10 minutes)."""

    def __post_init__(self) -> None:
        self.store: dict[bytes, Record] = {}
        self.applied: dict[tuple[int, int], None] = {}
        self.offers: dict[bytes, tuple[int, Nanoseconds]] = {}
        self.offered: dict[bytes, Nanoseconds] = {}
        self.request = 0
        self.tombstones: dict[
            bytes, tuple[int, Nanoseconds]
        ] = {}  # key → number of WATERMARKs, time
        self.watermarks = 0
        self.handled_watermarks: set[int] = set()

    def receive(self, datagram: Datagram) -> None:
        """A frame has arrived."""
        if not self.up:
            return
        message = datagram.message
        if message.op is Op.OFFER_REPLY:
            waits = self.offers.get(message.key)
            if waits is not None and waits[0] == message.request:
                del self.offers[message.key]
                self.offered[message.key] = self.now()
            return
        reply = self._serve(message)
        self.send(Datagram(self.host.ip, datagram.source, reply))
        if message.op in (Op.GET, Op.PUT) and message.stamp and message.stamp.bits & Bit.HOT:
            self._offer(message.key)

    def _serve(self, message: Message) -> Message:
        stamp, key = message.stamp or Stamp(), message.key
        if message.op is Op.GET:
            record, bits = self.store.get(key), NO_BITS
            if stamp.bits & Bit.EMBEDDED:
                embedded = Record(
                    key, stamp.incarnation, stamp.number, int(stamp.bits), message.value
                )
                if later(embedded, record):
                    record, bits = embedded, Bit.EMBEDDED
            return self._reply_with(message, record, stamp.generation, bits)
        if message.op in (Op.PUT, Op.DELETE):
            origin = (message.sender, message.request)
            if origin not in self.applied:
                if stamp.bits & Bit.PAST:
                    # Without a sequence, so that no entry stores the refusal as a record.
                    return message.reply(status=Status.UNKNOWN, stamp=Stamp())
                self.applied[origin] = None
                bits = Bit.DELETED if message.op is Op.DELETE else NO_BITS
                self._store_if_later(
                    Record(key, stamp.incarnation, stamp.number, int(bits), message.value)
                )
            return self._reply_with(message, self.store.get(key), stamp.generation, NO_BITS)
        if message.op is Op.RESTORE:
            bits = stamp.bits & Bit.DELETED
            self._store_if_later(
                Record(key, stamp.incarnation, stamp.number, int(bits), message.value)
            )
            return self._reply_with(message, self.store[key], 0, NO_BITS)
        if message.op is Op.FETCH:
            return self._reply_with(message, self.store.get(key), 0, NO_BITS)
        assert message.op is Op.WATERMARK
        if message.request not in self.handled_watermarks:
            self.handled_watermarks.add(message.request)
            self._watermark()
        return message.reply()

    def _store_if_later(self, record: Record) -> None:
        if later(record, self.store.get(record.key)):
            self.store[record.key] = record
            self.tombstones.pop(record.key, None)
            if record.deleted:
                self.tombstones[record.key] = (self.watermarks, self.now())

    def _reply_with(
        self, message: Message, record: Record | None, generation: int, bits: Bit
    ) -> Message:
        known = record or Record(message.key, 0, 0, int(Bit.DELETED), b"")
        is_read = message.op in (Op.GET, Op.FETCH)
        value = known.value if is_read else b""
        missing = is_read and known.deleted
        return message.reply(
            status=Status.NOT_FOUND if missing else Status.OK,
            stamp=Stamp(known.incarnation, known.number, generation, bits),
            value=value,
            length=len(value),
        )

    def _watermark(self) -> None:
        for key, (watermarks, when) in list(self.tombstones.items()):
            if watermarks <= self.watermarks - 4 and self.now() - when >= self.tombstones_last:
                del self.tombstones[key], self.store[key]
        self.watermarks += 1

    def _offer(self, key: bytes) -> None:
        record = self.store.get(key)
        last = self.offered.get(key)
        recent = last is not None and self.now() - last < SECOND
        if record is None or record.deleted or len(record.value) > 128 or recent:
            return
        if key not in self.offers:
            self.request += 1
            self.offers[key] = (self.request, self.now())
            self._repeat_offer(key, record, self.request)

    def _repeat_offer(self, key: bytes, record: Record, request: int) -> None:
        if self.offers.get(key, (0, 0))[0] != request or not self.up:
            return
        message = Message(
            Op.OFFER,
            key,
            request,
            0x8000 + self.host.index,
            stamp=Stamp(record.incarnation, record.number),
            value=record.value,
            length=len(record.value),
        )
        self.send(Datagram(self.host.ip, CONTROLLER_IP, message))
        self.at(20 * MILLISECOND, lambda: self._repeat_offer(key, record, request))
