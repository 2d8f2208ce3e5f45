"""The processing element between clients and a server, with models of the shared services."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable
from typing import Any

import cocotb
import memcached
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from memcached import Operation

TOP = "lake_pe"
PARAMETERS = [{}]
BUCKETS = 16
CLIENT, SERVER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
PORT = 11211

Fields = list[tuple[str, int]]
LINE: Fields = [("write", 1), ("address", 30), ("data", 512)]
SLAB: Fields = [("free", 1), ("chunk_class", 2), ("chunk", 30)]
GUARD: Fields = [("command", 2), ("index", 12), ("expiring", 1)]
ENTRY_BITS = 2 + 32 + 8 + 24 + 32 + 30
MISS: Fields = [
    ("command", 3),
    ("slot", 8),
    ("window", 3),
    ("tag", 136),
    ("entry", ENTRY_BITS),
    ("key", 256),
]
SETTINGS: Fields = [
    ("udp_header", 1),
    ("safe_writes", 1),
    ("fill", 1),
    ("single_use", 1),
    ("max_age", 48),
    ("bucket_mask", 30),
]
EVENTS = [
    "hit",
    "miss",
    "stored",
    "visible",
    "filled",
    "fill_refused",
    "invalidated",
    "evicted",
    "uncached",
    "malformed",
    "forwarded",
    "replied",
    "advance_epoch",
    "delayed_flush",
]


def unpack(value: int, fields: Fields) -> dict[str, int]:
    found = {}
    for name, bits in reversed(fields):
        found[name] = value & ((1 << bits) - 1)
        value >>= bits
    return found


def pack(fields: Fields, values: dict[str, int]) -> int:
    total = 0
    for name, bits in fields:
        total = total << bits | values[name]
    return total


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def frame(payload: bytes, *, port: int, response: bool = False, header: bool = False) -> bytes:
    """An Ethernet frame with a datagram of a client to the server, or back."""
    if header:
        payload = struct.pack(">HHHH", 7, 0, 1, 0) + payload
    source, target = (SERVER, CLIENT) if response else (CLIENT, SERVER)
    ports = (PORT, port) if response else (port, PORT)
    udp = struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload
    pseudo = source + target + struct.pack(">HH", 17, len(udp))
    udp = udp[:6] + struct.pack(">H", (~checksum(pseudo + udp) & 0xFFFF) or 0xFFFF) + udp[8:]
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0, source, target)
    ip = ip[:10] + struct.pack(">H", ~checksum(ip) & 0xFFFF) + ip[12:]
    macs = (
        (b"\x02\0\0\0\0\1" + b"\x02\0\0\0\0\2")
        if response
        else (b"\x02\0\0\0\0\2" + b"\x02\0\0\0\0\1")
    )
    return macs + b"\x08\0" + ip + udp


class Services:
    """Models of hash memory, data memory, slab allocator, guard table and miss table."""

    def __init__(self, rng: random.Random, chunks: int = 64) -> None:
        self.rng = rng
        self.hash: dict[int, int] = {}
        self.data: dict[int, int] = {}
        self.free = {
            each: [64 * each + 8 * n + 4096 * each for n in range(chunks)] for each in range(4)
        }
        self.used: dict[int, int] = {}
        self.guard: dict[int, list[int]] = {}
        self.entries: dict[int, list[Any]] = {}

    def line(self, memory: dict[int, int]) -> Callable[[int], int | None]:
        def serve(request: int) -> int | None:
            asked = unpack(request, LINE)
            if asked["write"]:
                memory[asked["address"]] = asked["data"]
                return None
            return memory.get(asked["address"], 0)

        return serve

    def slab(self, request: int) -> int | None:
        asked = unpack(request, SLAB)
        if asked["free"]:
            assert self.used.pop(asked["chunk"]) == asked["chunk_class"], "freed what is not in use"
            self.free[asked["chunk_class"]].append(asked["chunk"])
            return None
        if not self.free[asked["chunk_class"]]:
            return 0
        chunk = self.free[asked["chunk_class"]].pop()
        self.used[chunk] = asked["chunk_class"]
        return 1 << 30 | chunk

    def guards(self, request: int) -> int:
        asked = unpack(request, GUARD)
        held = self.guard.setdefault(asked["index"], [0, 0, 0])
        if asked["command"] == 1:
            held[0] += 1
            held[1] += 1
            held[2] |= asked["expiring"]
        elif asked["command"] == 2:
            held[1] = max(0, held[1] - 1)
        return held[0] << 9 | held[1] << 1 | held[2]

    def pass_lifetime(self) -> None:
        """No packet is on its way any more: mutations without reply do not count."""
        for held in self.guard.values():
            held[1] = 0

    def misses(self, request: int) -> int | None:
        asked = unpack(request, MISS)
        none = 0
        match asked["command"]:
            case 0:
                ambiguous = False
                for each in self.entries.values():
                    if each[0] == asked["tag"]:
                        each[3] = ambiguous = True
                slot = next((n for n in range(16) if n not in self.entries), None)
                if slot is None:
                    return none
                self.entries[slot] = [asked["tag"], asked["entry"], {}, ambiguous]
                return self._miss(1, 0, slot, 0, 0)
            case 1:
                self.entries[asked["slot"]][2][asked["window"]] = asked["key"]
                return None
            case 2:
                for slot, each in self.entries.items():
                    if each[0] == asked["tag"]:
                        each[0] = None
                        return self._miss(1, int(each[3]), slot, each[1], 0)
                return none
            case 3:
                return self._miss(1, 0, 0, 0, self.entries[asked["slot"]][2][asked["window"]])
            case 4:
                del self.entries[asked["slot"]]
                return None
            case _:
                return None

    def _miss(self, hit: int, ambiguous: int, slot: int, entry: int, key: int) -> int:
        return (((hit << 1 | ambiguous) << 8 | slot) << ENTRY_BITS | entry) << 256 | key


class Bench:
    """The element under test, its services, and frames in and out."""

    def __init__(self, dut: Any, rng: random.Random, **settings: int) -> None:
        self.dut, self.rng = dut, rng
        self.services = Services(rng)
        self.settings = {
            "udp_header": 0,
            "safe_writes": 1,
            "fill": 1,
            "single_use": 0,
            "max_age": 0,
            "bucket_mask": BUCKETS - 1,
            **settings,
        }
        self.events = dict.fromkeys(EVENTS, 0)
        self.now = 1000

    async def start(self) -> None:
        dut = self.dut
        cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
        dut.rst.value = 1
        dut.s_valid.value = dut.m_ready.value = dut.granted.value = 0
        dut.quiet.value, dut.now.value, dut.epoch_start.value = 1, self.now, 0
        dut.s_corrupt.value, dut.server_known.value, dut.server_mac.value = 0, 1, 1
        dut.id.value = 0
        dut.flush_granted.value = dut.flush_timed.value = 0
        dut.settings.value = pack(SETTINGS, self.settings)
        services = self.services
        serving = {
            "hash": services.line(services.hash),
            "data": services.line(services.data),
            "slab": services.slab,
            "guard": services.guards,
            "miss": services.misses,
        }
        for name in serving:
            getattr(dut, f"{name}_ready").value = 0
            getattr(dut, f"{name}_response_valid").value = 0
        for _ in range(3):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        for name, serve in serving.items():
            cocotb.start_soon(self._serve(name, serve))
        cocotb.start_soon(self._watch())

    async def _serve(self, name: str, serve: Callable[[int], int | None]) -> None:
        dut = self.dut
        valid, ready = getattr(dut, f"{name}_valid"), getattr(dut, f"{name}_ready")
        request = getattr(dut, f"{name}_request")
        answered, response = (
            getattr(dut, f"{name}_response_valid"),
            getattr(dut, f"{name}_response"),
        )
        while True:
            ready.value = int(self.rng.random() < 0.7)
            await RisingEdge(dut.clk)
            if not (valid.value and ready.value):
                continue
            ready.value = 0
            found = serve(int(request.value))
            if found is None:
                continue
            for _ in range(self.rng.randrange(4)):
                await RisingEdge(dut.clk)
            answered.value, response.value = 1, found
            await RisingEdge(dut.clk)
            answered.value = 0

    async def _watch(self) -> None:
        """The scoreboard: grants after a while. And counts of events."""
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            dut.granted.value = int(
                (bool(dut.declare_valid.value) and self.rng.random() < 0.5)
                or (bool(dut.granted.value) and bool(dut.declare_valid.value))
            )
            for number, name in enumerate(reversed(EVENTS)):
                self.events[name] += int(dut.events.value) >> number & 1
            if int(dut.events.value) >> 1 & 1:
                self.now += 1
                dut.now.value = dut.epoch_start.value = self.now

    async def pass_frame(self, data: bytes, *, response: bool = False) -> tuple[bytes, int]:
        """Sends a frame in; returns the one that comes out, and its destination mask."""
        dut, rng = self.dut, self.rng
        source = 1 << 4 if response else 1
        meta = len(data) << 16 | source << 8
        words = [data[n : n + 32].ljust(32, b"\xee") for n in range(0, len(data), 32)]
        sent, out, cycles = 0, b"", 0
        while True:
            cycles += 1
            assert cycles < 20_000, f"no frame came out; state {dut.state.value}"
            valid = sent < len(words) and rng.random() < 0.8
            dut.s_valid.value = int(valid)
            if valid:
                dut.s_data.value = int.from_bytes(words[sent], "little")
                dut.s_last.value = int(sent == len(words) - 1)
                dut.s_meta.value = meta
                dut.s_response.value = int(response)
            dut.m_ready.value = int(rng.random() < 0.7)
            await RisingEdge(dut.clk)
            if valid and dut.s_ready.value:
                sent += 1
            if dut.m_valid.value and dut.m_ready.value:
                out += int(dut.m_data.value).to_bytes(32, "little")
                if dut.m_last.value:
                    length = int(dut.m_meta.value) >> 16
                    assert (length + 31) // 32 * 32 == len(out)
                    dut.s_valid.value = dut.m_ready.value = 0
                    return out[:length], int(dut.m_meta.value) & 0xFF


class Lab:
    """A client and a server around the element: every datagram is answered at once."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.header = bool(bench.settings["udp_header"])
        self.server = memcached.Server()
        self.forwarded = 0

    async def ask(self, *operations: Operation, port: int = 4000) -> list[Operation]:
        """The replies that the client gets, from the cache or the server."""
        payload = b"".join(each.encode() for each in operations)
        sent = frame(payload, port=port, header=self.header)
        out, destination = await self.bench.pass_frame(sent)
        if destination:
            assert destination == 1, "a reply goes to the port of its request"
            return self.received(out, port)
        assert out == sent, "a forwarded frame is unchanged"
        self.forwarded += 1
        answers = [each for each in map(self.server.answer, operations) if each is not None]
        if not answers:
            return []
        back = frame(
            b"".join(each.encode() for each in answers),
            port=port,
            response=True,
            header=self.header,
        )
        out, _ = await self.bench.pass_frame(back, response=True)
        assert out == back, "a reply of the server is unchanged"
        return answers

    def received(self, out: bytes, port: int) -> list[Operation]:
        start = 50 if self.header else 42
        found = memcached.decode(out[start:])
        again = frame(
            b"".join(each.encode() for each in found), port=port, response=True, header=self.header
        )
        assert out == again, f"headers or checksums differ:\n{out.hex()}\n{again.hex()}"
        return found


async def lab(dut: Any, **settings: int) -> Lab:
    bench = Bench(dut, random.Random(cocotb.RANDOM_SEED), **settings)
    await bench.start()
    return Lab(bench)


@cocotb.test()
async def a_miss_is_filled_from_the_reply(dut: Any) -> None:
    there = await lab(dut)
    there.server.answer(memcached.store(b"key1", b"value..1", flags=5))
    for _ in range(3):
        (reply,) = await there.ask(memcached.get(b"key1", opaque=77))
        assert (reply.value, reply.extras, reply.cas) == (b"value..1", b"\0\0\0\5", 1)
        assert reply.opaque == 77
    assert there.forwarded == 1
    assert there.bench.events["filled"] == 1
    assert there.bench.events["hit"] == 2


@cocotb.test()
@cocotb.parametrize(safe=[0, 1])
async def random_operations_have_the_servers_answers(dut: Any, safe: int) -> None:
    there = await lab(dut, safe_writes=safe, udp_header=safe)
    rng = there.bench.rng
    golden = memcached.Server()
    keys = [rng.randbytes(rng.choice([1, 2, 4, 31, 32, 33, 64, 100, 250])) for _ in range(24)]
    for number in range(300):
        key = rng.choice(keys)
        value = rng.randbytes(rng.choice([0, 1, 8, 27, 28, 31, 60, 100, 229, 230, 400, 600]))
        asked = rng.choice(
            [
                memcached.get(key),
                memcached.get(key),
                memcached.get(key),
                memcached.get(key, opcode=memcached.GETK),
                memcached.get(key, opcode=memcached.GETQ),
                memcached.store(key, value, flags=rng.randrange(1 << 32)),
                memcached.store(key, value, flags=rng.randrange(1 << 32)),
                memcached.store(key, value, opcode=memcached.SETQ),
                memcached.store(key, value, opcode=memcached.ADD),
                memcached.store(key, value, cas=rng.randrange(1, 40)),
                Operation(memcached.DELETE, key),
                Operation(memcached.APPEND, key, value=b"more"),
                Operation(memcached.NOOP),
            ]
        )
        asked = Operation(**{**asked.__dict__, "opaque": rng.randrange(1 << 32)})
        several = [asked]
        if rng.random() < 0.1:
            several += [memcached.store(rng.choice(keys), b"several"), memcached.get(key)]
        if rng.random() < 0.01:
            several = [Operation(memcached.FLUSH, extras=b"")]
        expected = [each for each in map(golden.answer, several) if each is not None]
        if rng.random() < 0.2:
            there.bench.services.pass_lifetime()
        got = await there.ask(*several, port=rng.randrange(4000, 4010))
        assert got == expected, f"operation {number}, safe={safe}: {several}"
    services = there.bench.services
    held = sum((line >> 64 * way) >> 63 & 1 for line in services.hash.values() for way in range(8))
    assert held == len(services.used), "a chunk is lost or doubled"
    assert there.bench.events["hit"] > 10


@cocotb.test()
async def an_old_reply_does_not_fill_after_a_mutation(dut: Any) -> None:
    there = await lab(dut)
    bench = there.bench
    old = there.server.answer(memcached.store(b"key1", b"old"))
    assert old is not None
    read = memcached.get(b"key1", opaque=1)
    write = memcached.store(b"key1", b"new", opaque=2)
    old_reply = there.server.answer(read)
    acknowledgement = there.server.answer(write)
    assert old_reply is not None
    assert acknowledgement is not None
    await bench.pass_frame(frame(read.encode(), port=4000))
    await bench.pass_frame(frame(write.encode(), port=4001))
    await bench.pass_frame(frame(old_reply.encode(), port=4000, response=True), response=True)
    assert bench.events["fill_refused"] == 1
    await bench.pass_frame(frame(acknowledgement.encode(), port=4001, response=True), response=True)
    (reply,) = await there.ask(read)
    assert reply.value == b"new"
    assert bench.events["hit"] == 1


@cocotb.test()
async def crc_is_that_of_zlib(dut: Any) -> None:
    there = await lab(dut)
    await there.ask(memcached.store(b"abcde", b"v"))
    assert zlib.crc32(b"abcde") & (BUCKETS - 1) in there.bench.services.hash
