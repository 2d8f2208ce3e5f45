"""A client's view of the key-value controller: requests and replies, one after the other."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import frames
import memcached
from cocotb.triggers import RisingEdge
from memcached import Operation
from packed import Packed
from streams import Bench, Frame, Sink, Source

NORMAL, QUERY, RESPONSE, OPAQUE, ORDERED = range(5)
INVALIDATE, UPDATE, STORE = range(3)
SETTINGS = Packed(udp_header=1, safe_writes=1, fill=1, single_use=1, set_mode=2, max_age=48)
EVENTS = (
    "corrupt",
    "query",
    "hit",
    "miss",
    "stored",
    "visible",
    "filled",
    "fill_refused",
    "invalidated",
    "evicted",
    "malformed",
    "forwarded",
    "replied",
    "advance_epoch",
    "delayed_flush",
    "response",
)
LIFETIME = 20
UNIT_CYCLES = 64
SECOND = 24  # units
SERVER = ("10.0.0.254", 11211)
OTHER_SERVER = ("10.0.0.253", 11211)
CLIENT = ("10.0.0.1", 40000)


@dataclass(frozen=True)
class Ends:
    """Who speaks with whom."""

    function: int = 0
    client: tuple[str, int] = CLIENT
    server: tuple[str, int] = SERVER


DEFAULT = Ends()


def checked(data: bytes) -> bytes:
    """The payload of a UDP frame whose lengths and checksums are right."""
    total, ip = struct.unpack(">H", data[16:18])[0], data[14:34]
    assert len(data) == 14 + total
    assert frames.ones_complement_sum(ip) == 0xFFFF, "checksum of IPv4"
    udp = data[34:]
    assert struct.unpack(">H", udp[4:6])[0] == len(udp)
    pseudo = ip[12:20] + struct.pack(">HH", 17, len(udp))
    assert udp[6:8] != b"\0\0"
    assert frames.ones_complement_sum(pseudo + udp) == 0xFFFF, "checksum of UDP"
    return udp[8:]


class Monitor:
    """Counts the events of the controller and moves its clock."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.dut = bench, bench.dut
        self.counts = dict.fromkeys(EVENTS, 0)
        self.now = 0
        self.cycles = 0
        self.running = True
        bench.drivers.append(self)

    def drive(self) -> None:
        self.cycles += 1
        passed = int(self.running and self.cycles % UNIT_CYCLES == 0)
        self.now += passed
        self.dut.now.value = self.now
        self.dut.passed.value = passed

    def sample(self) -> None:
        value = int(self.dut.events.value)
        if value:
            for index, name in enumerate(reversed(EVENTS)):
                self.counts[name] += value >> index & 1

    def reset(self) -> None:
        self.counts = dict.fromkeys(EVENTS, 0)


class Lab:
    """The controller, and a server that has what was sent to it in order."""

    def __init__(self, dut: Any, pace: float | None = 1.0, **settings: int) -> None:
        self.dut, self.bench = dut, Bench(dut)
        self.source = Source(self.bench, width=64, pace=pace, beside=("s_kind",))
        self.sink = Sink(self.bench, width=64, pace=pace, beside=("m_host",))
        self.monitor = Monitor(self.bench)
        self.functions = len(dut.groups) // 3
        self.servers = {each: memcached.Server() for each in (SERVER, OTHER_SERVER)}
        self.header = True
        self.request_id = 0
        self.opaques = 0x10000
        dut.lifetime.value = LIFETIME
        dut.foreign_write.value = dut.clear_flushes.value = 0
        dut.second.value, dut.accuracy.value = SECOND, 10
        dut.wall_write.value = dut.wall_time.value = 0
        self.set_groups(range(self.functions))
        self.quota(*[256] * self.functions)
        self.settings: dict[str, int] = {}
        self.set(**settings)

    @property
    def index_bits(self) -> int:
        """Of the table: as the parameters of the bench say."""
        return 8 if self.functions > 1 else 6

    @property
    def counts(self) -> dict[str, int]:
        return self.monitor.counts

    def set(self, **settings: int) -> None:
        defaults = {"udp_header": 1, "safe_writes": 1, "fill": 1, "set_mode": UPDATE}
        self.settings = {**defaults, **self.settings, **settings}
        self.header = bool(self.settings["udp_header"])
        self.dut.settings.value = SETTINGS.pack(**self.settings)

    def set_groups(self, groups: Any, mask: int = 0xFFFF, step: int = 0) -> None:
        """The group of each function; group g has the slice from g * step."""
        self.dut.groups.value = sum(group << 3 * at for at, group in enumerate(groups))
        self.dut.slice_base.value = sum(g * step << 16 * g for g in range(self.functions))
        self.dut.slice_mask.value = sum(mask << 16 * g for g in range(self.functions))

    def quota(self, *quotas: int) -> None:
        self.dut.quota.value = sum(each << 9 * at for at, each in enumerate(quotas))

    async def start(self) -> None:
        await self.bench.start()
        await self.bench.until(lambda: bool(self.dut.initialized.value), 20000)

    async def units(self, count: int) -> None:
        """Time passes."""
        await self.bench.step(count * UNIT_CYCLES)

    async def foreign_write(self) -> None:
        self.dut.foreign_write.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.foreign_write.value = 0
        await RisingEdge(self.dut.clk)

    def opaque(self) -> int:
        """One that was not used before."""
        self.opaques += 1
        return self.opaques

    # ---- frames ----------------------------------------------------------------------------------
    def frame(self, payload: bytes, ends: Ends, *, response: bool = False) -> bytes:
        return frames.udp_frame(payload, client=ends.client, server=ends.server, response=response)

    def payload(self, *operations: Operation) -> bytes:
        return frames.datagram(
            *(each.encode() for each in operations),
            request_id=self.request_id,
            header=self.header,
        )

    async def passes(self, data: bytes, kind: int, function: int = 0) -> Frame:
        """What comes out for a frame."""
        before = self.sink.count
        self.source.send(Frame(data, 1 << function, 0, {"s_kind": kind}))
        await self.bench.until(lambda: self.sink.count > before, 4000)
        assert self.sink.count == before + 1
        out = self.sink.frames[0][before]
        assert out.source == 1 << function
        return out

    async def request(self, *operations: Operation, ends: Ends = DEFAULT) -> Operation | None:
        """Sends a request: the reply of the cache, or None if it went on, unchanged."""
        self.request_id = (self.request_id + 1) & 0xFFFF
        data = self.frame(self.payload(*operations), ends)
        out = await self.passes(data, QUERY, ends.function)
        if not out.beside["m_host"]:
            assert out.data == data, "a request goes on unchanged"
            return None
        (asked,) = operations
        assert out.data[:12] == data[6:12] + data[:6], "MAC addresses"
        assert out.data[26:34] == data[30:34] + data[26:30], "IP addresses"
        assert out.data[34:38] == data[36:38] + data[34:36], "ports"
        payload = checked(out.data)
        if self.header:
            assert payload[:8] == struct.pack(">HHHH", self.request_id, 0, 1, 0)
            payload = payload[8:]
        (reply,) = memcached.decode(payload)
        assert reply.encode() == payload
        assert (reply.magic, reply.opcode, reply.opaque) == (0x81, asked.opcode, asked.opaque)
        return reply

    async def reply(self, *operations: Operation, ends: Ends = DEFAULT) -> None:
        """A reply of the server passes, unchanged."""
        data = self.frame(self.payload(*operations), ends, response=True)
        out = await self.passes(data, RESPONSE, ends.function)
        assert (out.data, out.beside["m_host"]) == (data, 1)

    def serve(self, *operations: Operation, ends: Ends = DEFAULT) -> list[Operation]:
        """What the server replies."""
        answers = [self.servers[ends.server].answer(each) for each in operations]
        return [each for each in answers if each is not None]

    async def ask(self, *operations: Operation, ends: Ends = DEFAULT) -> Operation | None:
        """A request with the server's reply; what the cache replied, or None."""
        hit = await self.request(*operations, ends=ends)
        if hit is None:
            answers = self.serve(*operations, ends=ends)
            if answers:
                await self.reply(*answers, ends=ends)
        return hit
