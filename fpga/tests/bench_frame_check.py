"""Frames that a kernel drops for their checksums or lengths are found, and no others."""

from __future__ import annotations

import random
import struct
from typing import Any

import cocotb
import cocotb.clock
import frames
from streams import Bench

TOP = "frame_check"
PARAMETERS = [{"BYTES": 32}, {"BYTES": 64}]
QUESTION = frames.datagram(b"\x80" + bytes(29))


class Checker:
    """Gives frames to the module; idle cycles are between their words."""

    def __init__(self, dut: Any, *, idle: float = 0.2) -> None:
        self.dut, self.bench, self.idle = dut, Bench(dut), idle
        self.width = len(dut.data) // 8

    async def start(self) -> None:
        self.dut.take.value = 0
        # There is no reset: what is left of a frame ends with the first word of the next.
        cocotb.start_soon(cocotb.clock.Clock(self.dut.clk, 5, "ns").start())
        await self.bench.step()

    async def is_corrupt(self, data: bytes) -> bool:
        dut, rng = self.dut, self.bench.rng
        # Bytes behind the end of the frame have any value.
        padded = data + rng.randbytes(64 + self.width)
        for at in range(0, len(data), self.width):
            while rng.random() < self.idle:
                dut.take.value = 0
                dut.first.value, dut.data.value = rng.randrange(2), rng.getrandbits(256)
                await self.bench.step()
            dut.take.value, dut.first.value = 1, int(at == 0)
            dut.data.value = int.from_bytes(padded[at : at + self.width], "little")
            dut.header.value = int.from_bytes(padded[:64], "little") if not at else 0
            dut.length.value = len(data) if not at else 0
            await self.bench.step()
        dut.take.value = 0
        await self.bench.step()
        return bool(dut.corrupt.value)


def kernel_drops(data: bytes) -> bool:
    """Whether a kernel drops a frame for its lengths and checksums, as far as the module looks."""
    at, kind = 14, data[12:14]
    if kind in (b"\x81\x00", b"\x88\xa8"):
        at, kind = 18, data[16:18]
    packet = data[at:]
    if kind == b"\x08\x00":
        if len(packet) < 20:
            return True
        header, total = 4 * (packet[0] & 15), int.from_bytes(packet[2:4], "big")
        if packet[0] >> 4 != 4 or header < 20 or not header <= total <= len(packet):
            return True
        if frames.checksum(packet[:header]):
            return True
        if packet[6] & 0x3F or packet[7]:
            return False
        protocol, addresses = packet[9], packet[12:20]
    elif kind == b"\x86\xdd":
        header, total = 40, 40 + int.from_bytes(packet[4:6], "big")
        if len(packet) < 40 or total > len(packet):
            return True
        protocol, addresses = packet[6], packet[8:40]
    else:
        return False
    body = packet[header:total]
    if protocol == frames.UDP:
        if at + header + 8 > 64:
            return False  # not looked at
        if len(body) < 8:
            return True
        length, found = struct.unpack_from("!HH", body, 4)
        if not 8 <= length <= len(body):
            return True
        if not found:
            return False
        body = body[:length]
    elif protocol == frames.TCP:
        if len(body) < 20:
            return True
    else:
        return False
    return bool(frames.checksum(addresses + struct.pack("!HH", protocol, len(body)) + body))


def without_checksum(frame: bytes) -> bytes:
    return frame[:40] + b"\0\0" + frame[42:]


def some_frames(rng: random.Random) -> list[bytes]:
    """Good frames of each kind that the module looks at, and of others."""
    payload = rng.randbytes(rng.choice([0, 1, 7, 22, 23, 24, 30, 31, 90, 91, 600]))
    udp, tcp = frames.udp(payload), frames.tcp(payload, options=bytes([1] * 4 * rng.randrange(4)))
    udp6 = frames.udp(payload, **frames.OVER_IPV6)
    tcp6 = frames.tcp(payload, **frames.OVER_IPV6)
    options = bytes([1] * 4 * rng.randrange(11))
    ether, ipv4, ipv6 = frames.ethernet, frames.ipv4, frames.ipv6
    vlan = rng.choice([None, 7])
    return [
        ether(ipv4(udp, frames.UDP), vlan=vlan),
        without_checksum(ether(ipv4(udp, frames.UDP))),
        ether(ipv4(udp, frames.UDP, options=options), vlan=vlan, padded=False),
        ether(ipv4(tcp, frames.TCP, options=options), vlan=vlan),
        ether(ipv4(udp[:8], frames.UDP, more_fragments=True)),
        ether(ipv4(payload, frames.UDP, fragment_offset=3)),
        ether(ipv4(payload, frames.ICMP, options=options)),
        ether(ipv6(udp6, frames.UDP), ethertype=0x86DD, vlan=vlan),
        ether(ipv6(tcp6, frames.TCP), ethertype=0x86DD, vlan=vlan),
        ether(ipv6(payload, 44), ethertype=0x86DD),
        frames.arp(),
    ]


@cocotb.test()
async def good_frames_are_not_corrupt(dut: Any) -> None:
    checker = Checker(dut)
    await checker.start()
    for _ in range(60):
        for frame in some_frames(checker.bench.rng):
            assert not kernel_drops(frame)
            assert not await checker.is_corrupt(frame), frame.hex()


@cocotb.test()
async def every_bit_of_the_headers_and_payload_counts(dut: Any) -> None:
    """A datagram with one bit flipped is corrupt; but not in the addresses and type of Ethernet,
    which no checksum covers, and not in the padding."""
    checker = Checker(dut, idle=0)
    await checker.start()
    frame = frames.udp_frame(QUESTION[:13])
    end = 42 + 13
    assert end < len(frame)
    for at in range(8 * len(frame)):
        flipped = bytearray(frame)
        flipped[at // 8] ^= 1 << at % 8
        assert await checker.is_corrupt(bytes(flipped)) == (14 <= at // 8 < end), at


@cocotb.test()
async def bursts_and_cuts_are_found_as_a_kernel_finds_them(dut: Any) -> None:
    checker = Checker(dut)
    await checker.start()
    rng = checker.bench.rng
    found = [0, 0]
    for _ in range(250):
        for frame in some_frames(rng):
            changed = bytearray(frame)
            if rng.random() < 0.8:
                start = rng.randrange(8 * min(len(frame), rng.choice([20, 70, 2000])))
                for at in range(start, min(start + rng.randrange(1, 17), 8 * len(frame))):
                    changed[at // 8] ^= rng.choice([1, at == start]) << (7 - at % 8)
            if rng.random() < 0.2:
                del changed[rng.randrange(14, len(changed)) :]
            data = bytes(changed)
            expected = kernel_drops(data)
            assert await checker.is_corrupt(data) == expected, data.hex()
            found[expected] += 1
    assert min(found) > 300, found


@cocotb.test()
async def a_checksum_of_all_ones_is_a_checksum(dut: Any) -> None:
    """The sum of the datagram is 0: its checksum is sent as 0xffff, for 0 means none."""
    checker = Checker(dut)
    await checker.start()
    plain = frames.udp(b"\0\0" + b"x" * 20)
    filler = struct.unpack_from("!H", plain, 6)[0]
    datagram = frames.udp(struct.pack("!H", filler) + b"x" * 20)
    assert datagram[6:8] == b"\xff\xff"
    frame = frames.ethernet(frames.ipv4(datagram, frames.UDP))
    assert not await checker.is_corrupt(frame)
    assert await checker.is_corrupt(frame[:44] + b"y" + frame[45:])
