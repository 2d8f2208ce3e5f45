"""A model of DistCache's server for tests of its control plane: the rules of
`engine/roles/src/kits/write_through` and `engine/roles/src/distcache`, without the limits of the
real one. Its store is synchronous."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from netkv.control.base import MILLISECOND, SECOND, Nanoseconds
from netkv.control.message_numbers import is_newer
from netkv.model.messages import CacheMetadata, Datagram, Message, Op, Status, encode
from netkv.model.topology import CONTROLLER_IP, SERVICE_IP, server_ip

RETRY = 4 * MILLISECOND
LEASE = SECOND
VALUE_BYTES = 16
FIRST_SENDER = 0x8000
LAYERS = (False, True)
"""Whether a copy is the upper one."""

Send = Callable[[bytes], None]
After = Callable[[Nanoseconds, Callable[[], None]], None]


@dataclass
class Disk:
    """What survives a restart: values, and the answers to applied writes."""

    values: dict[bytes, bytes] = field(default_factory=dict)
    applied: dict[tuple[int, int], Message] = field(default_factory=dict)
    next_request: int = 1


@dataclass
class _Work:
    """The work under way for a key; `waiting`: requests to switches, by layer."""

    then: Callable[[dict[bool, CacheMetadata]], None]
    op: Op
    install: int = 0
    """The generation that INSTALL is about."""
    waiting: dict[bool, int] = field(default_factory=dict)
    found: dict[bool, CacheMetadata] = field(default_factory=dict)


class Server:
    """One incarnation of a server process."""

    def __init__(
        self, number: int, disk: Disk, send: Send, after: After, now: Callable[[], Nanoseconds]
    ) -> None:
        self.number = number
        self.disk = disk
        self.runs = True
        self.records: dict[bool, dict[bytes, CacheMetadata]] = {False: {}, True: {}}
        """Layer → key → generation, and the version that was pushed last."""
        self.knows_copies = False
        self._send = send
        self._after = after
        self._now = now
        self._pending: dict[int, Message] = {}
        self._work: dict[bytes, _Work] = {}
        self._writes: dict[bytes, deque[Callable[[], None]]] = {}
        self._first: dict[bytes, deque[Callable[[], None]]] = {}
        """Messages of the controller, which precede writes."""
        self._held: dict[bytes, Nanoseconds] = {}
        self._controls: dict[int, tuple[Message, Message | None]] = {}
        self._under_way: set[tuple[int, int]] = set()
        self._started = now()
        self._request(Op.RESTARTED, bytes(16), upper=False)

    # ------------------------------------------------------------------------- messages

    def _request(
        self,
        op: Op,
        key: bytes,
        *,
        upper: bool,
        metadata: CacheMetadata | None = None,
        value: bytes = b"",
    ) -> int:
        """Send a request until it is answered."""
        number = self.disk.next_request
        self.disk.next_request += 1
        message = Message(op, key, number, FIRST_SENDER + self.number, upper=upper)
        message = replace(message, cache_metadata=metadata, length=len(value), value=value)
        self._pending[number] = message
        self._repeat(number)
        return number

    def _repeat(self, number: int) -> None:
        message = self._pending.get(number)
        if message is not None and self.runs:
            to = CONTROLLER_IP if message.op is Op.RESTARTED else SERVICE_IP
            self._send(encode(message, server_ip(self.number), to))
            self._after(RETRY, lambda: self._repeat(number))

    def _reply(self, datagram: Datagram, message: Message) -> None:
        self._send(encode(message, server_ip(self.number), datagram.source))

    def on_datagram(self, datagram: Datagram) -> None:
        """A frame arrives."""
        if not self.runs:
            return
        message = datagram.message
        match message.op:
            case Op.GET:
                value = self.disk.values.get(message.key, b"")
                self._reply(datagram, message.reply(length=len(value), value=value))
                self._refresh(message)
            case Op.PUT:
                self._on_write(datagram)
            case Op.ADMIT | Op.INSTALL | Op.EVICTED:
                self._on_control(datagram)
            case Op.INVALIDATE_REPLY | Op.UPDATE_REPLY:
                self._on_switch_reply(message)
            case Op.RESTARTED_REPLY:
                if self._pending.pop(message.request, None) is not None:
                    self._on_copies_known()

    # --------------------------------------------------------------------------- writes

    def _on_write(self, datagram: Datagram) -> None:
        message = datagram.message
        request = (message.sender, message.request)
        if request in self.disk.applied:
            self._reply(datagram, self.disk.applied[request])
            self._refresh(message)
        elif request not in self._under_way:
            self._under_way.add(request)
            self._enqueue(self._writes, message.key, lambda: self._begin_write(datagram))

    def _begin_write(self, datagram: Datagram) -> None:
        message = datagram.message
        key, metadata = message.key, message.cache_metadata
        lower = self.records[False].get(key)
        if lower is None:
            # Guard time: the write may have passed the leaf before an entry was filled.
            fast = metadata is None and self._now() > self._started + 2 * SECOND
        else:
            fast = (
                metadata is not None
                and metadata.generation == lower.generation
                and is_newer(metadata.version, lower.version)
            )
        slow = [] if fast else [False]
        if key in self.records[True] or not self.knows_copies:
            slow.append(True)

        def apply(found: dict[bool, CacheMetadata]) -> None:
            self.disk.values[key] = message.value
            answer = message.reply()
            self.disk.applied[message.sender, message.request] = answer
            self._under_way.discard((message.sender, message.request))
            self._reply(datagram, answer)
            pushes = {False: metadata} | found if fast and metadata else found
            self._push(key, {layer: it for layer, it in pushes.items() if it})

        self._invalidate(key, slow, apply)

    def _invalidate(
        self,
        key: bytes,
        layers: list[bool],
        then: Callable[[dict[bool, CacheMetadata]], None],
        *,
        install: int = 0,
    ) -> None:
        work = self._work[key] = _Work(then, Op.INVALIDATE, install)
        for upper in layers:
            work.waiting[upper] = self._request(Op.INVALIDATE, key, upper=upper)
        self._end_layer(key, None, None)

    def _push(
        self,
        key: bytes,
        pushes: dict[bool, CacheMetadata],
        then: Callable[[], None] = lambda: None,
    ) -> None:
        def done(_found: dict[bool, CacheMetadata]) -> None:
            then()
            self._next(key)

        work = self._work[key] = _Work(done, Op.UPDATE)
        value = self.disk.values.get(key, b"")
        for upper, metadata in pushes.items():
            if self.records[upper].get(key, CacheMetadata(0)).generation == metadata.generation:
                self.records[upper][key] = metadata
                work.waiting[upper] = self._request(
                    Op.UPDATE, key, upper=upper, metadata=metadata, value=value
                )
        self._end_layer(key, None, None)

    def _on_switch_reply(self, message: Message) -> None:
        request = self._pending.get(message.request)
        if request is None or request.op != message.op - 1:
            return
        found = message.cache_metadata if message.status is not Status.NOT_CACHED else None
        if message.op is Op.UPDATE_REPLY and message.status is Status.NOT_CACHED:
            self._forget(message.key, request.upper, request.cache_metadata)
        if message.op is Op.INVALIDATE_REPLY:
            known = self.records[request.upper].get(message.key)
            assert (
                found is None
                or known is None
                or found.generation != known.generation
                or is_newer(found.version, known.version)
            ), "a switch counts backwards"
        self._end_layer(message.key, request.upper, found)

    def _end_layer(self, key: bytes, upper: bool | None, found: CacheMetadata | None) -> None:
        """The switch of a layer has answered, or nothing waits for it any more."""
        work = self._work[key]
        if upper is not None:
            self._pending.pop(work.waiting.pop(upper))
            if work.op is Op.INVALIDATE and found is not None:
                work.found[upper] = found
                self.records[upper][key] = found
            elif work.op is Op.INVALIDATE:
                self.records[upper].pop(key, None)
        if not work.waiting:
            work.then(work.found)

    def _forget(self, key: bytes, upper: bool, metadata: CacheMetadata | None) -> None:
        known = self.records[upper].get(key)
        if known is not None and metadata is not None and known.generation == metadata.generation:
            del self.records[upper][key]

    def _refresh(self, message: Message) -> None:
        """A frame shows that an entry is invalid."""
        key, metadata, upper = message.key, message.cache_metadata, message.upper
        if metadata is None or key in self._work:
            return
        known = self.records[upper].get(key)
        if known is not None and known.generation == metadata.generation:
            if is_newer(metadata.version, known.version):
                self._push(key, {upper: metadata})
        elif known is None or is_newer(metadata.generation, known.generation):
            self._invalidate(key, [upper], lambda found: self._push(key, found))

    # --------------------------------------------------------------------------- queues

    def _enqueue(
        self,
        queues: dict[bytes, deque[Callable[[], None]]],
        key: bytes,
        begin: Callable[[], None],
    ) -> None:
        queues.setdefault(key, deque()).append(begin)
        if key not in self._work:
            self._next(key)

    def _next(self, key: bytes) -> None:
        """The work for a key has ended: begin with the next one."""
        self._work.pop(key, None)
        if first := self._first.get(key):
            first.popleft()()
        elif (writes := self._writes.get(key)) and not self.blocked(key):
            writes.popleft()()

    def blocked(self, key: bytes) -> bool:
        """Whether writes of the key are held."""
        return self._held.get(key, 0) > self._now()

    # ---------------------------------------------------------------------- controller

    def _on_control(self, datagram: Datagram) -> None:
        message = datagram.message
        known, answer = self._controls.setdefault(message.request, (message, None))
        assert known == message, "a number for two messages"
        if answer is not None:
            self._reply(datagram, answer)
        elif known is not message:
            return  # a copy, and the first one is under way
        elif message.op is Op.EVICTED:
            self._on_evicted(datagram)
        else:
            begin = self._admit if message.op is Op.ADMIT else self._install
            self._enqueue(self._first, message.key, lambda: begin(datagram))

    def _answer(self, datagram: Datagram, **changes: object) -> None:
        answer = datagram.message.reply(**changes)
        self._controls[datagram.message.request] = (datagram.message, answer)
        self._reply(datagram, answer)

    def _is_past(self, message: Message) -> bool:
        known = self.records[message.upper].get(message.key)
        return known is not None and is_newer(known.generation, _generation(message))

    def _admit(self, datagram: Datagram) -> None:
        message = datagram.message
        if self._is_past(message):
            self._answer(datagram, status=Status.REJECTED)
        elif message.key not in self.disk.values:
            self._answer(datagram, status=Status.NOT_FOUND)
        else:
            self._held[message.key] = self._now() + LEASE
            self._after(LEASE, lambda: self._release(message.key))
            self._answer(datagram, length=VALUE_BYTES)
        self._next(message.key)

    def _release(self, key: bytes) -> None:
        if key not in self._work:
            self._next(key)

    def _install(self, datagram: Datagram) -> None:
        message = datagram.message
        key, upper = message.key, message.upper
        if self._is_past(message):
            self._answer(datagram, status=Status.REJECTED)
            self._next(key)
            return

        generation = _generation(message)

        def invalid(found: dict[bool, CacheMetadata]) -> None:
            ours = upper in found and found[upper].generation == generation
            status = Status.OK if ours else Status.NOT_CACHED
            self._held.pop(key, None)
            self._push(key, found, lambda: self._answer(datagram, status=status))

        self._invalidate(key, [upper], invalid, install=generation)

    def _on_evicted(self, datagram: Datagram) -> None:
        message = datagram.message
        key, upper = message.key, message.upper
        known = self.records[upper].get(key)
        self._forget(key, upper, message.cache_metadata)
        self._held.pop(key, None)
        self._answer(datagram)
        work = self._work.get(key)
        if work is None:
            self._next(key)
        elif upper and upper in work.waiting:
            # The switch may be gone, so nothing waits for its answer any more.
            pushed = self._pending[work.waiting[upper]].cache_metadata or known
            about = work.install or (pushed.generation if pushed else 0)
            if about == _generation(message):
                self._end_layer(key, upper, None)

    def _on_copies_known(self) -> None:
        self.knows_copies = True
        for key, work in list(self._work.items()):
            waits = work.op is Op.INVALIDATE and True in work.waiting and not work.install
            if waits and key not in self.records[True]:
                self._end_layer(key, True, None)


def _generation(message: Message) -> int:
    assert message.cache_metadata is not None
    return message.cache_metadata.generation
