"""A test rack for control planes, in virtual time and from one seed.

It has models of a switch and of servers, and a network that loses, duplicates and reorders frames.
The switch asserts that no two entries share a number or cells, and that no generation is used
twice, which a real switch would not detect. The servers assert that no message number is used
twice. Like `engine/roles`, they have windows of message numbers and leases, and compare generations
as serial numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from netkv._engine import WINDOW
from netkv.control.base import (
    MILLISECOND,
    SECOND,
    Action,
    DeleteEntry,
    Digest,
    InsertEntry,
    Nanoseconds,
    Note,
    PacketIn,
    SendFrame,
    SetDefault,
    Started,
    SwitchRestarted,
    TableWritten,
)
from netkv.control.cache_parameters import CacheParameters
from netkv.control.forwarding import ForwardingOnly
from netkv.control.message_numbers import is_newer
from netkv.kits.write_through.digests import HOT_KEY, HotKey
from netkv.model.messages import CacheMetadata, Message, Op, Status, decode, encode
from netkv.model.topology import CONTROLLER_IP, CPU_PORT, SERVICE_IP
from netkv.schemes.netcache.control_plane import NetCache
from netkv.schemes.netcache.options import NetCacheOptions
from tests.schemes.configuration import Configuration
from tests.schemes.scripted_rack import LOOKUP
from tests.schemes.virtual_rack import Network, VirtualRack

DEFAULTS = Configuration(NetCacheOptions(), CacheParameters())
LEASE = SECOND


def encode_hot_key(report: HotKey) -> Digest:
    """The digest of a hot-key report."""
    key = int.from_bytes(report.key)
    return Digest(HOT_KEY, {"key": key, "count": report.count, "epoch": report.epoch})


@dataclass
class Entry:
    """An installed lookup entry."""

    entry: int
    index: int
    bitmap: int
    generation: int


@dataclass
class Window:
    """A server's deduplication window for the controller: request → message and answer."""

    newest: int
    known: dict[int, tuple[Message, Message]] = field(default_factory=dict)

    def is_late(self, request: int) -> bool:
        """Whether `request` is older than the window. A newer request moves the window."""
        if is_newer(request, self.newest):
            self.newest = request
            for number in list(self.known):
                if (request - number) % (1 << 32) >= WINDOW:
                    del self.known[number]
        return (self.newest - request) % (1 << 32) >= WINDOW


@dataclass
class NetCacheRack(VirtualRack):
    """Runs a control plane against the model. `values`: length of each key's value in bytes."""

    control: NetCache | ForwardingOnly
    values: dict[bytes, int]
    seed: int = 0
    network: Network = field(default_factory=Network)
    steps_left: int | None = None

    def __post_init__(self) -> None:
        self.begin(self.seed)
        self.sent: list[Message] = []
        self.notes: list[Note] = []
        self.refuse: Callable[[Action], bool] = lambda _: False
        self.servers_up = True
        self.counts: dict[bytes, int] = {}  # reads in this epoch, of keys that are cached
        self.records: dict[bytes, int] = {}  # server: key → generation
        self.evicted: list[tuple[bytes, int]] = []
        self.generations: set[int] = set()
        self.leases: dict[bytes, Nanoseconds] = {}  # key → end of its lease
        self.admitted_lengths: dict[int, int] = {}  # generation → length in the reply to ADMIT
        self.late_messages = 0  # messages that servers dropped as late copies
        self.windows: dict[int, Window] = {}
        self._numbers_before: int | None = None  # the newest number of earlier controllers
        self._newest: int | None = None
        self._restarts = 0
        self._power_on()

    def _power_on(self) -> None:
        self.entries: dict[bytes, Entry] = {}
        self.valid: dict[int, int] = {}  # entry number → generation
        self.other_tables: dict[str, int] = {}
        self.defaults: dict[str, dict[str, int]] = {}
        self.epoch = 0
        self._restarts += 1

    # ------------------------------------------------------------------------- driving

    def start(self) -> None:
        """Start the switch."""
        self.handle(Started())

    def restart_switch(self) -> None:
        """Restart the switch: it loses its state, and pending table writes are lost."""
        self._power_on()
        self.handle(SwitchRestarted())

    def replace_controller(self, control: NetCache | ForwardingOnly) -> None:
        """A new controller without state loads the program, which empties the switch.

        Messages of servers to the previous controller still arrive.
        """
        self.control = control
        self.controller_down = False
        self.steps_left = None
        self._numbers_before = self._newest
        self._power_on()
        self.handle(Started())

    def hot(self, key: bytes, count: int) -> None:
        """Report a hot key to the controller, as the switch does."""
        self.handle(encode_hot_key(HotKey(key, count, self.epoch)))

    def blocked(self, key: bytes) -> bool:
        """Whether the owner of `key` blocks writes to it."""
        return self.leases.get(key, 0) > self.now

    def readable(self, key: bytes) -> bool:
        """Whether the switch would answer a read of `key`."""
        entry = self.entries.get(key)
        return entry is not None and self.valid.get(entry.entry) == entry.generation

    # ------------------------------------------------------------------------- helpers

    def carry_out(self, action: Action) -> None:
        match action:
            case Note():
                self.notes.append(action)
            case SendFrame(frame):
                datagram = decode(frame)
                assert datagram.source == CONTROLLER_IP
                self.sent.append(datagram.message)
                self._check_number(datagram.message)
                self.travel(
                    self.network, lambda: self._at_switch(datagram.message, datagram.destination)
                )
            case InsertEntry() | DeleteEntry() | SetDefault():
                restarts = self._restarts
                # In order, as in one P4Runtime stream.
                self.after(MILLISECOND, lambda: self._write(action, restarts))

    def _check_number(self, message: Message) -> None:
        if message.op is Op.OUTGROWN_REPLY:
            return  # the server's number
        request = message.request
        assert request != 0
        assert self._numbers_before is None or is_newer(request, self._numbers_before)
        if self._newest is None or is_newer(request, self._newest):
            self._newest = request

    def _write(self, action: InsertEntry | DeleteEntry | SetDefault, restarts: int) -> None:
        if restarts != self._restarts:
            return
        if self.refuse(action):
            self.handle(TableWritten(action.write, False, "refused by the test"))
            return
        match action:
            case SetDefault(_, table, _, params):
                self.defaults[table] = dict(params)
            case InsertEntry(_, table, match, _, params) if table == LOOKUP:
                self._insert(match, params)
            case DeleteEntry(_, table, match) if table == LOOKUP:
                key = match["key"]
                assert isinstance(key, int)
                del self.entries[key.to_bytes(16)]
            case _:
                self.other_tables[action.table] = self.other_tables.get(action.table, 0) + 1
        self.handle(TableWritten(action.write, True))

    def _insert(self, match: object, params: object) -> None:
        assert isinstance(match, dict)
        assert isinstance(params, dict)
        key = match["key"].to_bytes(16)
        new = Entry(**params)
        assert key not in self.entries, "inserted twice"
        assert new.generation not in self.generations
        assert new.generation != 0
        for other in self.entries.values():
            assert other.entry != new.entry, "an entry number for two keys"
            assert other.index != new.index or not other.bitmap & new.bitmap, "cells for two keys"
        assert new.bitmap.bit_count() * 16 >= self.admitted_lengths[new.generation], (
            "the value does not fit"
        )
        self.generations.add(new.generation)
        self.entries[key] = new

    def _at_switch(self, message: Message, destination: int) -> None:
        if message.op is Op.EPOCH:
            assert message.cache_metadata is not None
            if (
                self.epoch == 0
                or 0 < (message.cache_metadata.version - self.epoch) % 0x10000 < 0x8000
            ):
                self.epoch = message.cache_metadata.version
                self.counts.clear()
            self._to_controller(message.reply(cache_metadata=message.cache_metadata))
        elif message.op is Op.STATS:
            entry = self.entries.get(message.key)
            if entry is None:
                self._to_controller(message.reply(status=Status.NOT_CACHED))
            else:
                metadata = CacheMetadata(entry.generation, self.counts.get(message.key, 0), 0)
                self._to_controller(message.reply(cache_metadata=metadata))
        elif message.op is not Op.OUTGROWN_REPLY and self.servers_up:
            assert destination == SERVICE_IP
            self.travel(self.network, lambda: self._at_server(message))

    def _at_server(self, message: Message) -> None:
        owner = self.control.topology.owner(message.key).index
        window = self.windows.setdefault(owner, Window(message.request))
        if window.is_late(message.request):
            self.late_messages += 1
            return
        known = window.known.get(message.request)
        if known is None:
            known = window.known[message.request] = (message, self._serve(message))
        assert known[0] == message, "a number for two messages"
        self._to_controller(known[1])

    def _serve(self, message: Message) -> Message:
        assert message.cache_metadata is not None
        key, generation = message.key, message.cache_metadata.generation
        record = self.records.get(key)
        length = self.values.get(key)
        if message.op is Op.EVICTED:
            if record == generation:
                del self.records[key]
            self.leases.pop(key, None)
            self.evicted.append((key, generation))
            return message.reply()
        if record is not None and is_newer(record, generation):
            return message.reply(status=Status.REJECTED, cache_metadata=CacheMetadata(record))
        if message.op is Op.ADMIT:
            if length is None:
                return message.reply(status=Status.NOT_FOUND)
            if length > 128:
                return message.reply(status=Status.TOO_LARGE)
            self.leases[key] = self.now + LEASE
            self.admitted_lengths[generation] = length
            return message.reply(length=length)
        assert message.op is Op.INSTALL
        self.leases.pop(key, None)
        entry = self.entries.get(key)
        if entry is None:
            self.records.pop(key, None)
            return message.reply(status=Status.NOT_CACHED)
        # The server gets the generation from INVALIDATE, which the switch has marked.
        self.records[key] = entry.generation
        if length is None or length > entry.bitmap.bit_count() * 16:
            return message.reply(status=Status.TOO_LARGE)
        self.valid[entry.entry] = entry.generation
        ours = entry.generation == generation
        return message.reply(status=Status.OK if ours else Status.NOT_CACHED)

    def outgrown(self, key: bytes) -> None:
        """Report to the controller, as the owner of `key`, that its value no longer fits."""
        server = 0x0A020000
        message = Message(
            Op.OUTGROWN, key, 1, 0x8000, cache_metadata=CacheMetadata(self.records.get(key, 0))
        )
        frame = encode(message, source=server, destination=CONTROLLER_IP)
        self.handle(PacketIn(CPU_PORT, frame))

    def _to_controller(self, reply: Message) -> None:
        frame = encode(reply, source=SERVICE_IP, destination=CONTROLLER_IP)
        self.travel(self.network, lambda: self.handle(PacketIn(1, frame)))
