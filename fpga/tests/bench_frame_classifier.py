"""What each kind of frame is to the cache, in both directions."""

from __future__ import annotations

import struct
from typing import Any

import cocotb
import frames
from cocotb.triggers import Timer
from kv_lab import NORMAL, OPAQUE, ORDERED, QUERY, RESPONSE

TOP = "frame_classifier"
PARAMETERS: list[dict[str, int]] = [{}]
PORT = 11211
QUESTION = frames.datagram(b"x" * 30)
REQUEST = frames.udp_frame(QUESTION)
REPLY = frames.udp_frame(QUESTION, response=True)


async def kind(dut: Any, data: bytes, *, from_server: bool = False, mask: int = 0) -> int:
    dut.enable.value = 1
    dut.from_server.value = from_server
    dut.memcached_port.value = PORT
    dut.port_mask.value = mask
    dut.header.value = int.from_bytes(data[:64].ljust(64, b"\0"), "little")
    dut.length.value = len(data)
    await Timer(1, "ns")
    return int(dut.kind.value)


def ip(data: bytes, protocol: int, **fields: Any) -> bytes:
    return frames.ethernet(frames.ipv4(data, protocol, **fields))


@cocotb.test()
async def frames_from_functions(dut: Any) -> None:
    udp, tcp = frames.udp(QUESTION), frames.tcp(b"set key")
    web = frames.tcp(b"GET /", destination_port=80)
    hop = bytes([58, 0, 0, 0, 0, 0, 0, 0])
    expected = [
        (REQUEST, QUERY),
        (REPLY, NORMAL),
        (frames.udp_frame(QUESTION, server=("10.0.0.254", 53)), NORMAL),
        (frames.udp_frame(bytes(2048 - 42)), QUERY),
        (frames.udp_frame(bytes(2049 - 42)), OPAQUE),
        (b"\x01" + REQUEST[1:], OPAQUE),
        (ip(tcp, frames.TCP), OPAQUE),
        (ip(frames.tcp(b""), frames.TCP), ORDERED),
        (ip(frames.tcp(b"", options=bytes([1] * 12)), frames.TCP), ORDERED),
        (ip(frames.tcp(b"x", options=bytes([1] * 12)), frames.TCP), OPAQUE),
        (ip(web, frames.TCP), NORMAL),
        (ip(tcp, frames.TCP, options=bytes([1] * 4)), OPAQUE),
        (ip(udp, frames.UDP, options=bytes([1] * 24)), OPAQUE),
        (ip(web, frames.TCP, options=bytes([1] * 8)), NORMAL),
        (ip(web, frames.TCP, options=bytes([1] * 32)), OPAQUE),
        (ip(web, frames.TCP, fragment_offset=3), OPAQUE),
        (ip(udp, frames.UDP, more_fragments=True), OPAQUE),
        (ip(b"x" * 8, frames.ICMP, fragment_offset=3), NORMAL),
        (ip(b"x" * 8, frames.ICMP), NORMAL),
        (frames.arp(), NORMAL),
        (frames.ethernet(frames.ipv4(udp, frames.UDP), vlan=3), OPAQUE),
        (frames.ethernet(frames.ipv4(web, frames.TCP), vlan=3), NORMAL),
        (frames.ethernet(struct.pack(">HH", 5, 0x8100) + bytes(60), ethertype=0x88A8), OPAQUE),
        (frames.ethernet(frames.ipv6(udp, 17), ethertype=0x86DD), OPAQUE),
        (frames.ethernet(frames.ipv6(tcp, 6), ethertype=0x86DD), OPAQUE),
        (frames.ethernet(frames.ipv6(web, 6), ethertype=0x86DD), NORMAL),
        (frames.ethernet(frames.ipv6(hop + bytes(8), 0), ethertype=0x86DD), NORMAL),
        (frames.ethernet(frames.ipv6(b"\x06" + hop[1:] + tcp, 0), ethertype=0x86DD), OPAQUE),
        (frames.ethernet(frames.ipv6(bytes(8), 58), ethertype=0x86DD), NORMAL),
    ]
    for header in (43, 44, 60):
        expected.append((frames.ethernet(frames.ipv6(bytes(40), header), ethertype=0x86DD), OPAQUE))
    for number, (data, wanted) in enumerate(expected):
        assert await kind(dut, data) == wanted, number


@cocotb.test()
async def frames_from_the_network(dut: Any) -> None:
    for number, (data, wanted) in enumerate(
        [
            (REPLY, RESPONSE),
            (REQUEST, NORMAL),
            (frames.udp_frame(bytes(2048 - 42), response=True), RESPONSE),
            (frames.udp_frame(bytes(2049 - 42), response=True), NORMAL),
            (ip(frames.tcp(b"VALUE", source_port=PORT), frames.TCP), NORMAL),
            (ip(frames.udp(b"x", source_port=PORT), frames.UDP, more_fragments=True), NORMAL),
            (frames.arp(), NORMAL),
        ]
    ):
        assert await kind(dut, data, from_server=True) == wanted, number


@cocotb.test()
async def several_ports_and_no_work_without_enable(dut: Any) -> None:
    for port, mask, wanted in ((11210, 0, NORMAL), (11210, 1, QUERY), (11208, 1, NORMAL)):
        data = frames.udp_frame(QUESTION, server=("10.0.0.254", port))
        assert await kind(dut, data, mask=mask) == wanted
    await kind(dut, REQUEST)
    dut.enable.value = 0
    await Timer(1, "ns")
    assert int(dut.kind.value) == NORMAL
