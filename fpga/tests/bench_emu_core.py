"""Emu answers what its table holds, as memcached does, and drops everything else."""

from __future__ import annotations

import zlib
from ipaddress import IPv4Address
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
        dut.mac.value = int.from_bytes(frames.SERVER_MAC, "little")
        dut.address.value = int.from_bytes(IPv4Address(frames.SERVER_IP).packed, "little")

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


def keys_of_a_line(length: int, further: int) -> tuple[bytes, bytes]:
    """A key, and another one of its line: the key and further bytes, or of its length."""
    number = 0
    while True:
        key = b"%0*d" % (length, number)
        for end in range(1, 256):
            other = key + bytes([end]) * further if further else key[:-1] + bytes([end])
            if other != key and zlib.crc32(other) % 64 == zlib.crc32(key) % 64:
                return key, other
        number += 1


@cocotb.test()
async def keys_of_a_line_are_told_apart(dut: Any) -> None:
    """Of one length, and one that is the beginning of the other."""
    emu = Emu(dut, header=False)
    await emu.start()
    for further in (0, 2):
        key, other = keys_of_a_line(6, further)
        for held, asked in ((key, other), (other, key)):
            # With the value that makes key and value the bytes of the other key, too.
            await emu.ask(memcached.store(held, other[len(held) :] + b"value"))
            assert (await emu.ask(memcached.get(asked))).status == memcached.NOT_FOUND
            assert (await emu.ask(memcached.get(held))).status == 0


@cocotb.test()
async def frame_to_another_port_is_dropped(dut: Any) -> None:
    emu = Emu(dut, header=False)
    await emu.start()
    data = frames.udp_frame(
        memcached.get(b"key1").encode(), server=(frames.SERVER_IP, frames.MEMCACHED_PORT + 1)
    )
    emu.source.send(Frame(data, source=1))
    await emu.bench.step(500)
    assert emu.sink.count == 0
    assert int(dut.dropped.value) == 1


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


def flipped(frame: bytes, bit: int) -> bytes:
    changed = bytearray(frame)
    changed[bit // 8] ^= 0x80 >> bit % 8
    return bytes(changed)


@cocotb.test()
async def corrupt_requests_are_dropped_and_counted(dut: Any) -> None:
    """Each bit of a GET, a SET and a DELETE, flipped; but not in the sender's MAC address, which no
    checksum covers."""
    emu = Emu(dut, header=True, pace=1.0)
    await emu.start()
    key = b"key1"
    await emu.ask(memcached.store(key, b"value"))
    count, stores = emu.sink.count, int(dut.stores.value)
    others = (memcached.get(key), memcached.store(key, b"other"), Operation(memcached.DELETE, key))
    sent = corrupt = 0
    for operation in others:
        frame = emu.frame(operation)
        for bit in (*range(48), *range(96, 8 * len(frame))):
            emu.source.send(Frame(flipped(frame, bit), source=2))
            sent += 1
            # Another header length, protocol, port or fragment is no request of memcached.
            byte = bit // 8
            request = byte >= 14 and byte not in (14, 23, 36, 37)
            request = request and not (byte == 20 and bit % 8 > 1) and byte != 21
            corrupt += request
        for bare in (frame[:-1], frame[:40] + b"\0\0" + frame[42:-1]):
            emu.source.send(Frame(bare, source=2))
            sent += 1
            corrupt += 1
        await emu.bench.until(lambda: emu.source.idle, 80_000)
        await emu.bench.step(200)
    assert emu.sink.count == count
    assert (int(dut.dropped.value), int(dut.corrupt_frames.value)) == (sent, corrupt)
    assert int(dut.stores.value) == stores
    assert (await emu.ask(memcached.get(key))).value == b"value"


@cocotb.test()
async def frames_for_others_are_dropped(dut: Any) -> None:
    emu = Emu(dut, header=True, pace=1.0)
    await emu.start()
    key = b"key1"
    await emu.ask(memcached.store(key, b"value"))
    count = emu.sink.count
    payload = frames.datagram(memcached.get(key).encode())
    udp = frames.udp(payload)
    for data in (
        frames.udp_frame(payload, server=("10.0.0.253", frames.MEMCACHED_PORT)),
        frames.udp_frame(payload, server_mac=frames.SERVER_MAC[:5] + b"\1"),
        frames.udp_frame(payload, server_mac=frames.BROADCAST_MAC),
        frames.ethernet(frames.ipv4(udp, frames.UDP, ttl=0)),
        emu.frame(Operation(memcached.GET, key, magic=0x81)),
    ):
        emu.source.send(Frame(data, source=2))
    await emu.bench.until(lambda: emu.source.idle, 2000)
    await emu.bench.step(300)
    assert emu.sink.count == count
    assert int(dut.corrupt_frames.value) == 0
    without = frames.udp_frame(payload)
    emu.source.send(Frame(without[:40] + b"\0\0" + without[42:], source=2))
    await emu.bench.until(lambda: emu.sink.count == count + 1, 2000)
