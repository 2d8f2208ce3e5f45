"""Emu answers what its table holds, as memcached does, and drops everything else."""

from __future__ import annotations

import zlib
from typing import Any

import cocotb
import frames
import memcached
from memcached import Operation
from streams import Bench, Frame, Sink, Source

TOP = "emu_core"
PARAMETERS = [{"ENTRIES": 64}]
CLEARED = 80  # cycles after which the table is cleared


class Emu:
    """The core between one client and nobody else."""

    def __init__(self, dut: Any, *, header: bool, pace: float | None = None) -> None:
        self.bench = Bench(dut)
        self.source = Source(self.bench, pace=pace)
        self.sink = Sink(self.bench, pace=pace)
        self.dut, self.header = dut, header
        dut.udp_header.value = int(header)
        dut.udp_port.value = frames.MEMCACHED_PORT

    async def start(self) -> None:
        await self.bench.start()
        await self.bench.step(CLEARED)

    def frame(self, *operations: Operation) -> bytes:
        payload = b"".join(each.encode() for each in operations)
        return frames.udp_frame(frames.datagram(payload, header=self.header))

    async def ask(self, operation: Operation) -> Operation:
        """The reply to an operation that gets one."""
        count = self.sink.count
        self.source.send(Frame(self.frame(operation), source=2))
        await self.bench.until(lambda: self.sink.count > count, 2000)
        reply = self.sink.frames[0][-1]
        start = 50 if self.header else 42
        (found,) = memcached.decode(reply.data[start:])
        assert frames.checksum(reply.data[14:34]) == 0, "checksum of IPv4"
        pseudo = reply.data[26:34] + b"\0\x11" + (len(reply.data) - 34).to_bytes(2, "big")
        assert frames.checksum(pseudo + reply.data[34:]) == 0, "checksum of UDP"
        assert reply.data[:12] == frames.CLIENT_MAC + frames.SERVER_MAC
        return found


@cocotb.test()
@cocotb.parametrize(header=[False, True])
async def answers_are_those_of_memcached(dut: Any, header: bool) -> None:
    emu = Emu(dut, header=header)
    await emu.start()
    golden = memcached.Server()
    rng = emu.bench.rng
    # Keys without a common line: nothing is replaced.
    keys: list[bytes] = []
    lines: set[int] = set()
    while len(keys) < 12:
        key = rng.randbytes(rng.randrange(1, 40))
        line = zlib.crc32(key) % 64
        if line not in lines:
            keys.append(key)
            lines.add(line)
    for _ in range(250):
        key = rng.choice(keys)
        value = rng.randbytes(rng.randrange(64 - len(key) + 1))
        operation = rng.choice(
            [
                memcached.get(key, opaque=rng.randrange(1 << 32)),
                memcached.get(key, opcode=memcached.GETK),
                memcached.store(key, value, flags=rng.randrange(1 << 32)),
                Operation(memcached.DELETE, key, opaque=7),
            ]
        )
        assert await emu.ask(operation) == golden.answer(operation)


@cocotb.test()
async def other_frames_are_dropped(dut: Any) -> None:
    emu = Emu(dut, header=False)
    await emu.start()
    rng = emu.bench.rng
    key = b"key1"
    others = [
        frames.arp(),
        emu.frame(memcached.store(key, bytes(100))),
        emu.frame(memcached.store(key, b"v", expiry=5)),
        emu.frame(Operation(memcached.APPEND, key, value=b"v")),
        emu.frame(memcached.get(key), memcached.get(key)),
        emu.frame(memcached.get(key))[:50],
        *(rng.randbytes(rng.randrange(1, 1500)) for _ in range(60)),
    ]
    for data in others:
        emu.source.send(Frame(data, source=1))
    await emu.bench.until(lambda: emu.source.idle, 20_000)
    await emu.bench.step(200)
    assert emu.sink.count == 0
    assert int(dut.dropped.value) == len(others)
    assert (await emu.ask(memcached.get(key))).status == memcached.NOT_FOUND


@cocotb.test()
async def one_query_takes_many_cycles(dut: Any) -> None:
    emu = Emu(dut, header=False, pace=1.0)
    await emu.start()
    await emu.ask(memcached.store(b"key1", b"value..1"))
    begin, count = emu.bench.cycle, emu.sink.count
    for _ in range(50):
        emu.source.send(Frame(emu.frame(memcached.get(b"key1")), source=1))
    await emu.bench.until(lambda: emu.sink.count == count + 50, 10_000)
    cycles = (emu.bench.cycle - begin) / 50
    dut._log.warning("a GET of a 4-byte key that hits takes %.1f cycles", cycles)
    assert 30 < cycles < 120
