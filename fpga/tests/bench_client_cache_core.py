"""The cache between functions and a network that loses, copies, delays and reorders frames."""

from __future__ import annotations

import struct
from collections import Counter
from typing import Any

import cocotb
import frames
import memcached
from kv_lab import INVALIDATE, STORE, UPDATE, checked
from memcached import APPEND, DELETE, FLUSH, GET, GETK, GETQ, NOOP, SETQ, Operation, get, store
from streams import Bench, Frame, Sink, Source

TOP = "client_cache_core"
SMALL = {"INDEX_BITS": 6, "MISS_ENTRIES": 32, "PRESCALE": 6}
PARAMETERS = [
    {"FUNCTIONS": 2, "CONTROLLERS": 1, **SMALL},
    {"FUNCTIONS": 3, "CONTROLLERS": 2, **SMALL},
    {"FUNCTIONS": 2, "CONTROLLERS": 0, **SMALL},
]
UNIT = 64
LIFETIME = 40
DELAY = 900  # cycles, at most, in each direction
MODE, OPTIONS, PORT, PORT_MASK, LIFE, MAX_AGE, PROMISCUOUS, COMMAND, LINK_UP = range(0, 36, 4)
IDENTITY, STATE, SHAPE, NET_RECEIVED, NET_RECEIVED_BYTES, NET_SENT = range(36, 60, 4)
UNKNOWN = 64
GROUP, WEIGHT, RATE, QUOTA, CONTROLLER, BASE, MASK = range(8, 36, 4)
COUNTERS = (
    "receive_dropped",
    "received",
    "sent",
    "request_dropped",
    "unread_replies",
    "responses",
    "delayed_flushes",
    "flushes",
    "replied",
    "forwarded",
    "malformed",
    "evicted",
    "invalidated",
    "fill_refused",
    "filled",
    "visible",
    "stored",
    "misses",
    "hits",
    "requests",
    "sent_bytes",
    "received_bytes",
)
SERVERS = ("10.0.1.1", "10.0.1.2")
HEADER, SAFE, FILL, SINGLE, DROP = 1, 2, 4, 8, 64


def mac(function: int) -> bytes:
    return bytes([2, 0, 0, 0, 0, function + 1])


def address(function: int) -> str:
    return f"10.0.0.{function + 1}"


def aged(data: bytes) -> bytes:
    """A frame that a router has passed on: no reply of the cache looks like it."""
    packet = bytearray(data)
    packet[22] -= 1
    packet[24:26] = bytes(2)
    packet[24:26] = struct.pack(">H", frames.checksum(bytes(packet[14:34])))
    return bytes(packet)


class Core:
    """The design with its registers and streams."""

    def __init__(self, dut: Any, pace: float | None = None) -> None:
        self.dut, self.bench = dut, Bench(dut)
        self.functions = len(dut.s_valid)
        names: dict[str, Any] = {
            "meta": lambda frame: len(frame.data),
            "meta_bits": 16,
            "meta_name": "meta_length",
        }
        self.hosts = Source(self.bench, lanes=self.functions, width=64, pace=pace)
        self.guests = Sink(self.bench, lanes=self.functions, width=64, pace=pace)
        self.wire = Source(self.bench, "rx", width=64, pace=pace, **names)
        self.sent = Sink(
            self.bench, "tx", width=64, pace=pace, meta_bits=16, meta_name="meta_length"
        )
        for name in ("reg_write", "reg_read", "reg_address", "reg_wdata", "host_busy"):
            getattr(dut, name).value = 0
        dut.function_status.value = 0
        self.seen = [0] * self.functions  # frames of the guests that were looked at
        self.seen_sent = 0

    async def start(self, options: int = HEADER | SAFE | FILL | 16 * UPDATE) -> None:
        if not self.bench.cycle:
            await self.bench.start()
        for _ in range(200):
            if await self.read(STATE) & 1:
                break
            await self.bench.step(50)
        self.controllers = await self.read(SHAPE) >> 8 & 255
        await self.write(LIFE, 2)
        await self.write(OPTIONS, options)
        await self.write(MODE, 1)
        await self.bench.step(6 * UNIT)
        await self.write(LIFE, LIFETIME)

    async def write(self, at: int, value: int) -> None:
        self.dut.reg_address.value, self.dut.reg_wdata.value = at, value
        self.dut.reg_write.value = 1
        await self.bench.step()
        self.dut.reg_write.value = 0
        await self.bench.step()

    async def read(self, at: int) -> int:
        self.dut.reg_address.value = at
        self.dut.reg_read.value = 1
        await self.bench.step()
        self.dut.reg_read.value = 0
        await self.bench.step()
        return int(self.dut.reg_rdata.value)

    async def of(self, function: int, at: int, value: int | None = None) -> int:
        """A register of a function; written if there is a value."""
        if value is not None:
            await self.write(0x1000 + 0x100 * function + at, value)
        return await self.read(0x1000 + 0x100 * function + at)

    async def counter(self, function: int, name: str) -> int:
        return await self.of(function, 64 + 4 * COUNTERS.index(name))

    async def settle(self) -> None:
        """The time in which nothing is stored passes."""
        await self.write(LIFE, 2)
        await self.write(COMMAND, 1)
        await self.bench.step(5 * UNIT)
        await self.write(LIFE, LIFETIME)

    def request(self, function: int, *operations: Operation, server: str = SERVERS[0]) -> bytes:
        return frames.udp_frame(
            frames.datagram(*(each.encode() for each in operations)),
            client=(address(function), 4000),
            server=(server, 11211),
            client_mac=mac(function),
        )

    def response(self, function: int, *operations: Operation, server: str = SERVERS[0]) -> bytes:
        return aged(
            frames.udp_frame(
                frames.datagram(*(each.encode() for each in operations)),
                client=(address(function), 4000),
                server=(server, 11211),
                client_mac=mac(function),
                response=True,
            )
        )

    async def until_sent(self, count: int, limit: int = 3000) -> list[bytes]:
        """The next frames to the network."""
        await self.bench.until(lambda: self.sent.count >= self.seen_sent + count, limit)
        found = [each.data for each in self.sent.frames[0][self.seen_sent :]]
        self.seen_sent += len(found)
        return found

    async def until_received(self, function: int, count: int, limit: int = 3000) -> list[bytes]:
        """The next frames to a function."""
        got = self.guests.frames[function]
        await self.bench.until(lambda: len(got) >= self.seen[function] + count, limit)
        found = [each.data for each in got[self.seen[function] :]]
        self.seen[function] += len(found)
        return found

    async def store_item(self, function: int, key: bytes, value: bytes, opaque: int) -> None:
        """The cache gets an item from a reply, and answers it."""
        self.hosts.send(Frame(self.request(function, get(key, opaque=opaque))), function)
        assert len(await self.until_sent(1)) == 1, "it was there already"
        reply = Operation(GET, extras=bytes(4), value=value, opaque=opaque, magic=0x81, cas=5)
        self.wire.send(Frame(self.response(function, reply)))
        await self.until_received(function, 1)
        await self.hit(function, key, value)

    async def hit(self, function: int, key: bytes, value: bytes) -> None:
        self.hosts.send(Frame(self.request(function, get(key, opaque=77))), function)
        (data,) = await self.until_received(function, 1)
        assert memcached.decode(checked(data)[8:])[0].value == value


class World:
    """Clients in the functions, servers behind a network with faults, and what must hold:

    the value of a hit was that of the server at some time between request and reply.
    """

    def __init__(self, core: Core, *, groups: list[int], faults: float, copies: float) -> None:
        self.core, self.rng = core, core.bench.rng
        self.groups = groups
        self.faults, self.copies = faults, copies
        # A group has its own servers: their items by group and address.
        self.servers = {(g, s): memcached.Server() for g in set(groups) for s in SERVERS}
        self.history: dict[tuple[int, str, bytes], list[tuple[int, Any]]] = {}
        self.asked: dict[tuple[int, int], tuple[int, str, Operation]] = {}
        self.flying: list[tuple[int, int, bytes]] = []  # cycle, function or -1 (to servers), frame
        self.opaque = 0
        self.hits = self.misses = 0
        self.pings: list[list[bytes]] = [[] for _ in groups]  # to the network
        self.pongs: list[list[bytes]] = [[] for _ in groups]
        self.got_pings: list[list[bytes]] = [[] for _ in groups]
        self.got_pongs: list[list[bytes]] = [[] for _ in groups]
        core.bench.drivers.append(self)
        self.kinds: Counter[str] = Counter()
        self.lossy = True

    # ---- the network -----------------------------------------------------------------------------
    def reset(self) -> None:
        pass

    def drive(self) -> None:
        now = self.core.bench.cycle
        for each in [each for each in self.flying if each[0] <= now]:
            self.flying.remove(each)
            _, function, data = each
            if function < 0:
                self._serve(data)
            else:
                self.core.wire.send(Frame(data))

    def sample(self) -> None:
        core = self.core
        for frame in core.sent.frames[0][core.seen_sent :]:
            core.seen_sent += 1
            function = frame.data[11] - 1
            if frame.data[12:14] == b"\x88\xb5":
                self.got_pings[function].append(frame.data)
            else:
                self._fly(-1, frame.data, copied=self._is_get(frame.data))
        for function in range(core.functions):
            for frame in core.guests.frames[function][core.seen[function] :]:
                core.seen[function] += 1
                self._received(function, frame.data)

    @staticmethod
    def _is_get(data: bytes) -> bool:
        return data[23] == 17 and data[51] in (GET, GETK)

    def _fly(self, function: int, data: bytes, *, copied: bool) -> None:
        count = 1
        if self.lossy and self.rng.random() < self.faults:
            count = 0
        elif copied and self.rng.random() < self.copies:
            count = 2
        for _ in range(count):
            delay = 1 + int(DELAY * self.rng.random() ** 3) if self.faults else 30
            self.flying.append((self.core.bench.cycle + delay, function, data))

    def _record(self, group: int, server: str, key: bytes) -> None:
        item = self.servers[group, server].items.get(key)
        changes = self.history.setdefault((group, server, key), [(0, None)])
        if changes[-1][1] != item:
            changes.append((self.core.bench.cycle, item))

    def _serve(self, data: bytes) -> None:
        function = data[11] - 1
        group = self.groups[function]
        server = f"10.0.1.{data[33]}"
        store_of = self.servers[group, server]
        if data[23] == 6:  # TCP: a write that nobody on the card can read
            payload = data[54:]
            if payload[:4] == b"set ":
                _, key, value = payload.rstrip(b"\0").split(b" ")[:3]
                store_of.answer(store(key, value))
                self._record(group, server, key)
            return
        operations = memcached.decode(checked(data)[8:])
        answers = []
        for each in operations:
            answer = store_of.answer(each)
            if answer is not None:
                answers.append(answer)
            keys = [known[2] for known in self.history if known[:2] == (group, server)]
            for key in [each.key, *keys] if each.opcode == FLUSH else [each.key]:
                self._record(group, server, key)
        if answers:
            reply = self.core.response(function, *answers, server=server)
            self._fly(function, reply, copied=True)

    # ---- the clients -----------------------------------------------------------------------------
    def _received(self, function: int, data: bytes) -> None:
        if data[12:14] == b"\x88\xb5":
            self.got_pongs[function].append(data)
            return
        server = f"10.0.1.{data[29]}"
        replies = memcached.decode(checked(data)[8:])
        if data[22] == 63:  # from the network
            return
        (reply,) = replies
        asked_at, asked_server, asked = self.asked[function, reply.opaque]
        assert server == asked_server
        assert reply.opcode == asked.opcode
        item = (reply.extras, reply.value, reply.cas)
        changes = self.history.get((self.groups[function], server, asked.key), [(0, None)])
        possible = [
            value
            for number, (_, value) in enumerate(changes)
            if number + 1 == len(changes) or changes[number + 1][0] >= asked_at
        ]
        assert item in possible, f"{asked.key!r}: {item} is none of {possible}"
        self.hits += 1

    def ask(self, function: int, keys: list[bytes]) -> None:
        rng = self.rng
        self.opaque += 1
        opaque = self.opaque
        server = rng.choice(SERVERS) if rng.random() < 0.3 else SERVERS[0]
        key = rng.choice(keys)
        choice = rng.random()
        several: list[Operation] = []
        if choice < 0.72:
            asked = get(key, opcode=rng.choice((GET, GET, GET, GETK, GETQ)), opaque=opaque)
        elif choice < 0.9:
            value = b"%d" % opaque + bytes(rng.choice((0, 40, 200, 480)))
            asked = store(key, value, opaque=opaque, opcode=SETQ if rng.random() < 0.1 else 1)
        elif choice < 0.95:
            asked = Operation(rng.choice((DELETE, APPEND)), key, opaque=opaque)
        elif choice < 0.97:
            asked = Operation(NOOP, opaque=opaque)
            several = [Operation(DELETE, key, opaque=opaque), get(key, opaque=opaque)]
        elif choice < 0.975:
            asked = Operation(FLUSH, opaque=opaque)
        elif choice < 0.98:
            segment = frames.tcp(
                b"set %s %d " % (key, opaque), source=address(function), destination=server
            )
            packet = frames.ipv4(segment, frames.TCP, source=address(function), destination=server)
            data = frames.ethernet(packet, source=mac(function))
            self.core.hosts.send(Frame(data), function)
            self.kinds["tcp"] += 1
            return
        else:
            for pending, sent in (
                (self.pings, True),
                (self.pongs, False),
            ):
                own, other = mac(function), frames.SERVER_MAC
                data = frames.ethernet(
                    struct.pack(">I", opaque) + rng.randbytes(rng.choice((50, 1400, 8000))),
                    source=own if sent else other,
                    destination=other if sent else own,
                    ethertype=0x88B5,
                )
                pending[function].append(data)
                if sent:
                    self.core.hosts.send(Frame(data), function)
                else:
                    self.core.wire.send(Frame(data))
            self.kinds["normal"] += 1
            return
        self.kinds[asked.__class__.__name__] += 1
        self.asked[function, opaque] = (self.core.bench.cycle, server, asked)
        data = self.core.request(function, asked, *several, server=server)
        self.core.hosts.send(Frame(data), function)


async def random_world(dut: Any, options: int, groups: list[int], **faults: float) -> None:
    core = Core(dut)
    await core.start(options)
    if core.controllers == 0:
        groups = [0] * core.functions
    for function, group in enumerate(groups):
        await core.of(function, GROUP, group)
    await core.settle()
    world = World(core, groups=groups, **faults)
    rng = core.bench.rng
    keys = [b"k%d" % number * rng.choice((1, 8)) for number in range(4)]
    for _ in range(900):
        function = rng.randrange(core.functions)
        world.ask(function, keys)
        await core.bench.step(rng.choice((1, 30, 100, 250)))
    await core.bench.step(2 * DELAY + 4000)
    for function in range(core.functions):
        assert world.got_pings[function] == world.pings[function], "frames to the network"
        assert world.got_pongs[function] == world.pongs[function], "frames to a function"
    hits = sum([await core.counter(each, "hits") for each in range(core.functions)])
    assert hits == world.hits
    core.dut._log.warning(f"{world.hits} hits, {faults}, options {options:#x}, groups {groups}")
    if core.controllers == 0:
        assert hits == 0
    else:
        assert hits > 25
    assert not await core.read(STATE) & 16, "nothing is inside"


def groups_of(dut: Any, shared: bool) -> list[int]:
    functions = len(dut.s_valid)
    return [0, 0, 1][:functions] if shared else list(range(functions))


@cocotb.test()
async def nothing_stale_with_loss_and_reordering(dut: Any) -> None:
    options = HEADER | SAFE | FILL | 16 * UPDATE
    await random_world(dut, options, groups_of(dut, True), faults=0.05, copies=0)


@cocotb.test()
async def nothing_stale_if_sets_store(dut: Any) -> None:
    options = HEADER | SAFE | FILL | 16 * STORE
    await random_world(dut, options, groups_of(dut, False), faults=0.05, copies=0)


@cocotb.test()
async def nothing_stale_with_copies(dut: Any) -> None:
    options = HEADER | SAFE | FILL | SINGLE | 16 * STORE
    await random_world(dut, options, groups_of(dut, True), faults=0.02, copies=0.2)


@cocotb.test()
async def nothing_stale_if_sets_invalidate(dut: Any) -> None:
    options = HEADER | SAFE | FILL | SINGLE | 16 * INVALIDATE
    await random_world(dut, options, groups_of(dut, False), faults=0.05, copies=0.1)


@cocotb.test()
async def registers_have_their_reset_values(dut: Any) -> None:
    core = Core(dut)
    await core.bench.start()
    assert await core.read(MODE) == 0
    assert await core.read(OPTIONS) == 0x17
    assert await core.read(PORT) == 11211
    assert await core.read(LIFE) == 24414
    assert await core.read(IDENTITY) == 0x6B764E43
    controllers = await core.read(SHAPE) >> 8 & 255
    for function in range(core.functions):
        assert await core.of(function, 0) == 0x00000002
        assert await core.of(function, 4) == (function + 1) << 8
        assert await core.of(function, GROUP) == function
        if controllers:
            assert await core.of(function, CONTROLLER) == function % controllers
            sharers = -(-core.functions // controllers)
            assert await core.of(function, BASE) == function // controllers * 65536 // sharers
            assert await core.of(function, MASK) == 65536 // sharers - 1
            assert await core.of(function, QUOTA) == 32 // sharers
    assert await core.of(core.functions, 0) == 0
    await core.of(0, GROUP, 7)
    assert await core.of(0, GROUP) == 0, "there is no such group"


@cocotb.test()
async def frames_go_to_the_functions_of_their_addresses(dut: Any) -> None:
    core = Core(dut)
    await core.start()
    others = range(1, core.functions)
    for destination, takers in (
        (mac(0), [0]),
        (mac(1), [1]),
        (b"\xff" * 6, [0, *others]),
        (b"\x33\x33\0\0\0\1", [0, *others]),
        (bytes(6), []),
    ):
        before = [len(each) for each in core.guests.frames]
        data = frames.ethernet(b"some payload", destination=destination, ethertype=0x88B5)
        core.wire.send(Frame(data))
        await core.bench.step(300)
        for function in range(core.functions):
            new = [each.data for each in core.guests.frames[function][before[function] :]]
            assert new == ([data] if function in takers else [])
    assert await core.read(UNKNOWN) == 1
    await core.write(PROMISCUOUS, 1)
    core.wire.send(Frame(frames.ethernet(b"x", destination=bytes(6), ethertype=0x88B5)))
    await core.bench.until(lambda: len(core.guests.frames[0]) == 4, 300)


@cocotb.test()
async def longest_frames_pass(dut: Any) -> None:
    core = Core(dut)
    await core.start()
    rng = core.bench.rng
    for number in range(12):
        data = frames.ethernet(rng.randbytes(9202 - number), source=mac(1), ethertype=0x88B5)
        core.hosts.send(Frame(data), 1)
        back = frames.ethernet(rng.randbytes(9202 - number), destination=mac(1), ethertype=0x88B5)
        core.wire.send(Frame(back))
        # TCP to memcached, through the controller.
        packet = frames.ipv4(frames.tcp(rng.randbytes(8000)), frames.TCP)
        core.hosts.send(Frame(frames.ethernet(packet, source=mac(0))), 0)
    await core.bench.until(lambda: core.sent.count == 24, 40000)
    await core.bench.until(lambda: len(core.guests.frames[1]) == 12, 40000)
    assert await core.counter(1, "receive_dropped") == 0


@cocotb.test()
async def damaged_frames_pass_unchanged(dut: Any) -> None:
    """Whatever they are, each leaves once, and the card goes on."""
    core = Core(dut)
    await core.start(HEADER | SAFE)  # nothing is stored
    rng = core.bench.rng
    sent: list[list[bytes]] = [[] for _ in range(core.functions)]
    back: list[list[bytes]] = [[] for _ in range(core.functions)]

    def damaged(data: bytes) -> bytes:
        content = bytearray(data)
        for _ in range(rng.choice((0, 1, 1, 3))):
            # The addresses stay: they say where the frame goes.
            content[rng.randrange(12, len(content))] = rng.choice((0, 1, 0x80, 0xFF, 8, 20, 24))
        if rng.random() < 0.3:
            del content[rng.randrange(14, len(content) + 1) :]
        elif rng.random() < 0.2:
            content += rng.randbytes(rng.choice((1, 50, 1500, 7000)))
        return bytes(content)

    for number in range(400):
        function = rng.randrange(core.functions)
        operations = [
            rng.choice(
                (
                    get(b"key", opaque=number),
                    store(b"key%d" % number, bytes(rng.randrange(600)), opaque=number),
                    Operation(DELETE, b"key", opaque=number),
                    Operation(FLUSH),
                )
            )
            for _ in range(rng.choice((1, 1, 3)))
        ]
        data = damaged(core.request(function, *operations))
        sent[function].append(data)
        core.hosts.send(Frame(data), function)
        reply = Operation(GET, extras=bytes(4), value=rng.randbytes(100), opaque=number, magic=0x81)
        data = damaged(core.response(function, reply, *operations[1:]))
        back[function].append(data)
        core.wire.send(Frame(data))
        await core.bench.step(rng.choice((10, 100, 200)))
    await core.bench.until(lambda: core.sent.count == 400, 60000)
    await core.bench.until(lambda: sum(map(len, core.guests.frames)) == 400, 60000)
    for function in range(core.functions):
        got = [each.data for each in core.sent.frames[0] if each.data[11] == function + 1]
        assert sorted(got) == sorted(sent[function])
        got = [each.data for each in core.guests.frames[function]]
        assert sorted(got) == sorted(back[function])


@cocotb.test()
async def reset_within_frames_leaves_nothing(dut: Any) -> None:
    core = Core(dut)
    for _ in range(6):
        await core.start()
        if core.controllers:
            core.seen = [len(each) for each in core.guests.frames]
            core.seen_sent = core.sent.count
            paces = (*core.hosts.paces, *core.guests.paces, *core.wire.paces, *core.sent.paces)
            for pace in paces:
                pace.fixed = 1.0
            await core.store_item(0, b"key", b"value", 1)
            for pace in paces:
                pace.fixed = None
        for number in range(60):
            function = number % core.functions
            core.hosts.send(Frame(core.request(function, get(b"key", opaque=number))), function)
            data = frames.ethernet(bytes(1000), destination=mac(function), ethertype=0x88B5)
            core.wire.send(Frame(data))
        await core.bench.step(core.bench.rng.randrange(10, 500))
        await core.bench.reset()
        await core.bench.step(100)
        assert not int(dut.tx_valid.value)
        assert not int(dut.m_valid.value)
        assert await core.counter(0, "sent") == 0


@cocotb.test()
async def nothing_old_is_served_after_the_cache_was_off(dut: Any) -> None:
    core = Core(dut, pace=1.0)
    await core.start()
    if core.controllers == 0:
        return
    await core.store_item(0, b"key", b"old", 1)
    await core.write(MODE, 0)
    core.hosts.send(Frame(core.request(0, store(b"key", b"new"))), 0)
    await core.until_sent(1)
    await core.write(MODE, 1)
    core.hosts.send(Frame(core.request(0, get(b"key", opaque=2))), 0)
    await core.until_sent(1)
    assert await core.counter(0, "hits") == 1


@cocotb.test()
async def nothing_old_is_served_after_a_group_was_not_cached(dut: Any) -> None:
    core = Core(dut, pace=1.0)
    await core.start()
    if core.controllers == 0:
        return
    await core.store_item(0, b"key", b"old", 1)
    controller = await core.of(0, CONTROLLER)
    await core.of(0, CONTROLLER, 15)
    core.hosts.send(Frame(core.request(0, store(b"key", b"new"))), 0)
    await core.until_sent(1)
    await core.of(0, CONTROLLER, controller)
    core.hosts.send(Frame(core.request(0, get(b"key", opaque=2))), 0)
    await core.until_sent(1)
    assert await core.counter(0, "hits") == 1


@cocotb.test()
async def unseen_mutations_end_all_entries(dut: Any) -> None:
    """Those that the controller cannot read: each kind, in the order of the function's frames."""
    core = Core(dut, pace=1.0)
    await core.start()
    if core.controllers == 0:
        return
    payload = frames.datagram(Operation(DELETE, b"key").encode())
    udp = frames.udp(payload, source=address(0), destination=SERVERS[0])
    tcp = frames.tcp(b"delete key\r\n", source=address(0), destination=SERVERS[0])
    udp6 = frames.udp(payload, **frames.OVER_IPV6)
    tcp6 = frames.tcp(b"delete key\r\n", **frames.OVER_IPV6)
    ends: dict[str, Any] = {"source": address(0), "destination": SERVERS[0]}

    def ip(data: bytes, protocol: int, **fields: Any) -> bytes:
        return frames.ethernet(frames.ipv4(data, protocol, **ends, **fields), source=mac(0))

    unseen = {
        "tcp": ip(tcp, frames.TCP),
        "udp-options": ip(udp, frames.UDP, options=bytes([1] * 4)),
        "tcp-options": ip(tcp, frames.TCP, options=bytes([1] * 24)),
        "first-fragment": ip(udp, frames.UDP, more_fragments=True),
        "fragment": ip(udp, frames.UDP, fragment_offset=10),
        "vlan": frames.ethernet(frames.ipv4(udp, frames.UDP, **ends), source=mac(0), vlan=5),
        "two-vlans": frames.ethernet(
            struct.pack(">HH", 5, 0x8100) + struct.pack(">HH", 6, 0x0800) + udp,
            source=mac(0),
            ethertype=0x88A8,
        ),
        "group": frames.ethernet(
            frames.ipv4(udp, frames.UDP, **ends), source=mac(0), destination=b"\xff" * 6
        ),
        "ipv6-udp": frames.ethernet(frames.ipv6(udp6, 17), source=mac(0), ethertype=0x86DD),
        "ipv6-tcp": frames.ethernet(frames.ipv6(tcp6, 6), source=mac(0), ethertype=0x86DD),
        "ipv6-fragment": frames.ethernet(frames.ipv6(tcp, 44), source=mac(0), ethertype=0x86DD),
        "long": core.request(0, store(b"key", bytes(3000))),
        "ascii": frames.udp_frame(
            frames.datagram(b"delete key\r\n"),
            client=(address(0), 4000),
            server=(SERVERS[0], 11211),
            client_mac=mac(0),
        ),
    }
    for number, (name, data) in enumerate(unseen.items()):
        await core.settle()
        key = b"key%d" % number
        await core.store_item(0, key, b"old", 100 + number)
        before = await core.counter(0, "hits")
        question = core.request(0, get(key, opaque=1000 + number))
        for each in (question, data, question):
            core.hosts.send(Frame(each), 0)
        assert await core.until_sent(2) == [data, question], name
        await core.until_received(0, 1)
        assert await core.counter(0, "hits") == before + 1, name
    # These change nothing.
    await core.settle()
    await core.store_item(0, b"key", b"old", 99)
    harmless = [
        ip(frames.tcp(b"", source=address(0), destination=SERVERS[0]), frames.TCP),
        ip(frames.tcp(b"x", destination_port=80, source=address(0)), frames.TCP),
        ip(frames.udp(b"x", destination_port=53, source=address(0)), frames.UDP),
        frames.arp(source=mac(0)),
        frames.ethernet(frames.ipv6(b"x" * 8, 58), source=mac(0), ethertype=0x86DD),
    ]
    for data in harmless:
        core.hosts.send(Frame(data), 0)
    assert sorted(await core.until_sent(len(harmless))) == sorted(harmless)
    await core.hit(0, b"key", b"old")


@cocotb.test()
async def servers_at_several_ports(dut: Any) -> None:
    core = Core(dut, pace=1.0)
    await core.start()
    if core.controllers == 0:
        return
    await core.write(PORT, 11200)
    await core.write(PORT_MASK, 0x3F)
    await core.settle()
    for number, port in enumerate((11201, 11211)):
        ends: dict[str, Any] = {
            "client": (address(0), 4000),
            "server": (SERVERS[0], port),
            "client_mac": mac(0),
        }
        asked = get(b"key", opaque=number)
        data = frames.udp_frame(frames.datagram(asked.encode()), **ends)
        core.hosts.send(Frame(data), 0)
        await core.until_sent(1)
        reply = Operation(GET, extras=bytes(4), value=b"%d" % port, opaque=number, magic=0x81)
        answer = frames.udp_frame(frames.datagram(reply.encode()), response=True, **ends)
        core.wire.send(Frame(answer))
        await core.until_received(0, 1)
        core.hosts.send(Frame(data), 0)
        (found,) = await core.until_received(0, 1)
        assert memcached.decode(checked(found)[8:])[0].value == b"%d" % port


@cocotb.test()
async def function_that_takes_nothing_blocks_no_other(dut: Any) -> None:
    """Nor are its own requests held back for ever."""
    core = Core(dut, pace=1.0)
    await core.start()
    if core.controllers == 0:
        return
    for function in (0, 1):
        await core.store_item(function, b"key", bytes(400), 1 + function)
    core.guests.paces[1].fixed = 0.0
    for number in range(150):
        core.hosts.send(Frame(core.request(1, get(b"key", opaque=number))), 1)
    await core.bench.step(3000)
    start = core.bench.cycle
    for _ in range(50):
        await core.hit(0, b"key", bytes(400))
    assert core.bench.cycle - start < 50 * 80
    await core.bench.until(lambda: core.hosts.idle, 20000)
    await core.bench.step(3000)
    assert await core.counter(1, "hits") == 151
    assert await core.counter(1, "receive_dropped") > 50
    core.guests.paces[1].fixed = 1.0
    await core.bench.step(2000)
    core.seen[1] = len(core.guests.frames[1])
    await core.hit(1, b"key", bytes(400))


@cocotb.test()
async def function_that_may_not_send_blocks_no_other(dut: Any) -> None:
    """Its misses wait for its rate; hits and misses of another pass."""
    core = Core(dut, pace=1.0)
    await core.start()
    if core.controllers == 0:
        return
    await core.store_item(0, b"key", bytes(100), 1)
    await core.of(1, RATE, 1)
    for number in range(1000):
        core.hosts.send(Frame(core.request(1, get(b"key%d" % number, opaque=number))), 1)
    await core.bench.step(20000)
    assert core.hosts.queues[1], "it waits"
    start = core.bench.cycle
    for number in range(30):
        await core.hit(0, b"key", bytes(100))
        question = core.request(0, get(b"other%d" % number, opaque=number))
        core.hosts.send(Frame(question), 0)
        await core.bench.until(lambda: core.sent.frames[0][-1].data[11] == 1, 200)
    assert core.bench.cycle - start < 30 * 160
    assert core.sent.count < 300


@cocotb.test()
async def other_frames_do_not_wait_for_the_controller(dut: Any) -> None:
    """The function has a queue of requests in front of its controller."""
    core = Core(dut, pace=1.0)
    await core.start()
    if core.controllers == 0:
        return
    await core.store_item(0, b"key", bytes(400), 1)
    for number in range(60):
        core.hosts.send(Frame(core.request(0, get(b"key", opaque=number))), 0)
    data = frames.ethernet(b"in a hurry", source=mac(0), ethertype=0x88B5)
    core.hosts.send(Frame(data), 0)
    await core.bench.until(lambda: core.hosts.idle, 1000)
    start = core.bench.cycle
    await core.until_sent(1)
    assert core.bench.cycle - start < 20
    assert len(core.guests.frames[0]) - core.seen[0] < 30, "requests are waiting"


@cocotb.test()
async def full_queue_of_requests_may_drop(dut: Any) -> None:
    core = Core(dut, pace=1.0)
    await core.start(HEADER | SAFE | FILL | DROP)
    if core.controllers == 0:
        return
    await core.store_item(0, b"key", bytes(400), 1)
    for number in range(600):
        core.hosts.send(Frame(core.request(0, get(b"key", opaque=number))), 0)
    data = frames.ethernet(b"in a hurry", source=mac(0), ethertype=0x88B5)
    core.hosts.send(Frame(data), 0)
    await core.until_sent(1)
    await core.bench.step(20000)
    dropped = await core.counter(0, "request_dropped")
    assert dropped > 100
    assert await core.counter(0, "hits") == 601 - dropped


@cocotb.test()
async def flood_of_replies_passes_by_the_controller(dut: Any) -> None:
    core = Core(dut, pace=1.0)
    await core.start()
    if core.controllers == 0:
        return
    replies = [
        core.response(0, Operation(GET, extras=bytes(4), value=b"%d" % n, opaque=n, magic=0x81))
        for n in range(200)
    ]
    for each in replies:
        core.wire.send(Frame(each))
    await core.bench.until(lambda: len(core.guests.frames[0]) == 200, 20000)
    assert sorted(each.data for each in core.guests.frames[0]) == sorted(replies)
    unread = await core.counter(0, "unread_replies")
    assert unread > 0
    assert await core.counter(0, "responses") == 200 - unread


@cocotb.test()
async def functions_share_the_network_by_their_weights(dut: Any) -> None:
    core = Core(dut, pace=1.0)
    await core.start()
    core.sent.paces[0].fixed = 0.2
    await core.of(0, WEIGHT, 1500)
    await core.of(1, WEIGHT, 4500)
    for _ in range(150):
        for function, length in ((0, 400), (1, 1000)):
            data = frames.ethernet(bytes(length - 14), source=mac(function), ethertype=0x88B5)
            for _ in range(3 if function else 2):
                core.hosts.send(Frame(data), function)
    await core.bench.step(12000)
    sent = Counter[int]()
    for each in core.sent.frames[0]:
        sent[each.data[11] - 1] += len(each.data)
    assert 2.8 < sent[1] / sent[0] < 3.2, sent


@cocotb.test()
async def rate_bounds_what_a_function_sends(dut: Any) -> None:
    core = Core(dut, pace=1.0)
    await core.start()
    rate = 2048
    await core.of(0, RATE, rate)
    start = core.bench.cycle
    for _ in range(100):
        data = frames.ethernet(bytes(986), source=mac(0), ethertype=0x88B5)
        core.hosts.send(Frame(data), 0)
    await core.until_sent(100, 80000)
    cycles = core.bench.cycle - start
    assert 0.95 < (100_000 - 16384) / (rate * cycles / 1024) < 1.1


@cocotb.test()
async def controller_is_shared_by_weights(dut: Any) -> None:
    """A neighbour with many requests costs a function at most its share."""
    core = Core(dut, pace=1.0)
    await core.start()
    if core.controllers != 1:
        return
    for function in (0, 1):
        await core.store_item(function, b"key", bytes(100), 1 + function)
    await core.of(1, WEIGHT, 16384)
    for number in range(1500):
        core.hosts.send(Frame(core.request(1, get(b"key", opaque=number))), 1)
    for number in range(300):
        core.hosts.send(Frame(core.request(0, get(b"key", opaque=number))), 0)
    before = [len(each) for each in core.guests.frames]
    await core.bench.step(12000)
    share = [len(each) - was for each, was in zip(core.guests.frames, before, strict=True)]
    core.dut._log.warning(f"hits in 12,000 cycles: {share}, weights 4096 and 16384")
    assert share[0] > 0.17 * sum(share[:2])
    assert await core.counter(0, "receive_dropped") == 0


@cocotb.test()
async def time_can_be_skipped(dut: Any) -> None:
    core = Core(dut, pace=1.0)
    await core.start()
    if core.controllers == 0:
        return
    await core.write(COMMAND, 1)
    assert not await core.read(STATE) & 4
    await core.write(COMMAND, 4 * (LIFETIME + 2) + 3)
    assert await core.read(STATE) & 4
    await core.write(MAX_AGE, 50)
    await core.store_item(0, b"key", b"value", 1)
    await core.write(COMMAND, 4 * 60 + 3)
    core.hosts.send(Frame(core.request(0, get(b"key", opaque=2))), 0)
    await core.until_sent(1)


@cocotb.test()
async def group_without_a_controller_is_not_cached(dut: Any) -> None:
    core = Core(dut, pace=1.0)
    await core.start()
    if core.controllers == 0:
        return
    await core.of(0, CONTROLLER, 15)
    await core.settle()
    for number in range(3):
        core.hosts.send(Frame(core.request(0, get(b"key", opaque=number))), 0)
        await core.until_sent(1)
        reply = Operation(GET, extras=bytes(4), value=b"x", opaque=number, magic=0x81)
        core.wire.send(Frame(core.response(0, reply)))
        await core.until_received(0, 1)
    assert await core.counter(0, "requests") == 0
    await core.store_item(1, b"key", b"value", 1)


@cocotb.test()
async def controller_of_a_group_can_change_under_load(dut: Any) -> None:
    core = Core(dut)
    await core.start()
    if core.controllers < 2:
        return
    rng = core.bench.rng
    total = 200
    for number in range(total):
        core.hosts.send(Frame(core.request(0, get(b"key%d" % number, opaque=number))), 0)
        if rng.random() < 0.2:
            await core.of(0, CONTROLLER, rng.randrange(2))
    await core.bench.until(lambda: core.sent.count == total, 60000)
