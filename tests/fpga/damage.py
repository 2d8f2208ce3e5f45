"""Damage to a frame with a UDP datagram, after which a kernel drops it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from tests.fpga.packets import frames

IP_CHECKSUM, UDP_CHECKSUM = 24, 40
"""Offsets in a frame with IPv4 without options."""


def flipped(frame: bytes, bit: int) -> bytes:
    """The frame with one bit changed; bit 0 is the highest of the first byte."""
    changed = bytearray(frame)
    changed[bit // 8] ^= 0x80 >> bit % 8
    return bytes(changed)


def with_words(frame: bytes, words: Mapping[int, int]) -> bytes:
    """The frame with 16-bit words at some offsets, and right checksums if it has one of UDP."""
    changed = bytearray(frame)
    for at, value in words.items():
        struct.pack_into("!H", changed, at, value)
    struct.pack_into("!H", changed, IP_CHECKSUM, 0)
    struct.pack_into("!H", changed, IP_CHECKSUM, frames.checksum(bytes(changed[14:34])))
    if changed[UDP_CHECKSUM : UDP_CHECKSUM + 2] != b"\0\0":
        (length,) = struct.unpack_from("!H", changed, 38)
        struct.pack_into("!H", changed, UDP_CHECKSUM, 0)
        datagram = bytes(changed[34 : 34 + length])
        pseudo = bytes(changed[26:34]) + struct.pack("!HH", frames.UDP, length)
        struct.pack_into("!H", changed, UDP_CHECKSUM, frames.checksum(pseudo + datagram) or 0xFFFF)
    return bytes(changed)


def without_checksum(frame: bytes) -> bytes:
    """The frame with the UDP checksum 0: none."""
    return frame[:UDP_CHECKSUM] + b"\0\0" + frame[UDP_CHECKSUM + 2 :]


def _word(frame: bytes, at: int) -> int:
    return int(struct.unpack_from("!H", frame, at)[0])


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "ip-checksum": lambda frame: flipped(frame, 8 * IP_CHECKSUM + 15),
    "ip-checksum-without-udp-checksum": lambda frame: flipped(
        without_checksum(frame), 8 * IP_CHECKSUM
    ),
    "udp-checksum": lambda frame: flipped(frame, 8 * UDP_CHECKSUM + 7),
    "last-payload-bit": lambda frame: flipped(frame, 8 * (14 + _word(frame, 16)) - 1),
    "client-address": lambda frame: flipped(frame, 8 * 29 + 6),
    "ip-length-beyond-frame": lambda frame: with_words(frame, {16: len(frame)}),
    "udp-length-beyond-packet": lambda frame: with_words(
        without_checksum(frame), {38: _word(frame, 38) + 1}
    ),
    "udp-length-below-header": lambda frame: with_words(without_checksum(frame), {38: 7}),
    "ip-length-below-headers": lambda frame: with_words(without_checksum(frame), {16: 27}),
    "cut-short": lambda frame: frame[: 14 + _word(frame, 16) - 1],
    "cut-short-without-checksum": lambda frame: without_checksum(frame)[
        : 14 + _word(frame, 16) - 1
    ],
}
"""Ways to damage a frame, by name. No kernel takes the result."""
